#include "toolserver/outcomes/outcome_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files/descriptor.h"
#include "base/files/private_file.h"

namespace tool::outcomes {
namespace {

using base::files::Descriptor;

constexpr std::size_t kNameLength = 64;
constexpr std::string_view kEnd = ".json";
constexpr std::string_view kPart = ".part";
constexpr std::size_t kMostFileBytes = 128 << 20;

base::Error unavailable(std::string_view what) {
  return base::fail(base::ErrorKind::kUnavailable, "outcome folder: " + std::string(what))
      .with_detail(std::strerror(errno));
}

bool is_name(std::string_view text) {
  return text.size() == kNameLength && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

OutcomeFolder::File read_file(const std::string& path, std::string name) {
  OutcomeFolder::File out{.name = std::move(name), .changed = {}, .text = {}};
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts{};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0) return out;
  out.changed = base::WallTime(std::chrono::seconds(facts.st_mtim.tv_sec));
  if (auto text = base::files::read_whole(file.get(), kMostFileBytes)) out.text = std::move(*text);
  return out;
}

}  // namespace

base::Result<OutcomeFolder> OutcomeFolder::open(const std::string& path, Durability durability) {
  ASSIGN_OR_RETURN(auto lock, audit::FolderLock::take(path));
  std::error_code ec;
  std::filesystem::directory_iterator it(path, ec);
  std::vector<std::filesystem::path> parts;
  for (; !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) {
    if (it->path().filename().string().ends_with(kPart)) parts.push_back(it->path());
  }
  for (const auto& part : parts) {
    if (!ec) std::filesystem::remove(part, ec);
  }
  if (ec) {
    return base::fail(base::ErrorKind::kUnavailable, "outcome folder: cannot be tidied")
        .with_detail(ec.message());
  }
  return OutcomeFolder(path, durability, std::move(lock));
}

base::Result<std::vector<OutcomeFolder::File>> OutcomeFolder::read_all() const {
  std::vector<File> files;
  std::error_code ec;
  std::filesystem::directory_iterator it(path_, ec);
  for (; !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) {
    std::string name = it->path().filename().string();
    if (!name.ends_with(kEnd)) continue;
    name.resize(name.size() - kEnd.size());
    if (is_name(name)) files.push_back(read_file(it->path().string(), std::move(name)));
  }
  if (ec) {
    return base::fail(base::ErrorKind::kUnavailable, "outcome folder: cannot be read")
        .with_detail(ec.message());
  }
  return files;
}

base::Status OutcomeFolder::write(const std::string& name, std::string_view text) const {
  auto written = base::files::replace_private_file(file_of(name), text, durability_);
  if (written) return written;
  return base::fail(base::ErrorKind::kUnavailable, "outcome folder: a file cannot be written")
      .with_detail(written.error().message());
}

base::Status OutcomeFolder::remove(const std::string& name) const {
  if (::unlink(file_of(name).c_str()) == 0 || errno == ENOENT) return {};
  return unavailable("a file cannot be removed");
}

}  // namespace tool::outcomes
