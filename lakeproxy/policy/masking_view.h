#pragma once

// The names of masking views: `__mask_<table>__<signature>`. A name stands for one plan, so a
// change of policies makes another name and the old one means nothing any more.
// Source: specification, sections 2.2 and 3.2.

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/policy/read_plan.h"

namespace lake::policy {

[[nodiscard]] std::string masking_view_name(std::string_view table, const MaskPlan& plan);

struct MaskingViewName {
  std::string table;
  std::string signature;
};
/// Nothing: no masking view has such a name.
[[nodiscard]] std::optional<MaskingViewName> parse_masking_view_name(std::string_view name);

}  // namespace lake::policy
