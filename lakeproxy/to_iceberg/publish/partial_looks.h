#pragma once

// Delete files that hold deletes of several snapshots are looked into before these are
// published, each once.

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::publish {

/// Adds to `changes` what the files say. Both outlive the task. Errors: those of Exporter.
[[nodiscard]] base::Task<base::Status> look_into_delete_files(base::RequestContext context,
                                                              exporter::Exporter* exporter,
                                                              model::LakeChanges* changes);

}  // namespace lake::publish
