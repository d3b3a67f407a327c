#include "lakeproxy/iceberg/metadata/retention.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/core/text.h"

namespace lake::model {
namespace {

// Nothing where it is absent, or no number above zero.
std::optional<std::int64_t> positive(const TableMetadata& metadata, const char* property) {
  auto found = metadata.properties.find(property);
  if (found == metadata.properties.end()) return std::nullopt;
  auto number = base::parse_int64(found->second);
  return number && *number > 0 ? std::optional(*number) : std::nullopt;
}

}  // namespace

std::vector<SnapshotId> expired_snapshots(const TableMetadata& metadata, TimestampMs now) {
  const auto age = positive(metadata, "history.expire.max-snapshot-age-ms");
  if (!age) return {};
  const auto least = positive(metadata, "history.expire.min-snapshots-to-keep").value_or(1);
  const auto& snapshots = metadata.snapshots.items();
  std::set<SnapshotId> kept;
  for (const auto& [name, ref] : metadata.refs) {
    kept.insert(ref.snapshot_id);
    if (ref.type == RefType::kTag) continue;
    const TimestampMs oldest = now - ref.max_snapshot_age_ms.value_or(*age);
    std::int64_t more = ref.min_snapshots_to_keep.value_or(least);
    for (auto snapshot = snapshots.rbegin(); snapshot != snapshots.rend(); ++snapshot) {
      const Snapshot& each = **snapshot;
      if (each.snapshot_id > ref.snapshot_id) continue;
      if (more-- > 0 || each.timestamp_ms >= oldest) kept.insert(each.snapshot_id);
    }
  }
  std::vector<SnapshotId> expired;
  for (const SnapshotPtr& snapshot : snapshots) {
    if (snapshot->timestamp_ms < now - *age && !kept.contains(snapshot->snapshot_id)) {
      expired.push_back(snapshot->snapshot_id);
    }
  }
  return expired;
}

}  // namespace lake::model
