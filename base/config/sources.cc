#include "base/config/sources.h"

#include <fmt/format.h>

#include <optional>

#include "base/core/text.h"

namespace base::config {
namespace {

constexpr std::size_t kShownBytes = 80;
constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// The value of a line after its '='; nothing when a quote is not closed or
// something follows it.
std::optional<std::string_view> dotenv_value(std::string_view text) {
  text = trim(text);
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    auto close = text.find(text[0], 1);
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view rest = trim(text.substr(close + 1));
    if (!rest.empty() && rest[0] != '#') return std::nullopt;
    return text.substr(1, close - 1);
  }
  if (text.starts_with('#')) return std::string_view();
  for (std::string_view comment : {" #", "\t#"}) text = text.substr(0, text.find(comment));
  return trim(text);
}

}  // namespace

std::string shown_key(std::string_view key) {
  std::string out;
  for (char c : key.substr(0, kShownBytes)) out += c > 0x20 && c < 0x7f ? c : '?';
  return out;
}

Entries from_environment(const std::vector<std::string>& environment, std::string_view prefix) {
  Entries out;
  for (std::string_view line : environment) {
    auto equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos) continue;
    out.entries.push_back({shown_key(line.substr(0, equals)),
                           std::string(line.substr(equals + 1)),
                           "environment",
                           {}});
  }
  return out;
}

Entries from_dotenv(std::string_view text, std::string_view prefix, std::string_view file) {
  Entries out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto end = std::min(text.find('\n'), text.size());
    std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("export ")) line = trim(line.substr(7));
    if (line.empty() || line.starts_with('#') || !line.starts_with(prefix)) continue;
    std::string source = fmt::format("{}:{}", file, number);
    auto equals = line.find('=');
    if (equals == std::string_view::npos) {
      out.errors.push_back(fmt::format("{}: must have the form NAME=value", source));
      continue;
    }
    std::string key = shown_key(trim(line.substr(0, equals)));
    if (auto value = dotenv_value(line.substr(equals + 1))) {
      out.entries.push_back({std::move(key), std::string(*value), std::move(source), {}});
    } else {
      out.errors.push_back(
          fmt::format("{}: {}: the quotes must be closed and end the line", source, key));
    }
  }
  return out;
}

}  // namespace base::config
