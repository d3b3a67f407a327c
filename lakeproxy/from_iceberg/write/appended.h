#pragma once

// After a commit that only added rows to a table, the writer knows the table
// and what changed as well as a reader would: it has just checked what was
// there and written the rest. So nothing needs to be read to show it.

#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// What LakeReader::load_table and LakeReader::read_changes would give.
struct Appended {
  model::LakeTable table;  ///< The new snapshots are pending.
  model::LakeChanges changes;
};

/// `before` with what `committed`, which has is_append, added to it. All
/// snapshots of `before` are materialised. `aliases` are the ids that the client
/// chose, one for each of the commit's snapshots.
[[nodiscard]] Appended append_to(const model::LakeTable& before, Committed committed,
                                 const std::vector<model::SnapshotId>& aliases);

}  // namespace lake::ducklake
