#pragma once

// A foreign table's delete files of every kind become DuckLake's, as those of a
// client's commit do.
// Source: Iceberg table specification, "Scan Planning".

#include "lakeproxy/from_iceberg/import/foreign_files.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"

namespace lake::operation {

/// The deletes of `files.data`, each of which is a file that the first snapshot
/// of the new table adds, by its index. Puts DuckLake's delete files under the
/// table's location; nothing names these before the table is made. Deletes of
/// other files count for nothing. What is pointed to outlives the task.
/// Errors: those of Exporter and convert_deletes(); kUnsupported  a data file stands
///         in the table several times, and not with the same deleted rows.
[[nodiscard]] base::Task<base::Result<ducklake::RowDeletes>> convert_foreign_deletes(
    base::RequestContext context, Catalog* catalog, const model::TableMetadata* metadata,
    const ForeignFiles* files);

}  // namespace lake::operation
