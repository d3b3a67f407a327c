#pragma once

// A delete column in two files need not be the same column: by field id it is
// found under another name, in an older type, or not at all. Here it becomes an
// expression of the engine's SQL whose value has the table's type whichever
// file it is read from.
// Source: Iceberg table specification, "Equality Delete Files", "Column
// Projection", "Schema Evolution".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/engine/deletes/client_deletes.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::exporter {

/// The fields on the way to a leaf of the table's schema: its top-level column
/// first, itself last.
using DeleteColumn = std::vector<model::Field>;

/// Errors: kInvalid  names the id or the column: none are given, one is not in
///         the schema, in a list or map, not of a primitive type, or of
///         floating point; kUnsupported  a type that the engine does not have.
[[nodiscard]] base::Result<std::vector<DeleteColumn>> delete_columns(
    const model::Schema& schema, const std::vector<model::FieldId>& equality_ids);

/// Gives the columns below `node` the field ids of the mapping; those that it
/// does not name get none.
void apply_mapping(ParquetNode& node, const model::NameMapping& mapping);

/// The column in a data file, by field ids. What the file does not hold is the
/// constant of its top-level column, the initial default, or null.
/// Errors: kCorrupt  the file's type cannot become the column's; kUnsupported
///         the column is repeated, or a field on the way is not a struct.
[[nodiscard]] base::Result<FileColumn> column_in_data(
    const ParquetNode& root, const DeleteColumn& column,
    const std::map<model::FieldId, std::optional<model::Literal>>& constants);

/// The column in an equality-delete file.
/// Errors: as column_in_data(), and kCorrupt  the file does not hold it.
[[nodiscard]] base::Result<std::string> column_in_deletes(const ParquetNode& root,
                                                          const DeleteColumn& column);

/// `value` in SQL. The engine has `type`, and `value` is of its alternative.
/// Errors: kUnsupported  a text with a zero byte, at which the engine would end
///         the statement.
[[nodiscard]] base::Result<std::string> literal_sql(const model::Type& type,
                                                    const model::Literal& value);

}  // namespace lake::exporter
