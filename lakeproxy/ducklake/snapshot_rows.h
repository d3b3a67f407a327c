#pragma once

// The snapshots that an Iceberg client adds, as lake snapshots of one
// transaction: one for each, in their order.

#include "lakeproxy/ducklake/file_rows.h"
#include "lakeproxy/ducklake/lake_writer.h"

namespace lake::ducklake {

struct SnapshotAdditions {
  FilePlace place;  ///< Of the first snapshot.
  const model::LakeTable* before = nullptr;
  const model::TableMetadata* after = nullptr;
  const std::vector<AddedSnapshot>* snapshots = nullptr;
};

/// Appends the deltas to `plan`. `first` is what the first of them changes
/// besides rows; without snapshots it stands alone, if it changes anything.
/// Errors: those of file_rows().
[[nodiscard]] base::Status add_snapshots(const SchemaSql& sql, const SnapshotAdditions& additions,
                                         LakeDelta first, CommitPlan& plan);

}  // namespace lake::ducklake
