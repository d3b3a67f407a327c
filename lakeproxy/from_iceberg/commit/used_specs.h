#pragma once

// A reader looks up the partition spec of each manifest it meets, so a spec may
// go out of sight only when no manifest of a snapshot that is shown has it. What
// manifests have stands in the manifest lists, and only there: which spec a file
// of DuckDB stands under follows from its values.

#include <cstdint>
#include <set>

#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// Reads the manifest lists of all snapshots of `metadata`, unless `removed` is
/// empty. Both outlive the task.
/// Errors: kConflict  a manifest stands under one of `removed`: names the spec and
///         the snapshot; those of ManifestStore::list.
[[nodiscard]] base::Task<base::Status> check_specs_unused(base::RequestContext context,
                                                          Catalog* catalog,
                                                          const model::TableMetadata* metadata,
                                                          const std::set<std::int32_t>* removed);

}  // namespace lake::operation
