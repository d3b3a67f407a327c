#pragma once

// The snapshots that an Iceberg client adds, as lake snapshots of one
// transaction: one for each, in their order.

#include "lakeproxy/from_iceberg/rows/file_rows.h"
#include "lakeproxy/from_iceberg/rows/live_files.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {

struct SnapshotAdditions {
  FilePlace place;  ///< Of the first snapshot.
  const model::LakeTable* before = nullptr;
  const model::TableMetadata* after = nullptr;
  const std::vector<AddedSnapshot>* snapshots = nullptr;
  LiveFiles live;  ///< Of all that the snapshots take away.
};

/// Whether some of their files stand under another spec than this one.
[[nodiscard]] bool add_to_another_spec(const std::vector<AddedSnapshot>& snapshots,
                                       std::int32_t spec_id);

/// Appends the deltas to `plan`. `first` is what the first of them changes
/// besides rows; without snapshots it stands alone, if it changes anything.
/// Errors: those of lake_files() and file_rows(); kConflict  a file that is to
///         be taken away is not live: names its location.
[[nodiscard]] base::Status add_snapshots(const SchemaSql& sql, SnapshotAdditions additions,
                                         LakeDelta first, CommitPlan& plan);

}  // namespace lake::ducklake
