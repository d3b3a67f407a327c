#pragma once

// Files that hold rows or deletes of several snapshots are looked into before
// their snapshots are published, each once.

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::publish {

/// Adds to `changes` what the files say, and takes away the commits that cannot
/// be shown. Both outlive the task. Errors: those of Exporter.
[[nodiscard]] base::Task<base::Status> look_into_partial_files(base::RequestContext context,
                                                               exporter::Exporter* exporter,
                                                               model::LakeChanges* changes);

}  // namespace lake::publish
