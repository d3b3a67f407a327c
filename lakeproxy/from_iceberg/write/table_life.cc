#include "lakeproxy/from_iceberg/write/table_life.h"

#include <fmt/format.h>

#include "lakeproxy/ducklake/lake/relations.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;

struct VersionedTable {
  const char* name;
  const char* id;
  /// Of rows that begin anew when the table comes back: DuckDB reads no snapshot that
  /// has them without their table.
  const char* key = nullptr;
};

// All but ducklake_table itself.
constexpr VersionedTable kOfTable[] = {
    {"@ducklake_partition_info", "table_id", "partition_id"},
    {"@ducklake_column", "table_id"},
    {"@ducklake_column_tag", "table_id"},
    {"@ducklake_data_file", "table_id"},
    {"@ducklake_delete_file", "table_id"},
    {"@ducklake_tag", "object_id"},
    {"@ducklake_sort_info", "table_id", "sort_id"},
};

Query end_rows(const SchemaSql& sql, const VersionedTable& of, std::int64_t table_id,
               std::int64_t at) {
  return {sql(fmt::format("UPDATE {} SET end_snapshot = $2 WHERE {} = $1 AND end_snapshot IS NULL",
                          of.name, of.id)),
          {param(table_id), param(at)}};
}

}  // namespace

LakeDelta drop_table_delta(const SchemaSql& sql, std::int64_t table_id, std::int64_t at) {
  LakeDelta delta;
  delta.queries.push_back(end_rows(sql, {"@ducklake_table", "table_id"}, table_id, at));
  for (const VersionedTable& of : kOfTable)
    delta.queries.push_back(end_rows(sql, of, table_id, at));
  delta.changes.push_back(fmt::format("dropped_table:{}", table_id));
  delta.schema_changes = true;
  return delta;
}

base::Status end_existing(const SchemaSql& sql, const model::TableIdentifier& identifier,
                          Existing existing, const base::pg::Rows& relation, LakeHead& head,
                          CommitPlan& plan) {
  const auto found = read_namesake(relation);
  if (!found) return {};
  const bool replaces = existing == Existing::kReplaced && found->kind == RelationKind::kTable &&
                        found->name == identifier.name;
  if (!replaces) return name_taken(identifier, RelationKind::kTable, *found);
  plan.deltas.push_back(drop_table_delta(sql, found->id, head.snapshot.value + 1));
  head = head_after(head, plan.deltas.back());
  return {};
}

std::vector<Query> undo_drop(const SchemaSql& sql, std::int64_t table_id, std::int64_t dropped,
                             std::int64_t begin) {
  std::vector<Query> queries;
  for (const VersionedTable& of : kOfTable) {
    if (of.key != nullptr) {
      queries.push_back({sql(fmt::format("INSERT INTO {0} ({1}, table_id, begin_snapshot, "
                                         "end_snapshot) SELECT {1}, table_id, $3, NULL FROM {0} "
                                         "WHERE table_id = $1 AND end_snapshot = $2",
                                         of.name, of.key)),
                         {param(table_id), param(dropped), param(begin)}});
      continue;
    }
    queries.push_back(
        {sql(fmt::format("UPDATE {} SET end_snapshot = NULL WHERE {} = $1 AND end_snapshot = $2",
                         of.name, of.id)),
         {param(table_id), param(dropped)}});
  }
  return queries;
}

Query insert_table_row(const SchemaSql& sql, const std::string& data_path,
                       const NextTableRow& row) {
  return {sql("INSERT INTO @ducklake_table (table_id, table_uuid, begin_snapshot, end_snapshot, "
              "schema_id, table_name, path, path_is_relative) SELECT t.table_id, t.table_uuid, $2, "
              "NULL, $4, $3, CASE WHEN m.moves THEN CASE WHEN s.path_is_relative THEN $5 ELSE '' "
              "END || "
              "s.path || t.path ELSE t.path END, t.path_is_relative AND NOT m.moves "
              "FROM @ducklake_table t JOIN @ducklake_schema s ON s.schema_id = t.schema_id, "
              "LATERAL (SELECT t.path_is_relative AND t.schema_id <> $4) AS m(moves) "
              "WHERE t.table_id = $1 AND t.end_snapshot IS NOT DISTINCT FROM $6"),
          {param(row.table_id), param(row.begin), param(row.name), param(row.schema_id),
           param(data_path), param(row.dropped)}};
}

}  // namespace lake::ducklake
