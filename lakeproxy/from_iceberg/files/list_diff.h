#pragma once

// A client says what its snapshot does by a whole new manifest list. What it
// adds and takes away is the difference between that list and the one that the
// client started from. The list is the truth: a file that stands in none of its
// manifests is gone, whether or not an entry says "deleted".
// Source: Iceberg table specification, "Manifests", "Snapshots".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/iceberg/manifest/listed_manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/iceberg/metadata/snapshot.h"

namespace lake::operation {

/// Manifests that only one of two lists has.
struct ManifestSplit {
  std::vector<model::ManifestFile> new_manifests;      ///< Of the client.
  std::vector<model::ManifestFile> removed_manifests;  ///< Of the base, and left out.
};
[[nodiscard]] ManifestSplit split_lists(const std::vector<model::ManifestFile>& base,
                                        const std::vector<model::ManifestFile>& given);

/// How many entries `manifests` hold, by what their list says; a count that it
/// leaves out counts as none.
[[nodiscard]] std::int64_t count_entries(const std::vector<model::ManifestFile>& manifests);

/// Errors: kInvalid  names a manifest that the list names twice: a reader would
///         see its rows twice.
[[nodiscard]] base::Status check_once(const std::vector<model::ManifestFile>& list);

/// Their sizes in bytes, by what their list says; at most the greatest number.
[[nodiscard]] std::size_t stored_bytes(const std::vector<model::ManifestFile>& manifests);

/// Errors: kInvalid  the manifest holds other counts of files or rows, another
///         spec or other content than its list says.
[[nodiscard]] base::Status check_listed(const model::ManifestFile& listed,
                                        const model::ManifestHeader& header,
                                        const std::vector<model::ManifestEntry>& entries);

/// What names `file` among a table's files: several deletion vectors may share
/// one object.
[[nodiscard]] std::string key_of(const model::DataFile& file);

struct ListDiff {
  std::vector<ducklake::AddedFile> added;
  std::vector<ducklake::AddedFile> added_deletes;
  /// Locations, one for each file: one may stand in a table twice.
  std::vector<std::string> removed;
  std::vector<ducklake::AddedFile> removed_deletes;
  std::int64_t added_rows = 0;    ///< Of `added`; at most the greatest number.
  std::int64_t removed_rows = 0;  ///< Of `removed`.
};

/// What snapshot `id` does; each of the manifests has its entries.
/// Errors: kConflict  an added file is said to come from another snapshot; kInvalid  its
///         location is no text; kConflict  an entry is "existing" or "deleted"
///         and no live file of the base that is dropped: names its location.
[[nodiscard]] base::Result<ListDiff> diff_lists(
    model::SnapshotId id, const std::vector<materialize::ListedManifest>& new_manifests,
    const std::vector<materialize::ListedManifest>& removed_manifests);

/// Compares what the client counted of its change with what its manifests hold.
/// Delete files that are replaced, or go with their data file, may be left
/// uncounted. Totals, sizes and kinds of deletes are not compared: ours are shown.
/// Errors: kInvalid  names the key of the summary.
[[nodiscard]] base::Status check_summary(const model::Snapshot& given, const ListDiff& diff);

}  // namespace lake::operation
