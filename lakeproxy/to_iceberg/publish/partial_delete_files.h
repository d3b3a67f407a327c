#pragma once

// Partial delete files hold deletes of several snapshots. Each is read once, before these
// snapshots are published: the lake's rows do not say which delete is of which.

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::publish {

/// Adds to `changes` the end of each deleted row, as the files have it. Both outlive the task.
/// Errors: those of Exporter.
[[nodiscard]] base::Task<base::Status> read_partial_delete_files(base::RequestContext context,
                                                                 exporter::Exporter* exporter,
                                                                 model::LakeChanges* changes);

}  // namespace lake::publish
