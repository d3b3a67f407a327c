#include "lakeproxy/iceberg/metadata/out_of_sight.h"

#include <algorithm>

namespace lake::model {

bool OutOfSight::hides(SnapshotId snapshot) const {
  auto behind = std::ranges::upper_bound(snapshots, snapshot, {}, &SnapshotRange::first);
  return behind != snapshots.begin() && snapshot <= std::prev(behind)->last;
}

std::vector<SnapshotRange> hidden_ranges(const SnapshotList& all, const SnapshotList& shown,
                                         SnapshotId newest) {
  std::vector<SnapshotRange> ranges;
  auto next = shown.begin();
  bool open = false;
  for (const Snapshot& snapshot : all) {
    while (next != shown.end() && next->snapshot_id < snapshot.snapshot_id) ++next;
    const bool hidden = next == shown.end() || next->snapshot_id != snapshot.snapshot_id;
    if (hidden && !open) ranges.push_back({snapshot.snapshot_id, newest});
    if (!hidden && open) ranges.back().last = SnapshotId(snapshot.snapshot_id.value - 1);
    open = hidden;
  }
  return ranges;
}

}  // namespace lake::model
