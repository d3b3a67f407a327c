#pragma once

// The texts by which DuckLake names partition transforms. Its year, month, day and hour are
// calendar parts: 2024, 1 to 12, 1 to 31, 0 to 23. From 1.1 on it has Iceberg's, too, which
// count from 1970 and are called epoch_year and so on.
// Source: DuckLake specification 1.0 and 1.1, "Partitioning"; Iceberg table
// specification, "Partition Transforms".

#include <optional>
#include <string>
#include <string_view>

#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/model/lake_format.h"

namespace lake::ducklake {

/// Iceberg's transform for a lake's text; nothing when Iceberg has none.
[[nodiscard]] std::optional<model::Transform> iceberg_transform(std::string_view lake_transform);

/// Whether the values of a lake's transform are numbers that Iceberg counts from 1970.
[[nodiscard]] bool is_ordinal(std::string_view lake_transform);

/// DuckLake's name of a transform, e.g. "bucket(16)"; nothing for one that a
/// lake partition cannot have (truncate). A lake before 1.1 that has a name of 1.1 could not
/// be read by its own clients.
[[nodiscard]] std::optional<std::string> lake_transform(const model::Transform& transform,
                                                        model::LakeFormat format);

}  // namespace lake::ducklake
