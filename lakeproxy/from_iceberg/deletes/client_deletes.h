#pragma once

// Iceberg keeps any number of delete files of three kinds; DuckLake one list of
// positions for each data file. This turns what a client's snapshot does to
// delete files into the lists that count from then on.
//
// The positions after a snapshot are those of the delete files that stay and of
// those that are added. What a client takes out counts no more: rows that were
// deleted may come back.
// Source: Iceberg table specification, "Scan Planning".

#include "lakeproxy/from_iceberg/deletes/delete_changes.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// What `changes` do to the data files, for the snapshot that `files` has begun.
/// Puts DuckLake's delete files under the table's prefix; nothing names these
/// before the commit. All that is pointed to outlives the task.
/// Errors: those of LakeReader; kConflict  a deleted row is of no live data
///         file; kInvalid  a position behind a file's last row; kTooLarge  more
///         positions than one commit may delete; kUnsupported  rows of PostgreSQL that
///         came back earlier in the commit are deleted again.
[[nodiscard]] base::Task<base::Result<ducklake::RowDeletes>> convert_deletes(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base,
    const DeleteChanges* changes, CommitFiles* files);

}  // namespace lake::operation
