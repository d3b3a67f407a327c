#include <fmt/format.h>

#include "base/core/text.h"
#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/lake_path.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/ducklake/lake/path_names.h"
#include "lakeproxy/ducklake/lake/relations.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/from_iceberg/rows/column_rows.h"
#include "lakeproxy/from_iceberg/rows/spec_rows.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/snapshot_rows.h"
#include "lakeproxy/from_iceberg/write/table_life.h"
#include "lakeproxy/from_iceberg/write/table_steps.h"
#include "lakeproxy/mapping/comments.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using PreconditionRows = std::span<const RowsPtr>;

struct StoredPath {
  std::string path;
  bool relative;
};

StoredPath stored_path(const std::string& location, const std::string& data_path,
                       const base::pg::Rows& schema) {
  std::string base = std::string(schema.text(0, 1));
  if (schema.boolean(0, 2)) base.insert(0, data_path);
  std::string full = location + "/";
  if (full.starts_with(base) && full.size() > base.size()) return {full.substr(base.size()), true};
  return {full, false};
}

LakeDelta create_delta(const SchemaSql& sql, const NewTable& table, const StoredPath& path,
                       const std::vector<ColumnRow>& columns, const LakeHead& head,
                       const base::pg::Rows& schema) {
  std::int64_t id = head.next_catalog_id;
  std::int64_t begin = head.snapshot.value + 1;
  LakeDelta delta;
  delta.queries.push_back(
      {sql("INSERT INTO @ducklake_table (table_id, table_uuid, begin_snapshot, end_snapshot, "
           "schema_id, table_name, path, path_is_relative) VALUES ($1, $2::uuid, $3, NULL, $4, $5, "
           "$6, $7)"),
       {param(id), param(base::to_string(table.metadata.table_uuid)), param(begin),
        param(schema.int64(0, 0)), param(table.identifier.name), param(path.path),
        param(path.relative)}});
  delta.queries.push_back(insert_columns(sql, id, begin, columns));
  for (Query& row : comment_rows(sql, id, begin, nullptr, table.metadata)) {
    delta.queries.push_back(std::move(row));
  }
  delta.changes.push_back("created_table:" + change_word(schema, table.identifier.name));
  delta.altered_tables.push_back(id);
  delta.catalog_ids_used = 1;
  return delta;
}

// Rows that a table brings along have ids already; the next one follows these.
Query begin_row_ids(const SchemaSql& sql, std::int64_t table_id, std::int64_t next_row_id) {
  return {sql("INSERT INTO @ducklake_table_stats (table_id, record_count, next_row_id, "
              "file_size_bytes) VALUES ($1, 0, $2, 0)"),
          {param(table_id), param(next_row_id)}};
}

// A table that is registered may bring files of several specs.
OtherFiles other_files(const NewTable& table) {
  const bool any = add_to_another_spec(table.snapshots, table.metadata.default_spec_id);
  return any ? OtherFiles::kSome : OtherFiles::kNone;
}

base::Result<CommitPlan> plan_create(const SchemaSql& sql, const std::string& data_path,
                                     const NewTable& table, const std::vector<ColumnRow>& columns,
                                     LakeHead head, const PreconditionRows& preconditions) {
  if (preconditions[0]->empty()) return no_such_namespace(table.identifier.name_space);
  CommitPlan plan;
  RETURN_IF_ERROR(check_names(columns, nullptr, head.format));
  RETURN_IF_ERROR(
      end_existing(sql, table.identifier, table.existing, *preconditions[1], head, plan));
  StoredPath path = stored_path(table.metadata.location, data_path, *preconditions[0]);
  LakeDelta delta = create_delta(sql, table, path, columns, head, *preconditions[0]);
  SidecarPlace place{head.next_catalog_id, head.snapshot.value + 1, head.revision + 1};
  DefinitionRows definitions;
  add_definitions({}, table.metadata, place.begin, definitions);
  ASSIGN_OR_RETURN(
      auto partition,
      put_new_specs(sql, {place, head.next_catalog_id, other_files(table), {}, head.format},
                    table.metadata, {}, delta, definitions));
  plan.sidecar_queries.push_back(definitions.query(sql, place.table_id));
  plan.sidecar_queries.push_back(put_table(sql, place, table.metadata));
  // One that was unregistered is here again: its files are this table's.
  plan.sidecar_queries.push_back({sql("DELETE FROM @lakeproxy_unregistered WHERE folder = "
                                      "rtrim(@lakeproxy_canonical($1), '/') || '/'"),
                                  {param(table.metadata.location)}});
  plan.deltas.push_back(std::move(delta));
  // Its first rows come in the snapshots after the one that makes the table.
  model::LakeTable fresh;
  fresh.metadata = table.metadata;
  fresh = partition.applied_to(std::move(fresh));
  FilePlace files{place.table_id, place.begin + 1, head.next_file_id, table.metadata.next_row_id,
                  head.format};
  if (files.first_row_id > 0) {
    plan.deltas.back().queries.push_back(begin_row_ids(sql, files.table_id, files.first_row_id));
  }
  RETURN_IF_ERROR(
      add_snapshots(sql, {files, &fresh, &table.metadata, &table.snapshots, {}}, {}, plan));
  return plan;
}

