#pragma once

// The texts by which DuckLake names partition transforms.
// Source: DuckLake specification 1.0, "Partitioning"; Iceberg table
// specification, "Partition Transforms".

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/partition_spec.h"

namespace lake::ducklake {

/// Iceberg's transform for a lake's text; nothing when Iceberg has none.
[[nodiscard]] std::optional<model::Transform> iceberg_transform(std::string_view lake_transform);

/// DuckLake's name of a transform, e.g. "bucket(16)"; nothing for one that a
/// lake partition cannot have (truncate).
[[nodiscard]] std::optional<std::string> lake_transform(const model::Transform& transform);

}  // namespace lake::ducklake
