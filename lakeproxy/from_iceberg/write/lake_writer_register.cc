#include <fmt/format.h>

#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/ducklake/lake/relations.h"
#include "lakeproxy/from_iceberg/rows/column_rows.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/table_life.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using PreconditionRows = std::vector<RowsPtr>;

enum Precondition : std::size_t { kSchema, kRelation, kDropped, kInlined, kColumns, kPurge };

std::vector<Query> restore_preconditions(const SchemaSql& sql, const RestoredTable& restored) {
  std::vector<base::pg::Param> table{param(restored.table.value)};
  return {find_schema_path(sql, restored.identifier.name_space),
          find_relation(sql, restored.identifier),
          {sql("SELECT t.end_snapshot, EXISTS (SELECT 1 FROM @ducklake_snapshot s WHERE "
               "s.snapshot_id = t.end_snapshot - 1) FROM @ducklake_table t WHERE t.table_id = $1 "
               "ORDER BY t.begin_snapshot DESC LIMIT 1"),
           table},
          {sql("SELECT 1 FROM @ducklake_inlined_data_tables WHERE table_id = $1 LIMIT 1"), table},
          {sql(fmt::format("SELECT {} FROM @ducklake_column WHERE table_id = $1 AND end_snapshot = "
                           "(SELECT max(end_snapshot) FROM @ducklake_table WHERE table_id = $1) "
                           "ORDER BY column_order",
                           kColumnParts)),
           table},
          {sql("SELECT 1 FROM @lakeproxy_purge WHERE table_id = $1"), table}};
}

// The snapshot in which the table was dropped.
base::Result<std::int64_t> read_dropped(const RestoredTable& restored, const base::pg::Rows& rows) {
  if (rows.empty()) return no_such_table(restored.identifier.display());
  auto dropped = rows.opt_int64(0, 0);
  if (!dropped) {
    return base::fail(ErrorKind::kAlreadyExists,
                      "metadata-location: belongs to a table that is there");
  }
  if (!rows.boolean(0, 1)) {
    return base::fail(ErrorKind::kConflict,
                      "metadata-location: the lake has expired what the table held");
  }
  return *dropped;
}

LakeDelta restore_delta(const SchemaSql& sql, const std::string& data_path,
                        const RestoredTable& restored, std::int64_t dropped, const LakeHead& head,
                        const PreconditionRows& preconditions) {
  const std::int64_t id = restored.table.value;
  const std::int64_t begin = head.snapshot.value + 1;
  LakeDelta delta;
  delta.queries.push_back(insert_table_row(
      sql, data_path,
      {id, begin, restored.identifier.name, preconditions[kSchema]->int64(0, 0), dropped}));
  for (Query& query : undo_drop(sql, id, dropped, begin)) delta.queries.push_back(std::move(query));
  if (!preconditions[kInlined]->empty()) {
    auto columns = read_columns(*preconditions[kColumns]);
    for (Query& query : make_inlined_table(sql, head, id, columns)) {
      delta.queries.push_back(std::move(query));
    }
  }
  delta.changes.push_back("created_table:" +
                          change_word(*preconditions[kSchema], restored.identifier.name));
  delta.altered_tables.push_back(id);
  return delta;
}

base::Result<CommitPlan> plan_restore(const SchemaSql& sql, const std::string& data_path,
                                      const RestoredTable& restored, LakeHead head,
                                      const PreconditionRows& preconditions) {
  if (preconditions[kSchema]->empty()) return no_such_namespace(restored.identifier.name_space);
  if (!preconditions[kPurge]->empty()) {
    return base::fail(ErrorKind::kConflict,
                      "metadata-location: the table was dropped together with its files");
  }
  CommitPlan plan;
  RETURN_IF_ERROR(end_existing(sql, restored.identifier, restored.existing,
                               *preconditions[kRelation], head, plan));
  ASSIGN_OR_RETURN(auto dropped, read_dropped(restored, *preconditions[kDropped]));
  plan.deltas.push_back(restore_delta(sql, data_path, restored, dropped, head, preconditions));
  plan.sidecar_queries.push_back(
      {sql("UPDATE @lakeproxy_table SET revision = $2 WHERE table_id = $1"),
       {param(restored.table.value), param(head.revision + 1)}});
  plan.sidecar_queries.push_back({sql("DELETE FROM @lakeproxy_unregistered WHERE table_id = $1"),
                                  {param(restored.table.value)}});
  return plan;
}

// A row when the table is no more as it was read.
Query find_changes(const SchemaSql& sql, const model::LakeTable& before) {
  return {sql("SELECT 1 FROM @lakeproxy_row_changes($1, $2, 9223372036854775807) "
              "UNION ALL SELECT 1 FROM @ducklake_column WHERE table_id = $1 AND (begin_snapshot > "
              "$2 OR end_snapshot > $2) "
              "UNION ALL SELECT 1 FROM @ducklake_partition_info WHERE table_id = $1 AND "
              "(begin_snapshot > $2 OR end_snapshot > $2) "
              "UNION ALL SELECT 1 FROM @lakeproxy_table WHERE table_id = $1 AND revision > $3 "
              "UNION ALL SELECT 1 FROM @lakeproxy_state WHERE snapshots_removed_revision > $3 "
              "UNION ALL SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM @ducklake_snapshot WHERE "
              "snapshot_id = $2 AND floor(extract(epoch FROM snapshot_time) * 1000)::bigint = $4) "
              "LIMIT 1"),
          {param(before.table_id.value), param(before.version.snapshot.value),
           param(before.version.revision), param(before.version.snapshot_ms)}};
}

