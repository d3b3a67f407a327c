#include "lakeproxy/materialize/export_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lake::materialize {
namespace {

using model::SnapshotId;

std::string delete_location(const model::LakeTable& table, std::string_view data_file,
                            SnapshotId snapshot) {
  // Not ".parquet": DuckLake's own clean-up takes such files for orphans.
  return fmt::format("{}/metadata/deletes-{}-{}-{}", table.metadata.location, data_file,
                     snapshot.value, table.epoch);
}

using Groups = std::map<SnapshotId, std::vector<model::LakeInlinedRow>>;

Groups group_rows(const model::LakeInlinedTable& inlined) {
  Groups groups;
  for (const auto& row : inlined.rows) {
    // Inserted and deleted by one commit: no snapshot ever showed it, and the
    // group's positions do not count it.
    if (row.end != row.begin) groups[row.begin].push_back(row);
  }
  for (auto& [begin, rows] : groups) {
    std::ranges::sort(rows, {}, &model::LakeInlinedRow::row_id);
  }
  return groups;
}

// One delete file for each snapshot at which more of the group's rows end,
// until all have: then the data file itself goes.
void plan_inlined_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                          const std::vector<model::LakeInlinedRow>& rows,
                          const std::string& location, std::string_view name, ExportPlan& plan) {
  std::set<SnapshotId> ends;
  for (const auto& row : rows) {
    if (!row.end || shown_before(changes, *row.end)) continue;
    if (auto at = shown_at(changes, *row.end)) ends.insert(*at);
  }
  for (SnapshotId at : ends) {
    DeleteGroup group{delete_location(table, name, at), location, at, std::nullopt, {}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].end && *rows[i].end <= at)
        group.positions.push_back(static_cast<std::int64_t>(i));
    }
    if (group.positions.size() < rows.size()) plan.deletes.push_back(std::move(group));
  }
}

void plan_inlined(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan) {
  for (const auto& inlined : changes.inlined) {
    for (auto& [begin, rows] : group_rows(inlined)) {
      std::string location = inlined_location(table, inlined.schema_version, begin);
      std::string name = fmt::format("i{}.{}", inlined.schema_version, begin.value);
      plan_inlined_deletes(table, changes, rows, location, name, plan);
      if (shown_before(changes, begin) || !shown_at(changes, begin)) continue;
      plan.inlined.push_back({location, begin, inlined.columns, std::move(rows)});
    }
  }
}

struct FileDeletes {
  std::vector<const model::LakeDeleteFile*> files;
  std::vector<const model::LakeInlinedDelete*> inlined;
};

std::map<model::DataFileId, FileDeletes> deletes_by_file(const model::LakeChanges& changes) {
  std::map<model::DataFileId, FileDeletes> by_file;
  for (const auto& file : changes.delete_files) by_file[file.data_file_id].files.push_back(&file);
  for (const auto& row : changes.inlined_deletes) {
    by_file[row.data_file_id].inlined.push_back(&row);
  }
  return by_file;
}

std::set<SnapshotId> delete_snapshots(const model::LakeChanges& changes,
                                      const FileDeletes& deletes) {
  std::set<SnapshotId> snapshots;
  auto add = [&](SnapshotId begin) {
    if (shown_before(changes, begin)) return;
    if (auto at = shown_at(changes, begin)) snapshots.insert(*at);
  };
  for (const auto* file : deletes.files) add(file->begin);
  for (const auto* row : deletes.inlined) add(row->begin);
  return snapshots;
}

void plan_file_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                       const model::LakeDataFile& file, const FileDeletes& deletes,
                       ExportPlan& plan) {
  for (SnapshotId at : delete_snapshots(changes, deletes)) {
    if (file.end && *file.end <= at) continue;
    DeleteGroup group{delete_location(table, fmt::format("{}", file.id.value), at),
                      file.path,
                      at,
                      std::nullopt,
                      {}};
    for (const auto* source : deletes.files) {
      if (source->begin <= at && (!source->end || *source->end > at)) group.source = *source;
    }
    for (const auto* row : deletes.inlined) {
      if (row->begin <= at) group.positions.push_back(row->row_id);
    }
    plan.deletes.push_back(std::move(group));
  }
}

}  // namespace

std::optional<SnapshotId> shown_at(const model::LakeChanges& changes, SnapshotId snapshot) {
  auto found =
      std::ranges::lower_bound(changes.commits, snapshot, {}, &model::LakeCommit::snapshot);
  if (found == changes.commits.end()) return std::nullopt;
  return found->snapshot;
}

bool shown_before(const model::LakeChanges& changes, SnapshotId snapshot) {
  return changes.after && snapshot <= *changes.after;
}

std::string inlined_location(const model::LakeTable& table, std::int64_t schema_version,
                             SnapshotId begin) {
  return fmt::format("{}/metadata/inlined-{}-{}-{}", table.metadata.location, schema_version,
                     begin.value, table.epoch);
}

ExportPlan plan_exports(const model::LakeTable& table, const model::LakeChanges& changes) {
  ExportPlan plan;
  plan_inlined(table, changes, plan);
  for (const auto& [id, deletes] : deletes_by_file(changes)) {
    auto file = changes.data_files.find(id);
    if (file != changes.data_files.end()) {
      plan_file_deletes(table, changes, file->second, deletes, plan);
    }
  }
  return plan;
}

}  // namespace lake::materialize
