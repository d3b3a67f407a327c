#pragma once

// What stands in one row for one table, read into a value.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// The row of LakeSql::table.
struct TableRow {
  std::string name;
  base::Uuid uuid{};
  model::NamespaceId namespace_id;
  std::string location;
  model::SnapshotId created;
  std::int32_t format_version = 2;
  std::map<std::string, std::string> properties;
  std::map<std::string, model::SnapshotRef> refs;
  std::vector<base::json::Value> statistics;
  std::vector<base::json::Value> partition_statistics;
  model::OutOfSight out_of_sight;
  std::int32_t default_sort_order_id = 0;
  std::int32_t last_partition_id = model::kNoPartitionFieldId;
  std::optional<model::SnapshotId> cleared_at = std::nullopt;
  std::optional<model::SnapshotId> last_maintenance;
  std::int64_t next_row_id = 0;
  model::FieldId last_column_id = 0;  ///< Of columns that are gone as well.
  model::TimestampMs last_updated_ms = 0;
};

/// Errors: kInvalid  a sidecar's JSON breaks Iceberg's form.
[[nodiscard]] base::Result<TableRow> read_table(const base::pg::Rows& rows);

}  // namespace lake::ducklake
