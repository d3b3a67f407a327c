#pragma once

// The lake partitions a table from one snapshot to another, Iceberg numbers
// the ways in which it was partitioned. This makes the list of specs, with ids
// that stay the same at every reading: those that clients gave, and the next
// free ones for what DuckDB set.
//
// DuckLake's year, month, day and hour are parts of the calendar: one file of
// day 5 holds days of many months. Such a file has no value under Iceberg's
// day and stands under the unpartitioned spec, so every table with a calendar
// field has that one too.
//
// Values that stand in the paths of files that DuckDB added are values of a spec of
// their own, which is never the default.
// Source: Iceberg table specification, "Partition Evolution"; DuckLake
// specification 1.0, "Partitioning".

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// A row of ducklake_partition_column.
struct LakePartitionKey {
  std::int64_t index = 0;
  model::FieldId column_id = 0;
  std::string transform;  ///< "identity", "bucket(4)", "year", "month", "day", "hour".
};

/// A row of ducklake_partition_info with its keys in the order of their index.
struct LakePartition {
  std::int64_t partition_id = 0;
  model::SnapshotId begin;
  std::optional<model::SnapshotId> end;
  std::vector<LakePartitionKey> keys;
};

/// A row of lakeproxy_spec.
struct ClientSpec {
  model::SnapshotId begin;
  std::optional<std::int64_t> partition_id;
  bool is_default = true;
  model::PartitionSpec spec;
};

/// A row of lakeproxy_path_columns: the values of these columns stand in the paths of
/// the files with the mapping, the first of which came at `begin`.
struct PathColumns {
  std::int64_t mapping_id = 0;
  model::SnapshotId begin;
  std::vector<model::FieldId> column_ids;
};

struct SpecHistory {
  std::vector<model::PartitionSpec> specs;
  std::int32_t default_spec_id = 0;
  std::int32_t last_partition_id = model::kNoPartitionFieldId;
  /// The spec of files without a partition, or whose partition has no value.
  std::int32_t unpartitioned_spec_id = 0;
  std::map<std::int64_t, std::int32_t> spec_of_partition;
  std::map<std::int64_t, model::PartitionKeys> keys_of_partition;
  std::map<std::int64_t, std::int32_t> spec_of_mapping;  ///< As in LakeTable.
  std::optional<std::int64_t> bucketed_partition;        ///< As in LakeTable.
};

/// `columns` names and types the sources. A bucket whose hash is not Iceberg's
/// and a transform that Iceberg has not are left out of the spec shown.
[[nodiscard]] SpecHistory spec_history(const LakeColumns& columns,
                                       std::vector<LakePartition> partitions,
                                       std::vector<ClientSpec> client_specs,
                                       std::vector<PathColumns> path_columns = {});

}  // namespace lake::ducklake
