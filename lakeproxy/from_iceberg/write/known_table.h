#pragma once

// After a commit that only added rows to a table, or only set its properties, the writer knows
// the table and what changed as well as a reader would: it has just checked what was there and
// written the rest. So nothing needs to be read to show it.

#include <map>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// What LakeReader::load_table and LakeReader::read_changes would give.
struct KnownTable {
  model::LakeTable table;  ///< The new snapshots are pending.
  model::LakeChanges changes;
};

/// `before` with what `committed`, which has is_append, added to it. All
/// snapshots of `before` are materialised. `aliases` are the ids that the client
/// chose, one for each of the commit's snapshots.
[[nodiscard]] KnownTable append_to(const model::LakeTable& before, Committed committed,
                                   const std::vector<model::SnapshotId>& aliases);

/// A change of properties that only clients have a say in.
struct PropertiesSet {
  std::map<std::string, std::string> properties;  ///< All that are set after it.
  model::TimestampMs at_ms = 0;                   ///< Not before the table's last change.
};

/// `before`, all snapshots of which are materialised, after `change`, as of `version`.
[[nodiscard]] KnownTable with_properties(const model::LakeTable& before, PropertiesSet change,
                                         model::LakeVersion version);

}  // namespace lake::ducklake
