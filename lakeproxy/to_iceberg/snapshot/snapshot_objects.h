#pragma once

// What one snapshot puts into the object store: new manifests, then their list.
// Object names hold the snapshot and a hash of the bytes:
// equal names mean equal objects, whoever writes them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/derive/plan/metadata_object_names.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/manifest/format_version.h"
#include "lakeproxy/iceberg/manifest/listed_manifest.h"

namespace lake::materialize {

/// Encodes and names them; whoever made it stores them.
class SnapshotObjects {
 public:
  /// `snapshot` has its numbers, its parent and its schema before the first
  /// manifest is written. `headers` may be null. All outlive it.
  SnapshotObjects(const model::LakeTable& table, const model::Snapshot& snapshot,
                  ManifestHeaders* headers);

  /// Errors: kCorrupt  the table has no such partition spec, or a partition
  ///         does not fit it; those of the encoders.
  [[nodiscard]] base::Result<ListedManifest> write(std::int32_t spec_id,
                                                   model::ManifestContent content,
                                                   std::vector<model::ManifestEntry> entries);
  /// The list's location. Errors: those of the encoders.
  [[nodiscard]] base::Result<std::string> write_list(const std::vector<ListedManifest>& list);
  /// All that was written, in that order.
  [[nodiscard]] std::vector<NewObject> take() && { return std::move(objects_); }

 private:
  [[nodiscard]] MetadataObjectPlace place() const {
    return {table_.metadata.location, snapshot_.snapshot_id};
  }

  const model::LakeTable& table_;
  const model::Snapshot& snapshot_;
  const FormatVersion& format_;
  ManifestHeaders* headers_;
  std::vector<NewObject> objects_;
};

}  // namespace lake::materialize
