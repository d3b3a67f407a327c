#pragma once

// What a client's snapshot does to delete files, as rows: its delete files read,
// and whose deletes it took out.

#include <map>
#include <set>
#include <string>

#include "lakeproxy/from_iceberg/files/commit_files.h"
#include "lakeproxy/from_iceberg/files/list_diff.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::operation {

/// The base version of a snapshot with delete files.
struct DeleteBase {
  /// The lake's table; nothing for one that the commit makes or replaces.
  const model::LakeTable* table = nullptr;
  const model::TableMetadata* metadata = nullptr;  ///< After the commit.
  /// Of the snapshot before: what the lake shows, or an earlier one of the commit.
  publish::ManifestList list;
  /// See UpdatePlan.
  std::map<std::int32_t, std::int32_t> spec_ids = {};
  bool is_followed = false;  ///< By another snapshot of the commit.
};

struct DeleteChanges {
  /// Positions by key_of() the delete file. They count in all files that are
  /// there after the snapshot.
  std::map<std::string, exporter::PositionsByFile> by_position;
  /// What equality deletes found in files that were there before it: by key_of()
  /// the delete file where a later snapshot of the commit may take it away, else
  /// all under one name.
  std::map<std::string, exporter::PositionsByFile> by_value;
  /// Data files of which the lake's deletes count no more.
  std::set<std::string> freed;
  /// Delete files of the same commit that count no more, by key_of().
  std::set<std::string> taken;
  /// Rows of PostgreSQL that had ended and are there again, by the file that they
  /// are shown as.
  exporter::PositionsByFile returned;

  /// Of all data files that are named, with those that `files` says.
  [[nodiscard]] std::set<std::string> touched(const CommitFiles& files) const;
  /// All positions of `location` that are deleted anew.
  [[nodiscard]] exporter::Positions added_to(const std::string& location) const;
};

/// Reads the delete files of `diff`. All that is pointed to outlives the task.
/// Errors: those of Exporter.
[[nodiscard]] base::Task<base::Result<DeleteChanges>> read_delete_changes(
    base::RequestContext context, Catalog* catalog, const DeleteBase* base, const ListDiff* diff,
    const CommitFiles* files);

}  // namespace lake::operation
