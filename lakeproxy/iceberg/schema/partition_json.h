#pragma once

// Partition specs and sort orders in JSON.
// Source: Iceberg table specification, Appendix C.
// Every reader fails with kInvalid and names the path and the rule.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"

namespace lake::model {

/// {"spec-id", "fields"}.
[[nodiscard]] base::json::Value to_json(const PartitionSpec& spec);
/// The array of fields alone, as a manifest's header holds it.
[[nodiscard]] base::json::Value fields_to_json(const PartitionSpec& spec);
/// Field ids may be absent: they are then numbered from 1000 on.
[[nodiscard]] base::Result<PartitionSpec> partition_spec_from_json(const base::json::Fields& json);
[[nodiscard]] base::Result<std::vector<PartitionField>> partition_fields_from_json(
    const base::json::Value& array, std::string path);

[[nodiscard]] base::json::Value to_json(const SortOrder& order);
[[nodiscard]] base::Result<SortOrder> sort_order_from_json(const base::json::Fields& json);

}  // namespace lake::model
