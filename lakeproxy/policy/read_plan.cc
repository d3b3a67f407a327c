#include "lakeproxy/policy/read_plan.h"

#include <set>

namespace lake::policy {

std::string row_filter_of(const MaskPlan& plan) {
  std::string text;
  for (const RowFilter& filter : plan.filters) {
    text.append(text.empty() ? "(" : " AND (").append(filter.predicate).append(")");
  }
  return text;
}

std::vector<std::string> policies_of(const MaskPlan& plan) {
  std::set<std::string> names;
  for (const ColumnMask& mask : plan.masks) names.insert(mask.policy);
  for (const RowFilter& filter : plan.filters) names.insert(filter.policy);
  return {names.begin(), names.end()};
}

std::vector<std::string> masked_columns_of(const MaskPlan& plan) {
  std::vector<std::string> names;
  for (const ColumnMask& mask : plan.masks) names.push_back(mask.column);
  return names;
}

}  // namespace lake::policy
