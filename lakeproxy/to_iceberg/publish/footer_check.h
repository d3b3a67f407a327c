#pragma once

// The footers of added files, which nobody wrote for their table, are checked before a
// snapshot is published that shows them: DuckDB finds their columns by names that it keeps
// for each file, Iceberg's readers by one list for the table.

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::publish {

/// Reads the footers of the files that `changes` add. The table must say what each of their
/// columns is, so later names mean nothing to them. All that is pointed to outlives
/// the task.
/// Errors: kUnsupported  names the table, the file and the column that readers
///         would read otherwise than DuckDB; those of Exporter.
[[nodiscard]] base::Task<base::Status> check_footers(base::RequestContext context,
                                                     exporter::Exporter* exporter,
                                                     const model::LakeTable* table,
                                                     const model::LakeChanges* changes);

}  // namespace lake::publish
