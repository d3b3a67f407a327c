#include "lakeproxy/views/view_store.h"

#include <fmt/format.h>

#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/name_page.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/mapping/comments.h"
#include "lakeproxy/views/view_rows.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using PreconditionRows = std::vector<RowsPtr>;

// Names that Iceberg cannot express are not listed, nor those of masks.
constexpr auto kList = R"sql(
SELECT v.view_name FROM @ducklake_view v
 WHERE v.schema_id = (SELECT @lakeproxy_find_schema($1)) AND v.end_snapshot IS NULL
   AND v.view_name !~ '[\x01-\x1f\x7f]' AND NOT starts_with(lower(v.view_name), '__mask_')
   AND v.view_name COLLATE "C" > $2
 ORDER BY v.view_name COLLATE "C" LIMIT $3)sql";

// What a change must still find as it was read.
constexpr auto kState = R"sql(
SELECT v.view_id, v.begin_snapshot, coalesce(p.revision, 0),
       (SELECT g.value FROM @ducklake_tag g WHERE g.object_id = v.view_id AND g.key = 'comment'
           AND g.end_snapshot IS NULL ORDER BY g.begin_snapshot DESC LIMIT 1)
  FROM @ducklake_view v LEFT JOIN @lakeproxy_view p ON p.view_id = v.view_id
 WHERE v.schema_id = (SELECT @lakeproxy_find_schema($1))
   AND v.view_name = $2 AND v.end_snapshot IS NULL)sql";

base::Result<CommitPlan> plan_create(const SchemaSql& sql, const NewLakeView& view,
                                     const LakeHead& head, const PreconditionRows& preconditions) {
  const model::TableIdentifier& identifier = view.identifier;
  if (preconditions[0]->empty()) return no_such_namespace(identifier.name_space);
  if (auto found = read_namesake(*preconditions[1])) {
    return name_taken(identifier, RelationKind::kView, *found);
  }
  ViewPlace place{head.next_catalog_id, head.snapshot.value + 1};
  LakeDelta delta;
  delta.queries.push_back(
      insert_view(sql, place, preconditions[0]->int64(0, 0), identifier.name, view.metadata));
  if (auto comment = comment_of(view.metadata.properties)) {
    put_comment(sql, place.view_id, place.begin, comment, delta.queries);
  }
  delta.changes.push_back("created_view:" + change_word(*preconditions[0], identifier.name));
  delta.schema_changes = true;
  delta.catalog_ids_used = 1;
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  put_view(sql, place.view_id, head.revision + 1, view.metadata, view.metadata_location,
           plan.sidecar_queries);
  return plan;
}

bool still_holds(const LakeView& view, const base::pg::Rows& now) {
  return now.int64(0, 0) == view.view_id && now.int64(0, 1) == view.begin_snapshot &&
         now.int64(0, 2) == view.revision &&
         now.opt_text(0, 3) == comment_of(view.metadata.properties);
}

base::Result<CommitPlan> plan_replace(const SchemaSql& sql, const ViewChange& change,
                                      const LakeHead& head, const PreconditionRows& preconditions) {
  if (preconditions[0]->empty()) return no_such_view(change.identifier.display());
  const LakeView& before = *change.before;
  if (!still_holds(before, *preconditions[0])) {
    return base::fail(base::ErrorKind::kConflict, "The view has changed meanwhile.")
        .with_reason(kStale);
  }
  ViewPlace place{before.view_id, head.snapshot.value + 1};
  LakeDelta delta;
  const LakeViewQuery query = lake_query(change.after);
  if (query != lake_query(before.metadata)) {
    delta.queries.push_back(follow_view(sql, place, query));
    delta.queries.push_back(end_view(sql, place));
    end_column_tags(sql, place, head.format, delta.queries);
  }
  auto comment = comment_of(change.after.properties);
  if (comment != comment_of(before.metadata.properties)) {
    put_comment(sql, place.view_id, place.begin, comment, delta.queries);
  }
  CommitPlan plan;
  if (!delta.queries.empty()) {
    delta.changes.push_back(fmt::format("altered_view:{}", before.view_id));
    delta.schema_changes = true;
    plan.deltas.push_back(std::move(delta));
  }
  put_view(sql, before.view_id, head.revision + 1, change.after, change.metadata_location,
           plan.sidecar_queries);
  return plan;
}

base::Result<CommitPlan> plan_drop(const SchemaSql& sql, const model::TableIdentifier& identifier,
                                   const LakeHead& head, const PreconditionRows& preconditions) {
  const auto found = read_relation(*preconditions[0]);
  if (!found || found->kind != RelationKind::kView) return no_such_view(identifier.display());
  ViewPlace place{found->id, head.snapshot.value + 1};
  LakeDelta delta;
  delta.queries.push_back(end_view(sql, place));
  delta.queries.push_back({sql("UPDATE @ducklake_tag SET end_snapshot = $2 WHERE object_id = $1 "
                               "AND end_snapshot IS NULL"),
                           {param(place.view_id), param(place.begin)}});
  end_column_tags(sql, place, head.format, delta.queries);
  delta.changes.push_back(fmt::format("dropped_view:{}", place.view_id));
  delta.schema_changes = true;
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  plan.sidecar_queries = {
      {sql("DELETE FROM @lakeproxy_view WHERE view_id = $1"), {param(place.view_id)}},
      {sql("DELETE FROM @lakeproxy_view_version WHERE view_id = $1"), {param(place.view_id)}}};
  return plan;
}

