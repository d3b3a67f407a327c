#pragma once

// A table with a thousand appends would have a thousand manifests. Small ones
// are merged in tiers: each file is written again once a tier, and there are
// some dozens of manifests at most.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lakeproxy/iceberg/manifest/listed_manifest.h"

namespace lake::materialize {

/// Files that the manifest adds or goes on to list.
[[nodiscard]] std::int64_t live_files(const model::ManifestFile& manifest);

/// Positions in `list` that are to be merged, into one manifest each. What
/// `snapshot` itself has rewritten stays apart: its deleted entries are read by
/// those who follow changes.
[[nodiscard]] std::vector<std::vector<std::size_t>> due_merges(
    const std::vector<ListedManifest>& list, model::SnapshotId snapshot);

}  // namespace lake::materialize