// The table's whole path.
Query find_place(const SchemaSql& sql, const model::TableIdentifier& identifier) {
  return {sql("SELECT s.path, s.path_is_relative, t.path, t.path_is_relative FROM "
              "@ducklake_table t JOIN @ducklake_schema s ON s.schema_id = t.schema_id WHERE "
              "t.schema_id = (SELECT @lakeproxy_find_schema($1)) AND t.table_name = $2 AND "
              "t.end_snapshot IS NULL"),
          {param(flat_schema_name(identifier.name_space)), param(identifier.name)}};
}

std::string read_folder(const base::pg::Rows& rows, const std::string& data_path) {
  std::string schema = resolve_path(data_path, {rows.text(0, 0), rows.boolean(0, 1)});
  std::string path = resolve_path(schema, {rows.text(0, 2), rows.boolean(0, 3)});
  return without_trailing_slash(std::move(path)) + "/";
}

base::Result<CommitPlan> plan_drop(const SchemaSql& sql, const std::string& data_path,
                                   const model::TableIdentifier& identifier, Files files,
                                   const LakeHead& head, const PreconditionRows& preconditions) {
  const auto found = read_relation(*preconditions[0]);
  if (!found || found->kind != RelationKind::kTable) return no_such_table(identifier.display());
  CommitPlan plan;
  plan.deltas.push_back(drop_table_delta(sql, found->id, head.snapshot.value + 1));
  if (files == Files::kGo) {
    plan.sidecar_queries.push_back(
        insert_purge(sql, found->id, identifier, read_folder(*preconditions[1], data_path)));
  }
  return plan;
}

// DuckLake renames by ending the table's row and beginning one with the same id.
base::Result<CommitPlan> plan_rename(const SchemaSql& sql, const std::string& data_path,
                                     const model::TableIdentifier& from,
                                     const model::TableIdentifier& to, const LakeHead& head,
                                     const PreconditionRows& preconditions) {
  const auto source = read_relation(*preconditions[0]);
  if (!source || source->kind != RelationKind::kTable) return no_such_table(from.display());
  if (preconditions[1]->empty()) return no_such_namespace(to.name_space);
  std::int64_t id = source->id;
  if (auto found = read_namesake(*preconditions[2], id)) return cannot_rename(from, to, *found);
  std::int64_t begin = head.snapshot.value + 1;
  LakeDelta delta;
  delta.queries.push_back(insert_table_row(
      sql, data_path, {id, begin, to.name, preconditions[1]->int64(0, 0), std::nullopt}));
  delta.queries.push_back(
      {sql("UPDATE @ducklake_table SET end_snapshot = $2 WHERE table_id = $1 AND end_snapshot IS "
           "NULL AND begin_snapshot < $2"),
       {param(id), param(begin)}});
  if (!preconditions[3]->empty()) {
    auto inlined = make_inlined_table(sql, head, id, read_columns(*preconditions[4]));
    for (Query& query : inlined) delta.queries.push_back(std::move(query));
  }
  delta.changes.push_back("created_table:" + change_word(*preconditions[1], to.name));
  delta.altered_tables.push_back(id);
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  plan.sidecar_queries.push_back({sql("UPDATE @lakeproxy_table SET revision = $2 WHERE table_id = "
                                      "$1"),
                                  {param(id), param(head.revision + 1)}});
  return plan;
}

