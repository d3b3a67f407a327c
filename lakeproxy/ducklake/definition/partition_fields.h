#pragma once

// One lake partition's keys as fields of an Iceberg spec, and back.
// Source: DuckLake specification 1.0, "Partitioning"; Iceberg table
// specification, "Partition Transforms".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/ducklake/definition/spec_history.h"

namespace lake::ducklake {

/// Iceberg's transform for a lake's text; nothing when Iceberg has none.
[[nodiscard]] std::optional<model::Transform> iceberg_transform(std::string_view lake_transform);
/// DuckLake's name of a transform, e.g. "bucket(16)"; nothing for one that a
/// lake partition cannot have (truncate).
[[nodiscard]] std::optional<std::string> lake_transform(const model::Transform& transform);

/// The fields that can be shown, named as Iceberg's clients name them, without
/// field ids. Names never meet a column's name that is not their source's.
[[nodiscard]] std::vector<model::PartitionField> partition_fields(const LakeColumns& columns,
                                                                  const LakePartition& partition);

/// Where the values of a spec's fields stand in the lake's partition. A field
/// whose values the lake computes in another way has none there.
[[nodiscard]] model::PartitionKeys keys_of_fields(const LakeColumns& columns,
                                                  const model::PartitionSpec& spec,
                                                  const LakePartition& partition);

}  // namespace lake::ducklake