// DuckLake renames a view by ending its row and beginning one with the same id,
// and names only what is created. That the view is altered is said besides: a
// change that DuckDB makes to it meanwhile then conflicts, as it should.
base::Result<CommitPlan> plan_rename(const SchemaSql& sql, const model::TableIdentifier& from,
                                     const model::TableIdentifier& to, const LakeHead& head,
                                     const PreconditionRows& preconditions) {
  const auto source = read_relation(*preconditions[0]);
  if (!source || source->kind != RelationKind::kView) return no_such_view(from.display());
  if (preconditions[1]->empty()) return no_such_namespace(to.name_space);
  if (auto found = read_namesake(*preconditions[2], source->id)) {
    return cannot_rename(from, to, *found);
  }
  ViewPlace place{source->id, head.snapshot.value + 1};
  LakeDelta delta;
  delta.queries.push_back(move_view(sql, place, preconditions[1]->int64(0, 0), to.name));
  delta.queries.push_back(end_view(sql, place));
  delta.changes.push_back("created_view:" + change_word(*preconditions[1], to.name));
  delta.changes.push_back(fmt::format("altered_view:{}", place.view_id));
  delta.schema_changes = true;
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  plan.sidecar_queries.push_back(
      {sql("UPDATE @lakeproxy_view SET revision = $2 WHERE view_id = $1"),
       {param(place.view_id), param(head.revision + 1)}});
  return plan;
}

}  // namespace

ViewStore::ViewStore(base::pg::Pool& pool, LakeOptions options, CommitWatch watch)
    : pool_(&pool),
      committer_(std::make_shared<Committer>(pool, SchemaSql(options.metadata_schema), watch)),
      options_(std::move(options)),
      sql_(options_.metadata_schema) {}

base::Task<base::Result<Page<std::string>>> ViewStore::list_views(base::RequestContext context,
                                                                  model::Namespace name_space,
                                                                  PageRequest page) {
  std::vector<Query> queries;
  queries.push_back({sql_(kList),
                     {param(flat_schema_name(name_space)), param(page.after),
                      param(static_cast<std::int64_t>(page.size) + 1)}});
  queries.push_back(find_schema_path(sql_, name_space));
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->read(context, std::move(queries)));
  if (rows[1]->empty()) co_return no_such_namespace(name_space);
  co_return name_page(*rows[0], page.size);
}

base::Task<base::Result<LakeView>> ViewStore::load_view(base::RequestContext context,
                                                        model::TableIdentifier identifier) {
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await pool_->read(context, ducklake::load_view(sql_, identifier)));
  if (rows[0]->empty()) co_return no_such_view(identifier.display());
  co_return read_view(identifier, options_, rows);
}

base::Task<base::Result<void>> ViewStore::check_name_is_free(base::RequestContext context,
                                                             model::TableIdentifier identifier,
                                                             RelationKind wanted) {
  CO_ASSIGN_OR_RETURN(auto rows, co_await pool_->query(context, find_relation(sql_, identifier)));
  if (auto found = read_namesake(*rows)) co_return name_taken(identifier, wanted, *found);
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> ViewStore::create_view(base::RequestContext context,
                                                      NewLakeView view) {
  std::vector<Query> preconditions{find_schema_path(sql_, view.identifier.name_space),
                                   find_relation(sql_, view.identifier)};
  Planner planner = [sql = sql_, view = std::move(view)](const LakeHead& head,
                                                         const PreconditionRows& rows) {
    return plan_create(sql, view, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> ViewStore::replace_view(base::RequestContext context,
                                                       ViewChange change) {
  std::vector<Query> preconditions{
      {sql_(kState),
       {param(flat_schema_name(change.identifier.name_space)), param(change.identifier.name)}}};
  Planner planner = [sql = sql_, change = std::move(change)](const LakeHead& head,
                                                             const PreconditionRows& rows) {
    return plan_replace(sql, change, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> ViewStore::drop_view(base::RequestContext context,
                                                    model::TableIdentifier identifier) {
  std::vector<Query> preconditions{find_relation(sql_, identifier)};
  Planner planner = [sql = sql_, identifier](const LakeHead& head, const PreconditionRows& rows) {
    return plan_drop(sql, identifier, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> ViewStore::rename_view(base::RequestContext context,
                                                      model::TableIdentifier from,
                                                      model::TableIdentifier to) {
  std::vector<Query> preconditions{find_relation(sql_, from), find_schema_path(sql_, to.name_space),
                                   find_relation(sql_, to)};
  Planner planner = [sql = sql_, from, to](const LakeHead& head, const PreconditionRows& rows) {
    return plan_rename(sql, from, to, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

}  // namespace lake::ducklake
