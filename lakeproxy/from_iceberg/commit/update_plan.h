#pragma once

// The updates of a commit, applied in their order to the table as a value.
// Snapshots are collected for the lake; everything else is a change of the
// definition. No I/O.
// Source: Iceberg REST description, "TableUpdate".

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/update/table_update.h"

namespace lake::operation {

struct UpdatePlan {
  model::TableMetadata after;
  /// main is removed before the snapshots come: all rows go.
  bool clears_main = false;
  /// The older snapshot that main is set to; there are no new ones then.
  std::optional<model::SnapshotId> restores;
  /// In order; main points to the last of them at the end.
  std::vector<model::Snapshot> snapshots;
  /// A client writes manifests under the id that it thinks its new spec will
  /// get: that id, and the one that the spec got, where they differ.
  std::map<std::int32_t, std::int32_t> spec_ids;
  /// Definitions that a client took away: nothing that is shown may need them.
  std::set<std::int32_t> removed_schemas, removed_specs;
};

/// `table` is null for a commit that creates one; `fresh` is then its metadata
/// so far (uuid and location decided by the updates). Snapshot ids that a
/// client chose are resolved by the table's aliases.
/// Errors: kInvalid  an update that does not fit, names a snapshot or ref that
///         does not exist, or moves the location; kForbidden  a reserved
///         property; kConflict  a snapshot or schema to be removed is in use;
///         kUnsupported  an action that is not offered.
[[nodiscard]] base::Result<UpdatePlan> plan_updates(const model::LakeTable* table,
                                                    const model::TableMetadata& metadata,
                                                    const std::vector<model::TableUpdate>& updates);

/// `requirement` with a snapshot id that a client chose resolved to the lake's.
[[nodiscard]] model::TableRequirement resolve_aliases(const model::LakeTable& table,
                                                      model::TableRequirement requirement);

}  // namespace lake::operation
