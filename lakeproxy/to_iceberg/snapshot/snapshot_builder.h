#pragma once

// Builds the manifest list of one snapshot from that of the one before it and
// what changed. The work follows the change: files that stay are in manifests
// that stay, and small manifests are merged.
// Source: Iceberg table specification, "Manifests", "Manifest Lists",
// "Snapshots".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/manifest/listed_manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/to_iceberg/snapshot/data_file_view.h"

namespace lake::materialize {

/// What one snapshot does to the files that the table shows.
struct SnapshotChange {
  model::SnapshotId snapshot_id;
  model::TimestampMs timestamp_ms = 0;
  std::int32_t schema_id = 0;
  bool rewrites_only = false;  ///< Merge, flush, rewrite: the rows stay the same.
  bool uncovers_rows = false;  ///< Rows of a file that was there are shown from here on.
  /// The operation that the client named, for a snapshot that was committed through us.
  std::optional<model::Operation> client_operation = std::nullopt;
  std::map<std::string, std::string> extra_summary;
  std::vector<FileView> added_data;
  std::vector<std::string> removed_data;  ///< Paths.
  std::vector<FileView> added_deletes;
  /// Data files whose delete file no longer counts: replaced, or gone with
  /// them. Only those that had one: manifests of deletes are read to find it.
  std::vector<std::string> superseded_deletes;
  /// Data files of which rows may be shown that a deletion vector of them took
  /// away before.
  std::vector<std::string> uncovered = {};

  [[nodiscard]] bool empty() const {
    return added_data.empty() && removed_data.empty() && added_deletes.empty() &&
           superseded_deletes.empty();
  }
};

struct BuiltSnapshot {
  model::Snapshot snapshot;
  std::vector<ListedManifest> list;
  std::vector<NewObject> objects;  ///< New manifests, then the list itself.
};

/// The table's side of a build.
struct BuildContext {
  const model::LakeTable* table = nullptr;
  const model::Snapshot* parent = nullptr;  ///< Null for the first one.
  ManifestHeaders* headers = nullptr;       ///< Kept from build to build; may be null.
};

/// Manifests of `list` whose entries build() needs; positions in it, rising.
[[nodiscard]] std::vector<std::size_t> manifests_to_read(const BuildContext& context,
                                                         const std::vector<ListedManifest>& list,
                                                         const SnapshotChange& change);

/// Errors: kCorrupt  a removed file is in none of the manifests read, or a
///         partition spec does not belong to the table; those of the encoders.
[[nodiscard]] base::Result<BuiltSnapshot> build_snapshot(const BuildContext& context,
                                                         std::vector<ListedManifest> list,
                                                         const SnapshotChange& change);

}  // namespace lake::materialize
