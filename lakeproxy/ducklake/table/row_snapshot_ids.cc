#include "lakeproxy/ducklake/table/row_snapshot_ids.h"

namespace lake::model {

void RowSnapshotIds::add(SnapshotId snapshot) {
  if (runs_.empty() || runs_.back().begin != snapshot) runs_.push_back({snapshot, 0});
  ++runs_.back().rows;
  ++row_count_;
}

std::map<SnapshotId, std::int64_t> RowSnapshotIds::rows_of_snapshots() const {
  std::map<SnapshotId, std::int64_t> rows;
  for (const Run& run : runs_) rows[run.begin] += run.rows;
  return rows;
}

std::vector<std::int64_t> RowSnapshotIds::after(SnapshotId snapshot) const {
  std::vector<std::int64_t> positions;
  std::int64_t first = 0;
  for (const Run& run : runs_) {
    const std::int64_t end = first + run.rows;
    for (; run.begin > snapshot && first < end; ++first) positions.push_back(first);
    first = end;
  }
  return positions;
}

}  // namespace lake::model
