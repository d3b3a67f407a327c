#include "lakeproxy/model/identifier.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxLevels = 16;
constexpr std::size_t kMaxNameBytes = 255;
constexpr char kLevelSeparator = '\x1f';
constexpr std::string_view kReservedPrefix = "__mask_";

base::Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return fail(ErrorKind::kInvalid, fmt::format("{}: must not be empty", what));
  if (name.size() > kMaxNameBytes) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: must have at most {} bytes", what, kMaxNameBytes));
  }
  if (!base::is_utf8(name))
    return fail(ErrorKind::kInvalid, fmt::format("{}: must be UTF-8", what));
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must not hold control characters", what));
  }
  return {};
}

bool starts_with_in_any_case(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() &&
         std::ranges::equal(text.substr(0, lower.size()), lower, [](char given, char wanted) {
           return (given >= 'A' && given <= 'Z' ? given - 'A' + 'a' : given) == wanted;
         });
}

}  // namespace

std::string Namespace::display() const { return fmt::format("{}", fmt::join(levels, ".")); }

base::Result<Namespace> make_namespace(std::vector<std::string> levels) {
  if (levels.empty()) return fail(ErrorKind::kInvalid, "namespace: must have a level");
  if (levels.size() > kMaxLevels) {
    return fail(ErrorKind::kInvalid,
                fmt::format("namespace: must have at most {} levels", kMaxLevels));
  }
  for (const std::string& level : levels) RETURN_IF_ERROR(check_name("namespace level", level));
  return Namespace{std::move(levels)};
}

base::Result<Namespace> parse_namespace(std::string_view text) {
  std::vector<std::string> levels;
  // One level more than allowed is enough to be refused.
  while (levels.size() <= kMaxLevels) {
    const auto end = text.find(kLevelSeparator);
    levels.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return make_namespace(std::move(levels));
}

// The lake compares names without regard to case, so the reserved prefix is
// reserved in any case.
base::Status validate_new_name(std::string_view name) {
  RETURN_IF_ERROR(check_name("name", name));
  if (starts_with_in_any_case(name, kReservedPrefix)) {
    return fail(ErrorKind::kInvalid,
                fmt::format("name: must not start with '{}', which is reserved", kReservedPrefix));
  }
  return {};
}

}  // namespace lake::model
