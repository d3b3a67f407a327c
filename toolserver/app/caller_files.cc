#include "toolserver/app/caller_files.h"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <utility>

#include "base/core/text.h"
#include "base/json/json.h"

namespace tool::app {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kFileBytes = 1 << 20;
constexpr base::json::Limits kDetailsLimits{.bytes = 64 << 10, .depth = 8, .values = 10'000};
constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
  auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

base::Error line_error(const std::filesystem::path& path, std::size_t line, std::string_view rule) {
  return fail(ErrorKind::kInvalid, fmt::format("{}:{}: {}", path.filename().string(), line, rule));
}

// Where the details of a grant begin: no scope has a quotation mark.
std::size_t details_in(std::string_view text) { return text.find("[{\""); }

// Where the name of a grant begins: behind the details, where there are some.
std::size_t equals_in(std::string_view line) {
  std::size_t plain = line.find(" = ");
  if (details_in(line) >= plain) return plain;
  std::size_t end = line.find("}] = ");
  return end == std::string_view::npos ? end : end + 2;
}

// Lines "GRANT = NAME", where a name is a `what`.
base::Result<std::map<std::string, Grant, std::less<>>> read_grants(
    const std::filesystem::path& path, std::string_view what) {
  std::map<std::string, Grant, std::less<>> all;
  RETURN_IF_ERROR(for_each_line(path, [&](std::string_view line) -> std::string {
    auto equals = equals_in(line);
    if (equals == std::string_view::npos) {
      return fmt::format("must have the form `scope scope = NAME`, the name of a {}", what);
    }
    auto grant = read_grant(line.substr(0, equals));
    if (!grant) return grant.error().message();
    std::string_view name = trim(line.substr(equals + 3));
    if (name.empty()) return fmt::format("must name a {}", what);
    bool is_new = all.try_emplace(std::string(name), std::move(*grant)).second;
    return is_new ? "" : fmt::format("names a {} a second time", what);
  }));
  return all;
}

}  // namespace

base::Result<Grant> read_grant(std::string_view text) {
  std::size_t at = std::min(details_in(text), text.size());
  Grant grant;
  ASSIGN_OR_RETURN(grant.scopes, Scopes::parse(trim(text.substr(0, at))));
  if (at == text.size()) return grant;
  ASSIGN_OR_RETURN(auto json, base::json::parse(trim(text.substr(at)), kDetailsLimits));
  ASSIGN_OR_RETURN(grant.details, Details::parse(json));
  return grant;
}

std::string grant_text(const Grant& grant) {
  std::string text = grant.scopes.text();
  for (const auto& set : grant.details.json()) text += ' ' + base::json::write(set);
  return text;
}

base::Status for_each_line(const std::filesystem::path& path,
                           const std::function<std::string(std::string_view)>& take) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (file.bad() || (!file.eof() && text.size() <= kFileBytes)) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: cannot be read", path.string()));
  }
  if (text.size() > kFileBytes) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: over 1 MiB", path.string()));
  }
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    auto end = std::min(rest.find('\n'), rest.size());
    std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (auto rule = take(line); !rule.empty()) return line_error(path, number, rule);
  }
  return {};
}

base::Result<transport::DenyList> read_deny_list(const std::filesystem::path& path) {
  transport::DenyList list;
  RETURN_IF_ERROR(for_each_line(path, [&](std::string_view line) -> std::string {
    std::string_view value = line.size() > 4 ? trim(line.substr(4)) : std::string_view();
    if (line.starts_with("jti ") && !value.empty()) {
      list.token_ids.emplace(value);
    } else if (line.starts_with("sub ") && !value.empty()) {
      list.subjects.emplace(value);
    } else {
      return "must have the form `jti ID` or `sub SUBJECT`";
    }
    return {};
  }));
  return list;
}

base::Result<std::map<std::string, Grant, std::less<>>> read_subject_scopes(
    const std::filesystem::path& path) {
  return read_grants(path, "subject");
}

base::Result<std::map<std::string, Grant, std::less<>>> read_role_scopes(
    const std::filesystem::path& path) {
  return read_grants(path, "role");
}

}  // namespace tool::app
