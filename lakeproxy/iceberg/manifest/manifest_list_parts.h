#pragma once

// What manifest lists of format versions 2 and 3 share. Each version's own
// file adds what it alone has, and writes the list.
// Source: Iceberg table specification, "Manifest Lists"; Appendix A, "Avro".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/avro/container_writer.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"

namespace lake::materialize {

/// The snapshot that a list belongs to.
struct ManifestListHeader {
  model::SnapshotId snapshot_id;
  std::optional<model::SnapshotId> parent_snapshot_id;
  std::int64_t sequence_number = 0;
  /// Format version 3: where the ids of the snapshot's new rows begin.
  std::optional<std::int64_t> first_row_id = std::nullopt;
};

/// The fields that both versions have, in the order of put_manifest().
[[nodiscard]] std::vector<std::string> manifest_file_fields();
[[nodiscard]] base::avro::Metadata manifest_list_metadata(const ManifestListHeader& header,
                                                          std::string_view format_version);
void put_manifest(base::avro::Encoder& out, const model::ManifestFile& file);

/// Errors: kInvalid  a count or a length below zero (see read_manifest_list()
///         about unknown counts).
[[nodiscard]] base::Status check_manifest(const model::ManifestFile& file);

}  // namespace lake::materialize
