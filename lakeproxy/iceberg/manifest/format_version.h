#pragma once

// What building a snapshot does differently from one format version to the
// other, as one value that the builder gets once.
// Source: Iceberg table specification, "Versions of the table format"; the
// numbers: docs/adr/0036-format-versions.md.

#include <cstdint>
#include <span>
#include <string>

#include "base/avro/codec.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::materialize {

enum class RowLineage : std::uint8_t {
  kNone,
  kKept,  ///< Each row has an id and the number of the snapshot that wrote it.
};

enum class DeleteForm : std::uint8_t {
  kPositionFiles,    ///< A Parquet file for each data file and snapshot.
  kDeletionVectors,  ///< One Puffin file a snapshot, with a vector for each data file.
};

struct FormatVersion {
  base::Result<std::string> (*encode_manifest)(const model::ManifestHeader&,
                                               std::span<const model::ManifestEntry>,
                                               base::avro::Codec, ManifestHeaders* kept);
  base::Result<std::string> (*encode_manifest_list)(const ManifestListHeader&,
                                                    std::span<const model::ManifestFile>,
                                                    base::avro::Codec);
  /// Of the snapshot with that id, after `parent` (null for the first one).
  std::int64_t (*sequence_number)(const model::Snapshot* parent, model::SnapshotId id);
  RowLineage lineage;
  DeleteForm deletes;
};

/// Format version 2 or 3; aborts on another one.
[[nodiscard]] const FormatVersion& format_version(std::int32_t version);

}  // namespace lake::materialize
