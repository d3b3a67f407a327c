#include "lakeproxy/from_iceberg/write/snapshot_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/from_iceberg/rows/name_map_rows.h"
#include "lakeproxy/from_iceberg/rows/table_stats.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

base::Error not_live(const std::string& location) {
  return base::fail(base::ErrorKind::kConflict, "not a live data file of the table: " + location);
}

bool returns_inlined(const RowDeletes& deletes) {
  return std::ranges::any_of(deletes.groups,
                             [](const InlinedDeletes& group) { return !group.returned.empty(); });
}

// Which row of the lake stands for a file, after the snapshots so far.
class RowIds {
 public:
  void add(std::vector<std::int64_t> of_snapshot) { added_.push_back(std::move(of_snapshot)); }
  void move(std::int64_t from, std::int64_t to) { moved_[from] = to; }
  [[nodiscard]] std::int64_t now(std::int64_t id) const {
    for (auto to = moved_.find(id); to != moved_.end(); to = moved_.find(id)) id = to->second;
    return id;
  }
  [[nodiscard]] std::int64_t now(const FileDeletes& deletes) const {
    if (const auto* id = std::get_if<model::DataFileId>(&deletes.file)) return now(id->value);
    const auto& added = std::get<NewFile>(deletes.file);
    return now(added_.at(added.snapshot).at(added.index));
  }

 private:
  std::vector<std::vector<std::int64_t>> added_;  ///< For each snapshot, in order of its files.
  std::map<std::int64_t, std::int64_t> moved_;    ///< Rows that ended, to the copy that began.
};

// One snapshot's rows on their way into its delta.
class SnapshotRows {
 public:
  SnapshotRows(const SchemaSql& sql, SnapshotAdditions& additions, RowIds& row_ids,
               LakeDelta& delta, std::vector<Query>& sidecars)
      : sql_(sql),
        additions_(additions),
        row_ids_(row_ids),
        place_(additions.place),
        delta_(delta),
        sidecars_(sidecars) {}

  base::Status remove(const std::vector<std::string>& locations);
  base::Status add(const std::vector<AddedFile>& files);
  std::vector<std::optional<std::int64_t>> add_names(const std::vector<AddedFile>& files);
  void delete_rows(const RowDeletes& deletes);
  void name(const AddedSnapshot& snapshot);

 private:
  void end_inlined(const materialize::InlinedPlace& group, base::pg::Param positions);
  void end_files(const std::vector<std::int64_t>& ids);
  std::int64_t next_file_id() {
    delta_.file_ids_used += 1;
    return place_.first_file_id++;
  }
  void note(std::string_view change) {
    std::string entry = fmt::format("{}:{}", change, place_.table_id);
    auto noted = std::ranges::find(delta_.changes, entry);
    if (noted == delta_.changes.end()) delta_.changes.push_back(std::move(entry));
  }

  const SchemaSql& sql_;
  SnapshotAdditions& additions_;
  RowIds& row_ids_;
  FilePlace& place_;
  LakeDelta& delta_;
  std::vector<Query>& sidecars_;
};

void SnapshotRows::end_inlined(const materialize::InlinedPlace& group, base::pg::Param positions) {
  delta_.queries.push_back({sql_("SELECT @lakeproxy_end_inlined_rows($1, $2, $3, $4, $5)"),
                            {param(place_.table_id), param(group.schema_version),
                             param(group.begin.value), std::move(positions), param(place_.begin)}});
}

void SnapshotRows::end_files(const std::vector<std::int64_t>& ids) {
  delta_.queries.push_back(end_file_rows(sql_, place_.begin, ids));
  note("deleted_from_table");
}

base::Status SnapshotRows::remove(const std::vector<std::string>& locations) {
  std::vector<std::int64_t> ids;
  bool inlined = false;
  for (const std::string& location : locations) {
    if (auto group = materialize::parse_inlined_location(*additions_.before, location)) {
      end_inlined(*group, std::nullopt);
      inlined = true;
      continue;
    }
    auto id = additions_.live.take(location);
    if (!id) return not_live(location);
    ids.push_back(row_ids_.now(*id));
  }
  if (!ids.empty()) end_files(ids);
  if (inlined) note("inlined_delete");
  return {};
}

// One mapping for all files that call their columns alike; its id for each file.
std::vector<std::optional<std::int64_t>> SnapshotRows::add_names(
    const std::vector<AddedFile>& files) {
  std::vector<std::optional<std::int64_t>> ids(files.size());
  std::vector<std::pair<const model::LakeNameMap*, std::int64_t>> made;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].names) continue;
    auto same =
        std::ranges::find_if(made, [&](const auto& one) { return *one.first == *files[i].names; });
    if (same == made.end()) {
      const NameMapPlace place{next_file_id(), place_.table_id};
      for (Query& query :
           name_map_rows(sql_, place, *files[i].names, additions_.after->current_schema())) {
        delta_.queries.push_back(std::move(query));
      }
      same = made.insert(made.end(), {&*files[i].names, place.mapping_id});
    }
    ids[i] = same->second;
  }
  return ids;
}

