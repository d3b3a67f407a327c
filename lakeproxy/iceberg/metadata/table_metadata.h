#pragma once

// A table as an Iceberg client sees it: the content of metadata.json.
// Source: Iceberg table specification, "Table Metadata Fields".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/out_of_sight.h"
#include "lakeproxy/iceberg/metadata/snapshot_list.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::model {

struct TableMetadata {
  std::int32_t format_version = 2;
  base::Uuid table_uuid{};
  std::string location;  ///< Without a trailing '/'.
  std::int64_t last_sequence_number = 0;
  TimestampMs last_updated_ms = 0;
  FieldId last_column_id = 0;
  std::vector<Schema> schemas;
  std::int32_t current_schema_id = 0;
  std::vector<PartitionSpec> partition_specs;
  std::int32_t default_spec_id = 0;
  std::int32_t last_partition_id = kNoPartitionFieldId;
  std::map<std::string, std::string> properties;
  /// Those of `properties` that nobody set; not written down.
  std::map<std::string, std::string> default_properties = {};
  std::optional<SnapshotId> current_snapshot_id;
  SnapshotList snapshots;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;
  std::vector<SortOrder> sort_orders;
  std::int32_t default_sort_order_id = 0;
  std::map<std::string, SnapshotRef> refs;
  std::vector<base::json::Value> statistics;            ///< Kept as given.
  std::vector<base::json::Value> partition_statistics;  ///< Kept as given.
  std::int64_t next_row_id = 0;                         ///< Format version 3.
  OutOfSight out_of_sight;                              ///< Of what is listed above.

  [[nodiscard]] const Schema& current_schema() const;
  /// Also what is out of sight.
  [[nodiscard]] const Schema* find_schema(std::int32_t id) const;
  [[nodiscard]] const PartitionSpec* find_spec(std::int32_t id) const;
  /// Whether there is one with that id that clients see: the current schema and
  /// the default spec always are.
  [[nodiscard]] bool shows_schema(std::int32_t id) const;
  [[nodiscard]] bool shows_spec(std::int32_t id) const;
  [[nodiscard]] const SortOrder* find_sort_order(std::int32_t id) const;
  [[nodiscard]] const Snapshot* find_snapshot(SnapshotId id) const;
  [[nodiscard]] const Snapshot* current_snapshot() const;
};

}  // namespace lake::model
