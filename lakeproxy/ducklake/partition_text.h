#pragma once

// DuckLake keeps calendar parts where Iceberg counts from 1970: the month of a
// file is 1 to 12 there and 648 here.
// Source: DuckLake specification 1.0, "Partitioning".

#include <optional>
#include <string>

#include "lakeproxy/model/manifest.h"
#include "lakeproxy/model/table_metadata.h"

namespace lake::ducklake {

/// The lake's text of one Iceberg partition value; nothing for null.
[[nodiscard]] std::optional<std::string> lake_partition_text(
    const model::PartitionField& field, const std::optional<model::Literal>& value,
    const model::TableMetadata& table);

/// The column that a partition field stands on, in any of the table's schemas.
[[nodiscard]] const model::Field* find_source(const model::TableMetadata& table,
                                              model::FieldId source_id);

}  // namespace lake::ducklake
