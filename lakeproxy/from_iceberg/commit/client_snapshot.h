#pragma once

// A client commits a snapshot by naming a manifest list that it has written.
// This reads what is new in it, and finds what it takes away.
// Source: Iceberg REST description, "AddSnapshotUpdate".

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lakeproxy/from_iceberg/files/commit_files.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

struct ClientSnapshot {
  ducklake::AddedSnapshot added;
  /// The client's list, new manifests and delete files, of no use once ours are
  /// written.
  std::vector<std::string> objects;
};

/// The base version of a new snapshot.
struct SnapshotBase {
  /// The lake's table; nothing for one that the commit makes, or all of whose
  /// rows it ends first.
  const model::LakeTable* table = nullptr;
  const model::TableMetadata* metadata = nullptr;  ///< After the commit.
  std::string list;  ///< Manifest list of the snapshot before it, or empty.
  /// What the earlier snapshots of the commit did.
  CommitFiles* files = nullptr;
  bool is_followed = false;  ///< By another snapshot of the commit.
  /// See UpdatePlan.
  std::map<std::int32_t, std::int32_t> spec_ids = {};
};

/// Reads `given`, and puts the delete files that it becomes. The snapshots of a
/// commit are read in their order. Only places under the table's own prefix are
/// read. What `on` points to outlives the task.
/// Errors: kInvalid  a list or manifest that does not parse, is missing, lies
///         elsewhere, disagrees with the list or the summary, or an append that
///         removes; kConflict  a file that is said to be live or deleted and is
///         not live; kTooLarge  over 500,000 entries; those of
///         read_delete_changes() and convert_deletes().
[[nodiscard]] base::Task<base::Result<ClientSnapshot>> read_client_snapshot(
    base::RequestContext context, Catalog* catalog, SnapshotBase on, model::Snapshot given);

}  // namespace lake::operation
