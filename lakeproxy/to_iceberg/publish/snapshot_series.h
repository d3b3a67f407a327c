#pragma once

// The snapshots of a table that nobody has published yet, built one upon the
// other: of each its manifests and their list.

#include <cstdint>
#include <set>
#include <vector>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::publish {

/// Snapshots that were built, and the last of their objects, not yet put.
struct SnapshotSeries {
  std::vector<model::Snapshot> snapshots;
  std::vector<materialize::NewObject> objects;
  /// Specs out of sight that their manifests need.
  std::set<std::int32_t> into_sight = {};
};

/// The list of the newest published snapshot of `table`, with the entries of every
/// manifest. Errors: those of ManifestStore.
[[nodiscard]] base::Task<base::Result<std::vector<materialize::ListedManifest>>> published_files(
    base::RequestContext context, ManifestStore* manifests, const model::LakeTable* table);

/// Builds the snapshots of `changes`, the first on the last one of `table` that
/// was published. Their objects are put as they become many; nobody is told of
/// them. All that it is given outlives the task.
/// Errors: those of ManifestStore and Exporter, and of build_snapshot().
[[nodiscard]] base::Task<base::Result<SnapshotSeries>> build_series(
    base::RequestContext context, ManifestStore* manifests, exporter::Exporter* exporter,
    const model::LakeTable* table, std::vector<materialize::SnapshotChange> changes);

}  // namespace lake::publish
