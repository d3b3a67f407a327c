#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/to_iceberg/snapshot/export_plan_parts.h"
#include "lakeproxy/to_iceberg/snapshot/shown_snapshots.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

struct FileDeletes {
  std::vector<const model::LakeDeleteFile*> files;
  /// Of each of `files` when its positions were deleted, or null.
  std::vector<std::shared_ptr<const model::RowEnds>> ends;
  std::vector<const model::LakeInlinedDelete*> inlined;
};

std::map<model::DataFileId, FileDeletes> deletes_by_file(const model::LakeChanges& changes) {
  std::map<model::DataFileId, FileDeletes> by_file;
  for (const auto& file : changes.delete_files) {
    auto ends = changes.row_ends.find(file.id);
    by_file[file.data_file_id].files.push_back(&file);
    by_file[file.data_file_id].ends.push_back(ends == changes.row_ends.end() ? nullptr
                                                                             : ends->second);
  }
  for (const auto& row : changes.inlined_deletes) {
    by_file[row.data_file_id].inlined.push_back(&row);
  }
  return by_file;
}

// A delete file may hold deletes that are older than its data file: those of the
// rows that came back as this file.
std::set<SnapshotId> delete_snapshots(const model::LakeChanges& changes,
                                      const model::LakeDataFile& file, const FileDeletes& deletes) {
  std::set<SnapshotId> snapshots;
  auto add = [&](SnapshotId deleted) {
    const SnapshotId begin = std::max(deleted, file.begin);
    if (shown_before(changes, begin)) return;
    if (auto at = shown_at(changes, begin)) snapshots.insert(*at);
  };
  for (std::size_t i = 0; i < deletes.files.size(); ++i) {
    const model::LakeDeleteFile& source = *deletes.files[i];
    add(source.begin);
    if (!deletes.ends[i]) {
      // DuckDB writes it anew when more rows go; it is seen whole from then on.
      add(source.partial_max.value_or(source.begin));
      continue;
    }
    for (const model::RowEnd& row : *deletes.ends[i]) add(row.end);
  }
  for (const auto* row : deletes.inlined) add(row->begin);
  return snapshots;
}

// What the lake's own delete file deletes as of `at`.
void add_source(const FileDeletes& deletes, SnapshotId at, DeleteGroup& group) {
  for (std::size_t i = 0; i < deletes.files.size(); ++i) {
    const model::LakeDeleteFile& file = *deletes.files[i];
    if (file.begin > at || (file.end && *file.end <= at)) continue;
    if (!deletes.ends[i]) {
      group.source = file;
      continue;
    }
    for (const model::RowEnd& row : *deletes.ends[i]) {
      if (row.end <= at) group.positions.push_back(row.position);
    }
  }
}

void plan_file_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                       const model::LakeDataFile& file, const FileDeletes& deletes,
                       SnapshotId first, ExportPlan& plan) {
  for (SnapshotId at : delete_snapshots(changes, file, deletes)) {
    if (file.end && *file.end <= at) continue;
    DeleteGroup group{delete_location(table, fmt::to_string(file.id.value), at),
                      file.path,
                      at,
                      std::nullopt,
                      {},
                      file.id,
                      shown_earlier(changes, std::max(first, file.begin), at)};
    add_source(deletes, at, group);
    for (const auto* row : deletes.inlined) {
      if (row->begin <= at) group.positions.push_back(row->row_id);
    }
    if (group.source || !group.positions.empty()) plan.deletes.push_back(std::move(group));
  }
}

}  // namespace

std::map<model::DataFileId, SnapshotId> first_deletes(const model::LakeChanges& changes) {
  std::map<model::DataFileId, SnapshotId> first;
  auto add = [&](model::DataFileId file, SnapshotId begin) {
    auto [held, is_new] = first.emplace(file, begin);
    if (!is_new) held->second = std::min(held->second, begin);
  };
  for (const auto& file : changes.delete_files) add(file.data_file_id, file.begin);
  for (const auto& row : changes.inlined_deletes) add(row.data_file_id, row.begin);
  return first;
}

void plan_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan) {
  const auto first = first_deletes(changes);
  for (const auto& [id, deletes] : deletes_by_file(changes)) {
    auto file = changes.data_files.find(id);
    if (file != changes.data_files.end()) {
      plan_file_deletes(table, changes, file->second, deletes, first.at(id), plan);
    }
  }
}

}  // namespace lake::materialize
