#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

#include <algorithm>

namespace lake::materialize {

using model::SnapshotId;

std::optional<SnapshotId> shown_at(const model::LakeChanges& changes, SnapshotId snapshot) {
  auto found =
      std::ranges::lower_bound(changes.commits, snapshot, {}, &model::LakeCommit::snapshot);
  if (found == changes.commits.end()) return std::nullopt;
  return found->snapshot;
}

bool shown_before(const model::LakeChanges& changes, SnapshotId snapshot) {
  return changes.after && snapshot <= *changes.after;
}

bool shown_earlier(const model::LakeChanges& changes, SnapshotId snapshot, SnapshotId at) {
  if (shown_before(changes, snapshot)) return true;
  auto shown = shown_at(changes, snapshot);
  return shown && *shown < at;
}

}  // namespace lake::materialize
