#include "lakeproxy/from_iceberg/write/known_table.h"

#include <algorithm>
#include <utility>

namespace lake::ducklake {

KnownTable append_to(const model::LakeTable& before, Committed committed,
                     const std::vector<model::SnapshotId>& aliases) {
  KnownTable after{.table = before, .changes = {.up_to = committed.version.snapshot}};
  model::LakeTable& table = after.table;
  table.version = committed.version;
  table.pending = committed.snapshots;
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    table.aliases.emplace(aliases[i].value, committed.snapshots[i]);
  }
  for (const model::LakeDataFile& file : committed.added_files) {
    table.metadata.next_row_id += file.record_count;
  }
  table.metadata.last_updated_ms =
      std::max(table.metadata.last_updated_ms, committed.commits.back().committed_ms);
  if (!table.materialized.empty()) after.changes.after = table.materialized.back().snapshot_id;
  after.changes.commits = std::move(committed.commits);
  for (model::LakeDataFile& file : committed.added_files) {
    after.changes.data_files.emplace(file.id, std::move(file));
  }
  return after;
}

KnownTable with_properties(const model::LakeTable& before, PropertiesSet change,
                           model::LakeVersion version) {
  KnownTable known{.table = before, .changes = {}};
  model::LakeTable& table = known.table;
  table.version = version;
  table.metadata.properties = std::move(change.properties);
  // One that a client removed is there again.
  const auto& defaults = table.metadata.default_properties;
  table.metadata.properties.insert(defaults.begin(), defaults.end());
  table.metadata.last_updated_ms = change.at_ms;
  return known;
}

}  // namespace lake::ducklake
