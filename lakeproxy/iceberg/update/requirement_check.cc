#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

base::Error conflict(std::string_view message) {
  return base::fail(base::ErrorKind::kConflict, fmt::format("Requirement failed: {}", message));
}

base::Status expect(std::string_view what, std::int32_t expected, std::int32_t found) {
  if (expected == found) return {};
  return conflict(fmt::format("{} changed: expected id {} != {}", what, expected, found));
}

/// Checks against a table that exists.
struct Check {
  const TableMetadata& table;

  base::Status operator()(const AssertCreate& /*requirement*/) const {
    return conflict("table already exists");
  }
  base::Status operator()(const AssertTableUuid& requirement) const {
    if (requirement.uuid == table.table_uuid) return {};
    return conflict(fmt::format("UUID does not match: expected {} != {}",
                                base::to_string(requirement.uuid),
                                base::to_string(table.table_uuid)));
  }
  base::Status operator()(const AssertRefSnapshotId& requirement) const {
    const auto found = table.refs.find(requirement.ref);
    const auto& expected = requirement.snapshot_id;
    if (found == table.refs.end()) {
      if (!expected) return {};
      return conflict(fmt::format("branch or tag {} is missing, expected {}", requirement.ref,
                                  expected->value));
    }
    const auto& [name, ref] = *found;
    const std::string_view type = ref.type == RefType::kBranch ? "branch" : "tag";
    if (!expected) return conflict(fmt::format("{} {} was created concurrently", type, name));
    if (*expected == ref.snapshot_id) return {};
    return conflict(fmt::format("{} {} has changed: expected id {} != {}", type, name,
                                expected->value, ref.snapshot_id.value));
  }
  base::Status operator()(const AssertLastAssignedFieldId& requirement) const {
    return expect("last assigned field id", requirement.last_assigned_field_id,
                  table.last_column_id);
  }
  base::Status operator()(const AssertCurrentSchemaId& requirement) const {
    return expect("current schema", requirement.current_schema_id, table.current_schema_id);
  }
  base::Status operator()(const AssertLastAssignedPartitionId& requirement) const {
    return expect("last assigned partition id", requirement.last_assigned_partition_id,
                  table.last_partition_id);
  }
  base::Status operator()(const AssertDefaultSpecId& requirement) const {
    return expect("default partition spec", requirement.default_spec_id, table.default_spec_id);
  }
  base::Status operator()(const AssertDefaultSortOrderId& requirement) const {
    return expect("default sort order", requirement.default_sort_order_id,
                  table.default_sort_order_id);
  }
};

/// Of a table that does not exist, only that can be asked.
bool holds_without_table(const TableRequirement& requirement) {
  if (const auto* ref = std::get_if<AssertRefSnapshotId>(&requirement)) return !ref->snapshot_id;
  return std::holds_alternative<AssertCreate>(requirement);
}

}  // namespace

base::Status check_requirement(const TableMetadata* table, const TableRequirement& requirement) {
  if (table != nullptr) return std::visit(Check{*table}, requirement);
  if (holds_without_table(requirement)) return {};
  return conflict("table does not exist");
}

}  // namespace lake::model
