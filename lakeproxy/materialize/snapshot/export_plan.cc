#include "lakeproxy/materialize/snapshot/export_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/core/text.h"
#include "lakeproxy/materialize/manifest/format_version.h"
#include "lakeproxy/materialize/snapshot/partial_files.h"

namespace lake::materialize {
namespace {

using model::SnapshotId;

// As DuckDB names the column in its files; Iceberg has reserved its field id.
// Source: DuckLake specification 1.0, "Row Lineage"; Iceberg table
// specification, "Reserved Field IDs".
constexpr std::string_view kRowIdColumn = "_ducklake_internal_row_id";
constexpr model::FieldId kRowIdField = 2147483540;

// Ends the name of a file whose bytes follow from it: the epoch, and what the
// format version makes different. Not ".parquet": DuckLake's own clean-up takes
// such files for orphans.
std::string edition(const model::LakeTable& table) {
  if (table.metadata.format_version == 2) return fmt::to_string(table.epoch);
  return fmt::format("{}-v{}", table.epoch, table.metadata.format_version);
}

std::string delete_location(const model::LakeTable& table, std::string_view data_file,
                            SnapshotId snapshot) {
  return fmt::format("{}/metadata/deletes-{}-{}-{}", table.metadata.location, data_file,
                     snapshot.value, edition(table));
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

// One group of rows, and when the first and the last of them ended.
struct Rows {
  std::string location;
  std::string name;
  std::vector<model::LakeInlinedRow> rows;
  std::optional<SnapshotId> first_end;
  std::optional<SnapshotId> last_end;  ///< Nothing while a row is left.
};

Rows make_rows(const model::LakeTable& table, std::int64_t schema_version, SnapshotId begin,
               std::vector<model::LakeInlinedRow> rows) {
  Rows group{inlined_location(table, schema_version, begin),
             fmt::format("i{}.{}", schema_version, begin.value), std::move(rows), std::nullopt,
             std::nullopt};
  bool all = true;
  for (const auto& row : group.rows) {
    all = all && row.end;
    if (!row.end) continue;
    group.first_end = std::min(group.first_end.value_or(*row.end), *row.end);
    group.last_end = std::max(group.last_end.value_or(*row.end), *row.end);
  }
  if (!all) group.last_end.reset();
  return group;
}

// One delete file for each snapshot at which more of the group's rows end,
// until all have: then the data file itself goes.
void plan_inlined_deletes(const model::LakeTable& table, const model::LakeChanges& changes,
                          const Rows& group, ExportPlan& plan) {
  std::set<SnapshotId> ends;
  for (const auto& row : group.rows) {
    if (!row.end || shown_before(changes, *row.end)) continue;
    if (auto at = shown_at(changes, *row.end)) ends.insert(*at);
  }
  for (SnapshotId at : ends) {
    DeleteGroup made{delete_location(table, group.name, at), group.location, at, std::nullopt, {}};
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const auto& end = group.rows[i].end;
      if (end && *end <= at) made.positions.push_back(static_cast<std::int64_t>(i));
    }
    made.replaces = shown_earlier(changes, *group.first_end, at);
    if (made.positions.size() < group.rows.size()) plan.deletes.push_back(std::move(made));
  }
}

void add_row_ids(InlinedGroup& group) {
  group.columns.push_back(model::Field{.id = kRowIdField,
                                       .name = std::string(kRowIdColumn),
                                       .type = model::Type(model::TypeKind::kLong)});
  for (auto& row : group.rows) row.values.emplace_back(std::to_string(row.row_id));
}

void plan_group(const model::LakeTable& table, const model::LakeChanges& changes,
                const model::LakeInlinedTable& inlined, SnapshotId begin, Rows group,
                ExportPlan& plan) {
  bool begins_here = !shown_before(changes, begin);
  auto shown = begins_here ? shown_at(changes, begin) : std::nullopt;
  if (begins_here && !shown) return;
  std::optional<SnapshotId> gone;
  if (group.last_end && !shown_before(changes, *group.last_end)) {
    gone = shown_at(changes, *group.last_end);
  }
  // Came and went between two snapshots that are shown.
  if (begins_here && gone == shown) return;
  plan_inlined_deletes(table, changes, group, plan);
  if (gone) {
    plan.gone.push_back({group.location, *gone, shown_earlier(changes, *group.first_end, *gone)});
  }
  if (begins_here) {
    InlinedGroup made{std::move(group.location), begin, inlined.columns, std::move(group.rows)};
    if (format_version(table.metadata.format_version).lineage == RowLineage::kKept) {
      add_row_ids(made);
    }
    plan.inlined.push_back(std::move(made));
  }
}

void plan_inlined(const model::LakeTable& table, const model::LakeChanges& changes,
                  ExportPlan& plan) {
  for (const auto& inlined : changes.inlined) {
    for (auto& [begin, rows] : group_rows(inlined)) {
      plan_group(table, changes, inlined, begin,
                 make_rows(table, inlined.schema_version, begin, std::move(rows)), plan);
    }
  }
}

struct FileDeletes {
  std::vector<const model::LakeDeleteFile*> files;
  /// Of each of `files` when its positions were deleted, or null.
  std::vector<std::shared_ptr<const model::RowEnds>> ends;
  std::vector<const model::LakeInlinedDelete*> inlined;
  std::shared_ptr<const model::RowBegins> begins;
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
  for (const auto& [id, file] : changes.data_files) {
    if (!shows_a_part(changes, file)) continue;
    auto begins = changes.row_begins.find(id);
    by_file[id].begins = begins == changes.row_begins.end() ? nullptr : begins->second;
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
  for (const auto* source : deletes.files) add(source->begin);
  for (const auto& ends : deletes.ends) {
    if (!ends) continue;
    for (const model::RowEnd& row : *ends) add(row.end);
  }
  for (const auto* row : deletes.inlined) add(row->begin);
  return snapshots;
}

// Snapshots at which the file shows more of its rows than before.
std::set<SnapshotId> growth_snapshots(const model::LakeChanges& changes,
                                      const model::LakeDataFile& file,
                                      const model::RowBegins* begins) {
  std::set<SnapshotId> snapshots;
  auto add = [&](SnapshotId begin) {
    if (shown_before(changes, begin)) return;
    if (auto at = shown_at(changes, begin)) snapshots.insert(*at);
  };
  if (!shows_a_part(changes, file)) return snapshots;
  add(file.begin);
  add(whole_from(file));
  if (begins == nullptr) return snapshots;
  for (const auto& [begin, rows] : begins->rows_of_snapshots()) add(begin);
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
  const std::set<SnapshotId> growth = growth_snapshots(changes, file, deletes.begins.get());
  std::set<SnapshotId> snapshots = delete_snapshots(changes, file, deletes);
  snapshots.insert(growth.begin(), growth.end());
  for (SnapshotId at : snapshots) {
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
    if (at < whole_from(file)) group.begins = deletes.begins;
    group.uncovers = group.replaces && growth.contains(at);
    if (group.source || group.begins || !group.positions.empty()) {
      plan.deletes.push_back(std::move(group));
    } else if (group.replaces) {
      plan.whole.push_back({file.path, at});
    }
  }
}

void join_into_puffin_files(const model::LakeTable& table, ExportPlan& plan) {
  for (DeleteGroup& group : plan.deletes) {
    group.puffin = puffin_beginning(table, group.snapshot);
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

bool shown_earlier(const model::LakeChanges& changes, SnapshotId snapshot, SnapshotId at) {
  if (shown_before(changes, snapshot)) return true;
  auto shown = shown_at(changes, snapshot);
  return shown && *shown < at;
}

std::map<model::DataFileId, SnapshotId> first_deletes(const model::LakeChanges& changes) {
  std::map<model::DataFileId, SnapshotId> first;
  auto add = [&](model::DataFileId file, SnapshotId begin) {
    auto [held, is_new] = first.emplace(file, begin);
    if (!is_new) held->second = std::min(held->second, begin);
  };
  for (const auto& file : changes.delete_files) add(file.data_file_id, file.begin);
  for (const auto& row : changes.inlined_deletes) add(row.data_file_id, row.begin);
  for (const auto& [id, file] : changes.data_files) {
    if (shows_a_part(changes, file)) add(id, file.begin);
  }
  return first;
}

std::string inlined_location(const model::LakeTable& table, std::int64_t schema_version,
                             SnapshotId begin) {
  return fmt::format("{}/metadata/inlined-{}-{}-{}", table.metadata.location, schema_version,
                     begin.value, edition(table));
}

std::string puffin_beginning(const model::LakeTable& table, SnapshotId snapshot) {
  return fmt::format("{}/metadata/deletes-{}-{}", table.metadata.location, snapshot.value,
                     edition(table));
}

std::optional<InlinedPlace> parse_inlined_location(const model::LakeTable& table,
                                                   std::string_view location) {
  const std::string prefix = table.metadata.location + "/metadata/inlined-";
  if (!location.starts_with(prefix)) return std::nullopt;
  std::string_view rest = location.substr(prefix.size());
  const std::size_t dash = rest.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  auto version = base::parse_int64(rest.substr(0, dash));
  auto begin = base::parse_int64(rest.substr(dash + 1, rest.find('-', dash + 1) - dash - 1));
  if (!version || !begin) return std::nullopt;
  InlinedPlace place{*version, SnapshotId(*begin)};
  // A spelling of our own, and of this epoch: or it is somebody else's file.
  if (inlined_location(table, place.schema_version, place.begin) != location) return std::nullopt;
  return place;
}

ExportPlan plan_exports(const model::LakeTable& table, const model::LakeChanges& changes) {
  ExportPlan plan;
  plan_inlined(table, changes, plan);
  auto first = first_deletes(changes);
  for (const auto& [id, deletes] : deletes_by_file(changes)) {
    auto file = changes.data_files.find(id);
    if (file != changes.data_files.end()) {
      plan_file_deletes(table, changes, file->second, deletes, first.at(id), plan);
    }
  }
  if (format_version(table.metadata.format_version).deletes == DeleteForm::kDeletionVectors) {
    join_into_puffin_files(table, plan);
  }
  return plan;
}

}  // namespace lake::materialize
