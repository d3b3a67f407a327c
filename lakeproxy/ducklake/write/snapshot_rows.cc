#include "lakeproxy/ducklake/write/snapshot_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lakeproxy/ducklake/rows/table_stats.h"
#include "lakeproxy/materialize/snapshot/export_plan.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

base::Error not_live(const std::string& location) {
  return base::fail(base::ErrorKind::kConflict, "not a live data file of the table: " + location);
}

// One snapshot's rows on their way into its delta.
class SnapshotRows {
 public:
  SnapshotRows(const SchemaSql& sql, SnapshotAdditions& additions, LakeDelta& delta,
               std::vector<Query>& sidecars)
      : sql_(sql),
        additions_(additions),
        place_(additions.place),
        delta_(delta),
        sidecars_(sidecars) {}

  base::Status remove(const std::vector<std::string>& locations);
  base::Status add(const std::vector<AddedFile>& files);
  base::Status delete_rows(const RowDeletes& deletes);
  void name(const AddedSnapshot& snapshot);

 private:
  void end_inlined(const materialize::InlinedPlace& group, base::pg::Param positions);
  void end_files(const std::vector<std::int64_t>& ids);
  base::Result<std::int64_t> row_of(const FileDeletes& deletes);
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
  for (Query& query : end_file_rows(sql_, place_.begin, ids)) {
    delta_.queries.push_back(std::move(query));
  }
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
    ids.push_back(*id);
  }
  if (!ids.empty()) end_files(ids);
  if (inlined) note("inlined_delete");
  return {};
}

base::Status SnapshotRows::add(const std::vector<AddedFile>& added) {
  if (added.empty()) return {};
  ASSIGN_OR_RETURN(auto files, lake_files(place_, *additions_.before, *additions_.after, added));
  ASSIGN_OR_RETURN(FileRows rows, file_rows(sql_, place_, *additions_.after, files));
  for (Query& query : rows.lake) delta_.queries.push_back(std::move(query));
  for (Query& query :
       table_stats_queries(sql_, place_.table_id, additions_.after->current_schema(), rows)) {
    delta_.queries.push_back(std::move(query));
  }
  for (Query& query : rows.sidecars) sidecars_.push_back(std::move(query));
  note("inserted_into_table");
  for (const auto& file : files) additions_.live.add(file.path, file.id.value);
  const auto count = static_cast<std::int64_t>(files.size());
  delta_.file_ids_used += count;
  delta_.added_files = std::move(files);
  place_.first_file_id += count;
  place_.first_row_id += rows.record_count;
  return {};
}

base::Result<std::int64_t> SnapshotRows::row_of(const FileDeletes& deletes) {
  if (deletes.id) return deletes.id->value;
  auto id = additions_.live.take(deletes.data_file);
  if (!id) return not_live(deletes.data_file);
  return *id;
}

base::Status SnapshotRows::delete_rows(const RowDeletes& deletes) {
  std::vector<std::int64_t> changed, restored, copies;
  std::vector<NewDeleteRow> rows;
  for (const FileDeletes& file : deletes.files) {
    ASSIGN_OR_RETURN(std::int64_t id, row_of(file));
    if (file.restores == Restores::kRows) {
      restored.push_back(id);
      id = next_file_id();
      copies.push_back(id);
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
    end_inlined(inlined.group, array_param(inlined.positions));
  }
  if (!deletes.groups.empty()) note("inlined_delete");
  return {};
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

base::Status add_snapshots(const SchemaSql& sql, SnapshotAdditions additions, LakeDelta first,
                           CommitPlan& plan) {
  LakeDelta delta = std::move(first);
  for (const AddedSnapshot& snapshot : *additions.snapshots) {
    SnapshotRows rows(sql, additions, delta, plan.sidecar_queries);
    RETURN_IF_ERROR(rows.remove(snapshot.removed));
    RETURN_IF_ERROR(rows.add(snapshot.files));
    RETURN_IF_ERROR(rows.delete_rows(snapshot.deletes));
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
