#pragma once

// Iceberg's metadata counts the NaN values of a column, DuckLake says at most
// that there are some. What neither says is counted in the files, each once.

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/model/table/lake_table.h"

namespace lake::publish {

/// Counts the NaN values that nobody has counted, in the files that `changes`
/// shows first, and has the lake remember them. All that it is given outlives
/// the task. Errors: those of Exporter and LakeWriter.
[[nodiscard]] base::Task<base::Status> complete_nan_counts(base::RequestContext context,
                                                           exporter::Exporter* exporter,
                                                           ducklake::LakeWriter* writer,
                                                           const model::LakeTable* table,
                                                           model::LakeChanges* changes);

}  // namespace lake::publish
