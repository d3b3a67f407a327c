#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

base::Status check_not_named(const TableMetadata& table, const std::set<SnapshotId>& ids) {
  if (table.current_snapshot_id && ids.contains(*table.current_snapshot_id)) {
    return fail(ErrorKind::kConflict, fmt::format("snapshot {} is the current snapshot of main",
                                                  table.current_snapshot_id->value));
  }
  for (const auto& [name, ref] : table.refs) {
    if (name == kMainBranch || !ids.contains(ref.snapshot_id)) continue;
    return fail(ErrorKind::kConflict,
                fmt::format("snapshot {} is still named by the {} {}", ref.snapshot_id.value,
                            ref.type == RefType::kTag ? "tag" : "branch", name));
  }
  return {};
}

}  // namespace

std::optional<SnapshotId> statistics_snapshot(const base::json::Value& file) {
  const auto* object = file.if_object();
  const auto* id = object == nullptr ? nullptr : object->if_contains("snapshot-id");
  const auto* number = id == nullptr ? nullptr : id->if_int64();
  return number == nullptr ? std::nullopt : std::optional<SnapshotId>(*number);
}

void remove_statistics(std::vector<base::json::Value>& files, SnapshotId snapshot) {
  std::erase_if(files, [&](const auto& file) { return statistics_snapshot(file) == snapshot; });
}

void set_statistics(std::vector<base::json::Value>& files, base::json::Value file,
                    SnapshotId snapshot) {
  remove_statistics(files, snapshot);
  file.as_object()["snapshot-id"] = snapshot.value;
  files.push_back(std::move(file));
}

base::Status remove_snapshots(TableMetadata& table, const std::set<SnapshotId>& ids) {
  RETURN_IF_ERROR(check_not_named(table, ids));
  SnapshotList kept;
  kept.reserve(table.snapshots.size());
  for (const SnapshotPtr& snapshot : table.snapshots.items()) {
    if (!ids.contains(snapshot->snapshot_id)) kept.push_back(snapshot);
  }
  table.snapshots = std::move(kept);
  auto gone =
      std::ranges::find_if(table.snapshot_log.rbegin(), table.snapshot_log.rend(),
                           [&](const auto& entry) { return ids.contains(entry.snapshot_id); });
  table.snapshot_log.erase(table.snapshot_log.begin(), gone.base());
  for (SnapshotId id : ids) {
    remove_statistics(table.statistics, id);
    remove_statistics(table.partition_statistics, id);
  }
  return {};
}

}  // namespace lake::model