base::Status SnapshotRows::add(const std::vector<AddedFile>& added) {
  if (added.empty()) {
    row_ids_.add({});
    return {};
  }
  const auto mappings = add_names(added);
  ASSIGN_OR_RETURN(auto files, lake_files(place_, *additions_.before, *additions_.after, added));
  for (std::size_t i = 0; i < files.size(); ++i) files[i].mapping_id = mappings[i];
  ASSIGN_OR_RETURN(FileRows rows, file_rows(sql_, place_, *additions_.after, files));
  for (Query& query : rows.lake) delta_.queries.push_back(std::move(query));
  for (Query& query : table_stats_queries(sql_, place_, additions_.after->current_schema(), rows)) {
    delta_.queries.push_back(std::move(query));
  }
  for (Query& query : rows.sidecars) sidecars_.push_back(std::move(query));
  note("inserted_into_table");
  std::vector<std::int64_t> ids;
  for (const auto& file : files) {
    additions_.live.add(file.path, file.id.value);
    ids.push_back(file.id.value);
  }
  row_ids_.add(std::move(ids));
  const auto count = static_cast<std::int64_t>(files.size());
  delta_.file_ids_used += count;
  delta_.added_files = std::move(files);
  place_.first_file_id += count;
  place_.first_row_id += rows.record_count;
  return {};
}

void SnapshotRows::delete_rows(const RowDeletes& deletes) {
  std::vector<std::int64_t> changed, restored, copies;
  std::vector<NewDeleteRow> rows;
  for (const FileDeletes& file : deletes.files) {
    std::int64_t id = row_ids_.now(file);
    if (file.restores == Restores::kRows) {
      restored.push_back(id);
      copies.push_back(next_file_id());
      row_ids_.move(id, copies.back());
      id = copies.back();
    } else {
      changed.push_back(id);
    }
    if (file.object) rows.push_back({next_file_id(), id, *file.object});
  }
  if (!restored.empty()) {
    end_files(restored);
    delta_.queries.push_back(copy_file_rows(sql_, place_.begin, restored, copies));
    note("inserted_into_table");
  }
  if (!changed.empty()) {
    delta_.queries.push_back(end_delete_rows(sql_, place_.begin, changed));
    note("deleted_from_table");
  }
  const DeletePlace place{place_.table_id, place_.begin, additions_.after->location + "/"};
  if (!rows.empty()) delta_.queries.push_back(insert_delete_rows(sql_, place, rows));
  for (const InlinedDeletes& inlined : deletes.groups) {
    if (!inlined.positions.empty()) {
      end_inlined(inlined.group, array_param(inlined.positions));
      note("inlined_delete");
    }
    if (!inlined.returned.empty()) {
      delta_.queries.push_back(return_inlined_rows(sql_, place_.table_id, place_.begin, inlined));
      note("inlined_insert");
    }
  }
  if (restored.empty() && !returns_inlined(deletes)) return;
  for (Query& query : stats_of_returned(sql_, place_, additions_.after->current_schema())) {
    delta_.queries.push_back(std::move(query));
  }
}

void SnapshotRows::name(const AddedSnapshot& snapshot) {
  // A snapshot of no files is one, too, and DuckLake wants to know the table.
  if (delta_.changes.empty()) note("inserted_into_table");
  delta_.extra_info = snapshot.summary_json;
  sidecars_.push_back(
      {sql_("INSERT INTO @lakeproxy_snapshot_alias (table_id, client_snapshot_id, "
            "snapshot_id) VALUES ($1, $2, $3)"),
       {param(place_.table_id), param(snapshot.client_snapshot_id.value), param(place_.begin)}});
}

}  // namespace

bool add_to_another_spec(const std::vector<AddedSnapshot>& snapshots, std::int32_t spec_id) {
  return std::ranges::any_of(snapshots, [&](const AddedSnapshot& snapshot) {
    return std::ranges::any_of(snapshot.files,
                               [&](const AddedFile& file) { return file.spec_id != spec_id; });
  });
}

base::Status add_snapshots(const SchemaSql& sql, SnapshotAdditions additions, LakeDelta first,
                           CommitPlan& plan) {
  LakeDelta delta = std::move(first);
  RowIds row_ids;
  for (const AddedSnapshot& snapshot : *additions.snapshots) {
    SnapshotRows rows(sql, additions, row_ids, delta, plan.sidecar_queries);
    RETURN_IF_ERROR(rows.remove(snapshot.removed));
    RETURN_IF_ERROR(rows.add(snapshot.files));
    rows.delete_rows(snapshot.deletes);
    rows.name(snapshot);
    additions.place.begin += 1;
    plan.deltas.push_back(std::exchange(delta, {}));
  }
  if (additions.snapshots->empty() && !delta.changes.empty()) {
    plan.deltas.push_back(std::move(delta));
  }
  return {};
}

}  // namespace lake::ducklake