base::Result<CommitPlan> plan_unregister(const SchemaSql& sql,
                                         const model::TableIdentifier& identifier,
                                         const model::LakeTable& before, const LakeHead& head,
                                         const PreconditionRows& preconditions) {
  auto found = read_relation(*preconditions[0]);
  if (!found || found->kind != RelationKind::kTable) return no_such_table(identifier.display());
  if (found->id != before.table_id.value || !preconditions[1]->empty()) {
    return base::fail(ErrorKind::kConflict, "The table changed while it was unregistered.")
        .with_reason(kStale);
  }
  CommitPlan plan;
  plan.deltas.push_back(drop_table_delta(sql, found->id, head.snapshot.value + 1));
  plan.sidecar_queries.push_back(
      {sql("INSERT INTO @lakeproxy_unregistered (table_id, folder) VALUES ($1, "
           "rtrim(@lakeproxy_canonical($2), '/') || '/') ON CONFLICT (table_id) DO UPDATE SET "
           "folder = excluded.folder, unregistered_at = excluded.unregistered_at"),
       {param(found->id), param(before.metadata.location)}});
  return plan;
}

}  // namespace

base::Task<base::Result<std::optional<Origin>>> LakeWriter::find_origin(
    base::RequestContext context, std::string metadata_location) {
  Query query{sql_("SELECT l.table_id, NOT EXISTS (SELECT 1 FROM @lakeproxy_metadata_log n WHERE "
                   "n.table_id = l.table_id AND n.sequence > l.sequence), EXISTS (SELECT 1 FROM "
                   "@ducklake_table t WHERE t.table_id = l.table_id AND t.end_snapshot IS NULL), "
                   "EXISTS (SELECT 1 FROM @lakeproxy_unregistered u WHERE u.table_id = "
                   "l.table_id) AND NOT EXISTS (SELECT 1 FROM @ducklake_snapshot s WHERE "
                   "s.snapshot_id = (SELECT max(t.end_snapshot) FROM @ducklake_table t WHERE "
                   "t.table_id = l.table_id) - 1), "
                   "(SELECT s.schema_name FROM @ducklake_table t JOIN @ducklake_schema s ON "
                   "s.schema_id = t.schema_id WHERE t.table_id = l.table_id "
                   "ORDER BY t.begin_snapshot DESC, s.begin_snapshot DESC LIMIT 1) "
                   "FROM @lakeproxy_metadata_log l WHERE @lakeproxy_canonical(l.metadata_file) = "
                   "@lakeproxy_canonical($1) "
                   "ORDER BY l.sequence DESC LIMIT 1"),
              {param(metadata_location)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  if (rows->empty()) co_return std::nullopt;
  Origin origin{model::TableId(rows->int64(0, 0)), rows->boolean(0, 1), rows->boolean(0, 2),
                rows->boolean(0, 1) && rows->boolean(0, 3)};
  if (auto schema = rows->opt_text(0, 4)) origin.name_space = namespace_of_schema(*schema);
  co_return origin;
}

base::Task<base::Result<bool>> LakeWriter::is_location_taken(base::RequestContext context,
                                                             std::string location,
                                                             std::optional<model::TableId> but) {
  Query query{sql_("SELECT @lakeproxy_folder_overlaps(rtrim($1, '/') || '/', $2)"),
              {param(location), param(but ? but->value : -1)}};
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, std::move(query)));
  co_return rows->boolean(0, 0);
}

base::Task<base::Result<void>> LakeWriter::restore_table(base::RequestContext context,
                                                         RestoredTable restored) {
  std::vector<Query> preconditions = restore_preconditions(sql_, restored);
  Planner planner = [sql = sql_, data_path = options_.data_path, restored](
                        const LakeHead& head, const PreconditionRows& rows) {
    return plan_restore(sql, data_path, restored, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> LakeWriter::unregister_table(
    base::RequestContext context, model::TableIdentifier identifier,
    std::shared_ptr<const model::LakeTable> before, std::string answer) {
  std::vector<Query> preconditions{find_relation(sql_, identifier), find_changes(sql_, *before)};
  Planner planner = [sql = sql_, identifier, before, answer](
                        const LakeHead& head,
                        const PreconditionRows& rows) -> base::Result<CommitPlan> {
    ASSIGN_OR_RETURN(auto plan, plan_unregister(sql, identifier, *before, head, rows));
    plan.answer = answer;
    return plan;
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

}  // namespace lake::ducklake
