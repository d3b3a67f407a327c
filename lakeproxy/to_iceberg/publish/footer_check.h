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
#include "lakeproxy/to_iceberg/definition/schema_ids.h"

namespace lake::publish {

using Manifests = std::vector<materialize::ListedManifest>;

/// The columns that are required in a schema which shows such a file, and of which nothing says
/// that the file itself holds them without NULL; with the first snapshot that shows it. Parts of
/// columns likewise, of all that DuckDB wrote: it keeps NULL out of none. Iceberg's readers do not
/// look for NULL in what is required: a filter for it finds none of the rows, one for others all.
/// `changes` has commits.
[[nodiscard]] ducklake::ColumnsWithNull required_with_null(const model::LakeTable& table,
                                                           const Manifests& published,
                                                           const model::LakeChanges& changes);

/// Reads the footers of the files that `changes` add and that none of `published` lists. The table
/// must say what each of their columns is, so later names mean nothing to them. Shows the copy of
/// each file that clients would read otherwise than DuckDB, and says whether there is such a file.
/// All that is pointed to outlives the task. Errors: kUnsupported  such a file where no copies are
/// made (names the table, the file and the
///         column); those of Exporter.
[[nodiscard]] base::Task<base::Result<bool>> check_footers(base::RequestContext context,
                                                           exporter::Exporter* exporter,
                                                           const model::LakeTable* table,
                                                           const Manifests* published,
                                                           model::LakeChanges* changes);

}  // namespace lake::publish
