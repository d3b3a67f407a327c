#pragma once

// One lake partition's keys as fields of an Iceberg spec, and back.
// Source: DuckLake specification 1.0, "Partitioning"; Iceberg table
// specification, "Partition Transforms".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// A row of ducklake_partition_column.
struct LakePartitionKey {
  std::int64_t index = 0;
  model::FieldId column_id = 0;
  std::string transform;  ///< The lake's text, e.g. "bucket(16)".
};

/// A row of ducklake_partition_info with its columns, by rising index.
struct LakePartition {
  std::int64_t partition_id = 0;
  model::SnapshotId begin;
  std::optional<model::SnapshotId> end;
  std::vector<LakePartitionKey> keys;
};

/// The fields that can be shown, named as Iceberg's clients name them, without
/// field ids. Names never meet a column's name that is not their source's. Of two keys that
/// Iceberg has one transform for, as year and epoch_year of a column, the first is shown.
[[nodiscard]] std::vector<model::PartitionField> partition_fields(const LakeColumns& columns,
                                                                  const LakePartition& partition);

/// Where the values of a spec's fields stand in the lake's partition. A field
/// whose values the lake computes in another way has none there.
[[nodiscard]] model::PartitionKeys keys_of_fields(const LakeColumns& columns,
                                                  const model::PartitionSpec& spec,
                                                  const LakePartition& partition);

/// `specs` beside the columns of now. DuckDB may give a column the name of a field whose source it
/// is not, and Iceberg's Java readers open no table with the two: the field is shown under another
/// name. Its id, by which files are read, stays.
[[nodiscard]] std::vector<model::PartitionSpec> named_beside_columns(
    std::vector<model::PartitionSpec> specs, const model::Schema& columns);

}  // namespace lake::ducklake
