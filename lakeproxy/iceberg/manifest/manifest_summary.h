#pragma once

// What a manifest list says about a manifest, counted from its entries.
// Source: Iceberg table specification, "Manifest Lists".

#include <span>

#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

/// Counts files and rows by status, and sums up the partition values. Spec id
/// and content come from `header`. `sequence_number` and `added_snapshot_id`
/// are those of the snapshot that adds the manifest; an entry without a
/// sequence number inherits it, and min_sequence_number is the lowest of the
/// files that are not deleted. Path and length are left for the caller.
/// Errors: kInvalid  as encode_manifest_v2(), or a count over 32 bits.
[[nodiscard]] base::Result<model::ManifestFile> summarize_manifest(
    const model::ManifestHeader& header, std::span<const model::ManifestEntry> entries,
    std::int64_t sequence_number, model::SnapshotId added_snapshot_id);

}  // namespace lake::materialize
