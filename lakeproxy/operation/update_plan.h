#pragma once

// The updates of a commit, applied in their order to the table as a value.
// Snapshots are collected for the lake; everything else is a change of the
// definition. No I/O.
// Source: Iceberg REST description, "TableUpdate".

#include <optional>
#include <vector>

#include "lakeproxy/model/lake_table.h"
#include "lakeproxy/model/table_update.h"

namespace lake::operation {

struct UpdatePlan {
  model::TableMetadata after;
  /// main is removed before the snapshots come: all rows go.
  bool clears_main = false;
  /// The older snapshot that main is set to; there are no new ones then.
  std::optional<model::SnapshotId> restores;
  /// In order; main points to the last of them at the end.
  std::vector<model::Snapshot> snapshots;
};

/// `table` is null for a commit that creates one; `fresh` is then its metadata
/// so far (uuid and location decided by the updates). Snapshot ids that a
/// client chose are resolved by the table's aliases.
/// Errors: kInvalid  an update that does not fit, names a snapshot or ref that
///         does not exist, or moves the location; kForbidden  a reserved
///         property; kUnsupported  an action that is not offered.
[[nodiscard]] base::Result<UpdatePlan> plan_updates(const model::LakeTable* table,
                                                    const model::TableMetadata& metadata,
                                                    const std::vector<model::TableUpdate>& updates);

/// `requirement` with a snapshot id that a client chose resolved to the lake's.
[[nodiscard]] model::TableRequirement resolve_aliases(const model::LakeTable& table,
                                                      model::TableRequirement requirement);

}  // namespace lake::operation