std::vector<Query> rename_preconditions(const SchemaSql& sql, const model::TableIdentifier& from,
                                        const model::TableIdentifier& to) {
  std::string by_name =
      "(SELECT t.table_id FROM @ducklake_table t WHERE t.schema_id = (SELECT "
      "@lakeproxy_find_schema($1)) AND t.table_name = $2 AND t.end_snapshot IS NULL)";
  std::vector<base::pg::Param> names{param(flat_schema_name(from.name_space)), param(from.name)};
  std::vector<base::pg::Param> moved = names;
  moved.push_back(param(flat_schema_name(to.name_space)));
  return {
      find_relation(sql, from),
      find_schema_path(sql, to.name_space),
      find_relation(sql, to),
      {sql("SELECT 1 FROM @ducklake_inlined_data_tables WHERE table_id = " + by_name), names},
      {sql(fmt::format("SELECT {} FROM @ducklake_column WHERE end_snapshot IS NULL AND table_id "
                       "= {} ORDER BY column_order",
                       kColumnParts, by_name)),
       names},
      // Governance changes under this row's lock: what is attached now is so until we commit.
      {sql("SELECT version FROM @lakeproxy_policy_version FOR SHARE"), {}},
      {sql("SELECT place, array_to_string(policies, ', ') FROM @lakeproxy_second_mask_in(" +
           by_name + ", @lakeproxy_find_schema($3)) WHERE place IS NOT NULL"),
       std::move(moved)}};
}

}  // namespace

LakeWriter::LakeWriter(base::pg::Pool& pool, LakeOptions options, const base::Clock& clock,
                       base::Random& random, CommitWatch watch)
    : pool_(&pool),
      options_(std::move(options)),
      sql_(options_.metadata_schema),
      clock_(&clock),
      random_(&random),
      committer_(std::make_shared<Committer>(pool, sql_, watch)) {}

std::string LakeWriter::new_table_location(const NamespaceInfo& name_space, std::string_view table,
                                           const base::Uuid& uuid) const {
  return name_space.location + "/" + unique_path_name(table, base::to_string(uuid));
}

base::Result<TableStep> create_step(const SchemaSql& sql, const std::string& data_path,
                                    NewTable table) {
  ASSIGN_OR_RETURN(auto columns, column_rows(table.metadata.current_schema()));
  std::vector<Query> preconditions{find_schema_path(sql, table.identifier.name_space),
                                   find_relation(sql, table.identifier)};
  auto plan = [sql, data_path, table = std::move(table), columns = std::move(columns)](
                  const LakeHead&, const LakeHead& head, PreconditionRows rows) {
    return plan_create(sql, data_path, table, columns, head, rows);
  };
  return TableStep{std::move(preconditions), std::move(plan)};
}

base::Task<base::Result<CreatedTable>> LakeWriter::create_table(base::RequestContext context,
                                                                NewTable table) {
  CO_ASSIGN_OR_RETURN(auto step, create_step(sql_, options_.data_path, std::move(table)));
  auto id = std::make_shared<model::TableId>();
  Planner planner = [plan = std::move(step.plan), id](const LakeHead& head,
                                                      const std::vector<RowsPtr>& rows) {
    *id = model::TableId(head.next_catalog_id);
    return plan(head, head, rows);
  };
  CO_ASSIGN_OR_RETURN(auto committed,
                      co_await committer_->commit(context, std::move(step.preconditions),
                                                  std::move(planner), key_));
  co_return CreatedTable{std::move(committed), *id};
}

base::Task<base::Result<void>> LakeWriter::drop_table(base::RequestContext context,
                                                      model::TableIdentifier identifier,
                                                      Files files) {
  std::vector<Query> preconditions{find_relation(sql_, identifier), find_place(sql_, identifier)};
  Planner planner = [sql = sql_, identifier, files, data_path = options_.data_path](
                        const LakeHead& head, const std::vector<RowsPtr>& rows) {
    return plan_drop(sql, data_path, identifier, files, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> LakeWriter::rename_table(base::RequestContext context,
                                                        model::TableIdentifier from,
                                                        model::TableIdentifier to) {
  std::vector<Query> preconditions = rename_preconditions(sql_, from, to);
  Planner planner = [sql = sql_, data_path = options_.data_path, from, to](
                        const LakeHead& head, const PreconditionRows& rows) {
    auto plan = plan_rename(sql, data_path, from, to, head, rows);
    if (!plan || rows.back()->empty()) return plan;
    return base::Result<CommitPlan>(base::fail(
        base::ErrorKind::kConflict, fmt::format("A second mask would reach {}: {}",
                                                rows.back()->text(0, 0), rows.back()->text(0, 1))));
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

}  // namespace lake::ducklake
