#pragma once

// What a client took away from a table, and what it never needed to see. The
// lake keeps all of it: DuckDB reads the old snapshots, and older files and
// rows refer to the definitions. So it is kept and not shown, and its ids are
// not given out again.
// Source: Iceberg table specification, "Snapshot Retention Policy"; Iceberg REST
// description, "RemoveSnapshotsUpdate", "RemoveSchemasUpdate" and
// "RemovePartitionSpecsUpdate".

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "lakeproxy/iceberg/metadata/snapshot_list.h"

namespace lake::model {

/// From one lake snapshot to another, both included.
struct SnapshotRange {
  SnapshotId first;
  SnapshotId last;
  friend bool operator==(const SnapshotRange&, const SnapshotRange&) = default;
};

struct OutOfSight {
  std::set<std::int32_t> schemas;
  /// With the revision of the catalog at which each went out of sight.
  std::map<std::int32_t, std::int64_t> specs;
  /// In their order, none touching another. They reach up to the table's next
  /// shown snapshot: when the lake expires a hidden one, the kept one that
  /// stands for it is hidden as well.
  std::vector<SnapshotRange> snapshots;

  [[nodiscard]] bool hides(SnapshotId snapshot) const;
  friend bool operator==(const OutOfSight&, const OutOfSight&) = default;
};

/// The ranges of `all` in which none of `shown` lies; the last one ends at
/// `newest`, the lake's newest snapshot. Both lists are oldest first.
[[nodiscard]] std::vector<SnapshotRange> hidden_ranges(const SnapshotList& all,
                                                       const SnapshotList& shown,
                                                       SnapshotId newest);

}  // namespace lake::model
