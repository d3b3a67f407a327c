#pragma once

// A snapshot inside the span of a partial file sees some of its rows. It is
// shown with a delete file of the younger ones, which costs a look into the
// data file and an object for each such snapshot. Delete files may hold what
// several snapshots deleted, in the same way. This says which files are looked
// into, and which of the commits cannot be shown after that.

#include <cstdint>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// What one publication spends on snapshots inside spans. The newest come
/// first; those for which nothing is left stay hidden.
struct PartialLimits {
  std::int64_t rows_read = 20'000'000;  ///< Rows of the files looked into.
  std::int64_t delete_files = 1000;
  std::int64_t positions = 20'000'000;  ///< In those delete files together.
};

/// The files that some of `changes`' commits see only a part of, the ones with
/// the youngest rows first, as many as the limit allows.
[[nodiscard]] std::vector<model::DataFileId> partial_files_to_read(
    const model::LakeChanges& changes, const PartialLimits& limits = {});

/// Delete files that may hold deletes of several of `changes`' commits. A flush
/// writes them without a partial_max beside data files that have one.
[[nodiscard]] std::vector<const model::LakeDeleteFile*> delete_files_to_read(
    const model::LakeChanges& changes);

/// Takes the commits away that would show too much: those that see a part of a
/// file which is not among `row_snapshot_ids`, and those beyond the limits.
void hide_commits(model::LakeChanges& changes, const PartialLimits& limits = {});

/// Whether a snapshot that is shown, in `changes` or right before them, sees
/// only some of the file's rows.
[[nodiscard]] bool shows_a_part(const model::LakeChanges& changes, const model::LakeDataFile& file);

/// First snapshot that sees every row which the file will show.
[[nodiscard]] model::SnapshotId whole_from(const model::LakeDataFile& file);

}  // namespace lake::materialize
