#include "lakeproxy/policy/masking_view.h"

#include <algorithm>

namespace lake::policy {
namespace {

constexpr std::string_view kPrefix = "__mask_";
constexpr std::string_view kSeparator = "__";
constexpr std::size_t kSignature = 32;

bool is_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

std::string masking_view_name(std::string_view table, const MaskPlan& plan) {
  return std::string(kPrefix).append(table).append(kSeparator).append(plan.signature);
}

// From its end: a table's name may have any letters.
std::optional<MaskingViewName> parse_masking_view_name(std::string_view name) {
  const std::size_t around = kPrefix.size() + kSeparator.size() + kSignature;
  if (!name.starts_with(kPrefix) || name.size() <= around) return std::nullopt;
  const std::string_view signature = name.substr(name.size() - kSignature);
  std::string_view table = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSignature);
  if (!table.ends_with(kSeparator) || !std::ranges::all_of(signature, is_digit)) {
    return std::nullopt;
  }
  table.remove_suffix(kSeparator.size());
  return MaskingViewName{std::string(table), std::string(signature)};
}

}  // namespace lake::policy
