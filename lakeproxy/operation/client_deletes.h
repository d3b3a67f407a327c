#pragma once

// Iceberg keeps any number of delete files of three kinds; DuckLake one list of
// positions for each data file. This turns what a client's snapshot does to
// delete files into the lists that count from then on.
//
// The positions after a commit are those of the delete files that stay and of
// those that are added. What a client takes out counts no more: rows that were
// deleted may come back.
// Source: Iceberg table specification, "Scan Planning".

#include <string>
#include <vector>

#include "lakeproxy/ducklake/rows/row_deletes.h"
#include "lakeproxy/operation/catalog.h"
#include "lakeproxy/operation/list_diff.h"

namespace lake::operation {

/// The table that a snapshot with delete files stands on.
struct DeleteBase {
  const model::LakeTable* table = nullptr;
  const model::TableMetadata* metadata = nullptr;
  publish::ManifestList list;  ///< Of its current snapshot, as it is shown.
};

/// Reads the client's delete files and puts DuckLake's under the table's prefix;
/// nothing names these before the commit. `base` and `diff` outlive the task.
/// Errors: those of Exporter and LakeReader; kConflict  a deleted row is of no
///         live data file; kInvalid  a position behind a file's last row;
///         kUnsupported  deleted rows of PostgreSQL come back.
[[nodiscard]] base::Task<base::Result<ducklake::RowDeletes>> convert_deletes(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base, const ListDiff* diff);

}  // namespace lake::operation
