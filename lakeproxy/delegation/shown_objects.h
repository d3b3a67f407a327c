#pragma once

// The objects that a table's visible snapshots name: what a reader of the table reads beside its
// metadata.

#include <cstddef>
#include <string>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/delegation/session_policy.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"

namespace lake::delegation {

/// Data files and delete files of all visible snapshots, in `bucket`; nothing where there are more
/// than `most`, or where telling them takes more than `most` lists or manifests. What is read is
/// mostly in memory, since the newest snapshot has just been published. `manifests` outlives it.
/// Errors: those of ManifestStore; kUnavailable in the place of an object that is missing.
[[nodiscard]] base::Task<base::Result<ShownObjects>> shown_objects(
    base::RequestContext context, publish::ManifestStore* manifests, std::string bucket,
    publish::LoadedTablePtr loaded, std::size_t most);

}  // namespace lake::delegation
