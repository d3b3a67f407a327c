#pragma once

// Writes the manifest list of a snapshot of format version 2.
// Source: Iceberg table specification, "Manifest Lists"; Appendix A, "Avro".

#include <optional>
#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/model/manifest.h"

namespace lake::materialize {

/// The snapshot that a list belongs to.
struct ManifestListHeader {
  model::SnapshotId snapshot_id;
  std::optional<model::SnapshotId> parent_snapshot_id;
  std::int64_t sequence_number = 0;
};

/// The bytes of the list. The same input gives the same bytes. first_row_id
/// (version 3) is left out.
/// Errors: kInvalid  a count or a length below zero (see read_manifest_list()
///         about unknown counts).
[[nodiscard]] base::Result<std::string> encode_manifest_list_v2(
    const ManifestListHeader& header, std::span<const model::ManifestFile> manifests,
    base::avro::Codec codec);

}  // namespace lake::materialize
