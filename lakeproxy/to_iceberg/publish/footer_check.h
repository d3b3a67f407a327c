#pragma once

// The footers of added files, which nobody wrote for their table, are checked before a
// snapshot is published that shows them: DuckDB finds their columns by names that it keeps
// for each file, Iceberg's readers by one list for the table.

#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/manifest/listed_manifest.h"

namespace lake::publish {

using Manifests = std::vector<materialize::ListedManifest>;

/// Reads the footers of the files that `changes` add and that none of `published` lists. The table
/// must say what each of their columns is, so later names mean nothing to them. Shows the copy of
/// each file that clients would read otherwise than DuckDB, and says whether there is such a file.
/// All that is pointed to outlives the task. Errors: kUnsupported  such a file where no copies are
/// made (names the table, the file and the
///         column), or one with NULLs where the table has none; those of Exporter.
[[nodiscard]] base::Task<base::Result<bool>> check_footers(base::RequestContext context,
                                                           exporter::Exporter* exporter,
                                                           const model::LakeTable* table,
                                                           const Manifests* published,
                                                           model::LakeChanges* changes);

}  // namespace lake::publish
