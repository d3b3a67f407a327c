#pragma once

// DuckLake keeps calendar parts where Iceberg counts from 1970: the month of a
// file is 1 to 12 there and 648 here. From 1.1 on it can count as Iceberg does.
// Source: DuckLake specification 1.0, "Partitioning".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/partition_struct.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::ducklake {

/// Partition values, each of the type of its column.
struct CheckedPartition {
  std::vector<materialize::PartitionColumn> columns;
  model::PartitionTuple tuple;
};

/// `given` as a client's manifest has it, whose idea of the types is its own.
/// Errors: kInvalid  another number of values than fields, a value of another
///         type than its field's, or a field whose source column is not there.
[[nodiscard]] base::Result<CheckedPartition> check_partition(const model::PartitionSpec& spec,
                                                             const model::PartitionTuple& given,
                                                             const model::TableMetadata& table);

/// A JSON array of the values, in Iceberg's single-value form.
[[nodiscard]] std::string to_json(const CheckedPartition& partition);

/// What the lake holds of a year, month, day or hour.
enum class TimeNumber : std::uint8_t { kCalendarPart, kSince1970 };

/// The lake's text of one Iceberg partition value; nothing for null.
[[nodiscard]] std::optional<std::string> lake_partition_text(
    const model::PartitionField& field, const std::optional<model::Literal>& value,
    const model::TableMetadata& table, TimeNumber number);

/// The column that a partition field stands on, in any of the table's schemas.
[[nodiscard]] const model::Field* find_source(const model::TableMetadata& table,
                                              model::FieldId source_id);

}  // namespace lake::ducklake
