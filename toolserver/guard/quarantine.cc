#include "toolserver/guard/quarantine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/config/file_text.h"

namespace tool::guard {
namespace {

constexpr std::size_t kReasonShown = 128;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Fit for a comment: one line of letters that show.
std::string one_line(std::string_view text) {
  std::string out(text.substr(0, kReasonShown));
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace

base::Result<std::set<ToolId>> parse_quarantine(std::string_view text) {
  std::set<ToolId> tools;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto tool = ToolId::parse_any(line);
    if (!tool) {
      return base::fail(base::ErrorKind::kInvalid, fmt::format("line {}: names no tool", number));
    }
    tools.insert(std::move(*tool));
  }
  return tools;
}

base::Status Quarantine::load() {
  std::lock_guard held(mutex_);
  std::set<ToolId> tools;
  if (!file_.empty()) {
    auto file = base::config::read_file(file_);
    if (file.state == base::config::FileText::State::kRefused) {
      return base::fail(base::ErrorKind::kInvalid, "is no file that can be read");
    }
    ASSIGN_OR_RETURN(tools, parse_quarantine(file.text));
  }
  tools.insert(unwritten_.begin(), unwritten_.end());
  registry_.set_held(std::move(tools));
  return {};
}

base::Status Quarantine::add(const ToolId& tool, std::string_view reason) {
  std::lock_guard held(mutex_);
  registry_.hold(tool);
  auto written = file_.empty() ? base::Status() : write(tool, reason);
  if (file_.empty() || !written) unwritten_.insert(tool);
  return written;
}

base::Status Quarantine::write(const ToolId& tool, std::string_view reason) {
  std::string line = fmt::format("{} # {}\n", tool.text(), one_line(reason));
  int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  bool written = file >= 0 &&
                 ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                 ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (written) return {};
  return base::fail(base::ErrorKind::kUnavailable, "the quarantine file cannot be written");
}

}  // namespace tool::guard
