#pragma once

// The lake partitions a table from one snapshot to another, Iceberg numbers the ways in
// which it was partitioned. This gives what DuckDB set, and was not shown yet, its spec
// and the id of that.
//
// DuckLake's year, month, day and hour are parts of the calendar: one file of
// day 5 holds days of many months. Such a file has no value under Iceberg's
// day and stands under the unpartitioned spec, which a table gets with its first
// such file (publish/publisher.h).
//
// Values that stand in the paths of files that DuckDB added are values of a spec of
// their own, which is never the default.
// Source: Iceberg table specification, "Partition Evolution"; DuckLake
// specification 1.0, "Partitioning".

#include <map>
#include <optional>
#include <vector>

#include "lakeproxy/to_iceberg/definition/assigned_ids.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"
#include "lakeproxy/to_iceberg/definition/partition_fields.h"

namespace lake::ducklake {

/// A row of lakeproxy_path_columns: the values of these columns stand in the paths of
/// the files with the mapping, the first of which came at `begin`.
struct PathColumns {
  std::int64_t mapping_id = 0;
  model::SnapshotId begin;
  std::vector<model::FieldId> column_ids;
};

/// What the lake has to be shown as specs. `columns` names and types the sources.
struct LakePartitioning {
  const LakeColumns& columns;
  std::vector<LakePartition> partitions;
  std::vector<PathColumns> paths = {};
  /// No partition field gets this id or a lower one.
  std::int32_t last_partition_id = model::kNoPartitionFieldId;
};

/// How the specs of a table are used now.
struct SpecUse {
  std::int32_t default_spec_id = 0;
  /// The spec of files without a partition, or whose partition has no value; as in LakeTable.
  std::optional<std::int32_t> unpartitioned_spec_id;
  std::int32_t last_partition_id = model::kNoPartitionFieldId;
  std::map<std::int64_t, model::PartitionKeys> keys_of_partition;
  std::optional<std::int64_t> bucketed_partition;  ///< As in LakeTable.
};

/// Adds to `ids` the specs of partitions and paths that have none there. One that is
/// equal to another has its id, any other the next above all that were ever given; a
/// field of equal source and transform keeps its id and its name.
/// A bucket whose hash is not Iceberg's and a transform that Iceberg has not are left
/// out of the spec.
[[nodiscard]] SpecUse assign_specs(LakePartitioning lake, AssignedIds& ids);

}  // namespace lake::ducklake
