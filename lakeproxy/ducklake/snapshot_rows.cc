#include "lakeproxy/ducklake/snapshot_rows.h"

#include <fmt/format.h>

#include <utility>

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;

base::Result<std::int64_t> add_rows(const SchemaSql& sql, const SnapshotAdditions& additions,
                                    const FilePlace& place, const AddedSnapshot& snapshot,
                                    LakeDelta& delta, std::vector<Query>& sidecars) {
  ASSIGN_OR_RETURN(auto files,
                   lake_files(place, *additions.before, *additions.after, snapshot.files));
  ASSIGN_OR_RETURN(FileRows rows, file_rows(sql, place, *additions.after, files));
  for (Query& query : rows.lake) delta.queries.push_back(std::move(query));
  for (Query& query :
       table_stats_queries(sql, place.table_id, additions.after->current_schema(), rows)) {
    delta.queries.push_back(std::move(query));
  }
  delta.changes.push_back(fmt::format("inserted_into_table:{}", place.table_id));
  delta.file_ids_used += static_cast<std::int64_t>(snapshot.files.size());
  delta.extra_info = snapshot.summary_json;
  delta.added_files = std::move(files);
  for (Query& query : rows.sidecars) sidecars.push_back(std::move(query));
  sidecars.push_back(
      {sql("INSERT INTO @lakeproxy_snapshot_alias (table_id, client_snapshot_id, "
           "snapshot_id) VALUES ($1, $2, $3)"),
       {param(place.table_id), param(snapshot.client_snapshot_id.value), param(place.begin)}});
  return rows.record_count;
}

}  // namespace

base::Status add_snapshots(const SchemaSql& sql, const SnapshotAdditions& additions,
                           LakeDelta first, CommitPlan& plan) {
  FilePlace place = additions.place;
  LakeDelta delta = std::move(first);
  for (const AddedSnapshot& snapshot : *additions.snapshots) {
    ASSIGN_OR_RETURN(std::int64_t rows,
                     add_rows(sql, additions, place, snapshot, delta, plan.sidecar_queries));
    place.begin += 1;
    place.first_file_id += static_cast<std::int64_t>(snapshot.files.size());
    place.first_row_id += rows;
    plan.deltas.push_back(std::exchange(delta, {}));
  }
  if (additions.snapshots->empty() && !delta.changes.empty()) {
    plan.deltas.push_back(std::move(delta));
  }
  return {};
}

}  // namespace lake::ducklake
