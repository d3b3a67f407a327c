#pragma once

// The content of an older snapshot comes back as rows of the objects that held
// it. Where DuckDB has merged, flushed or written again since, such an object
// holds rows and deletes of later snapshots, too: it comes back with a delete
// file that takes them away.

#include <vector>

#include "lakeproxy/from_iceberg/rows/row_deletes.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// Puts a delete file for each data file that `back_to` shows in part; nothing
/// names these before the commit. `table` outlives the task.
/// Errors: those of LakeReader::partly_shown and Exporter; kUnsupported  a file
///         does not say which of its rows are younger.
[[nodiscard]] base::Task<base::Result<std::vector<ducklake::FileDeletes>>> cut_files_back(
    base::RequestContext context, Catalog* catalog, const model::LakeTable* table,
    model::SnapshotId back_to);

}  // namespace lake::operation
