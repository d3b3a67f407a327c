#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/definition/column_rows.h"
#include "lakeproxy/ducklake/lake/change_log.h"
#include "lakeproxy/ducklake/rows/content_change.h"
#include "lakeproxy/ducklake/rows/spec_rows.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/ducklake/write/snapshot_rows.h"
#include "lakeproxy/ducklake/write/table_steps.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using Facts = std::span<const RowsPtr>;

// Beyond this many snapshots of others it is cheaper to read the table again.
constexpr std::int64_t kMaxChanges = 1000;

// Then what only some changes ask for: the columns for a new schema, a live file
// for another default spec, those of restore_facts() where an older content comes
// back.
enum Fact : std::size_t {
  kChanges,
  kRevision,
  kTable,
  kNextRow,
  kAlias,
  kLiveFiles,
  kInlined,
  kAsked,
};

bool has_new_schema(const TableChange& change) {
  return change.after.current_schema_id != change.before->metadata.current_schema_id;
}

bool has_new_spec(const TableChange& change) {
  return change.after.default_spec_id != change.before->metadata.default_spec_id;
}

std::vector<std::int64_t> client_ids(const TableChange& change) {
  std::vector<std::int64_t> ids;
  for (const AddedSnapshot& added : change.snapshots) ids.push_back(added.client_snapshot_id.value);
  return ids;
}

std::vector<std::optional<std::string>> removed_files(const TableChange& change) {
  std::set<std::string> locations;
  for (const AddedSnapshot& added : change.snapshots) {
    locations.insert(added.removed.begin(), added.removed.end());
  }
  return {locations.begin(), locations.end()};
}

Query current_columns(const SchemaSql& sql, std::int64_t table) {
  return {sql("SELECT column_id, column_order, column_name, column_type, nulls_allowed, "
              "parent_column FROM @ducklake_column WHERE table_id = $1 AND end_snapshot IS NULL "
              "ORDER BY column_order"),
          {param(table)}};
}

Query live_file(const SchemaSql& sql, std::int64_t table) {
  return {sql("SELECT 1 FROM @ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL "
              "LIMIT 1"),
          {param(table)}};
}

std::vector<Query> fact_queries(const SchemaSql& sql, const TableChange& change) {
  const model::LakeTable& before = *change.before;
  std::int64_t table = before.table_id.value;
  std::vector<Query> queries{
      {sql("SELECT changes_made FROM @ducklake_snapshot_changes WHERE snapshot_id > $1 LIMIT $2"),
       {param(before.version.snapshot.value), param(kMaxChanges + 1)}},
      {sql("SELECT 1 FROM @lakeproxy_table WHERE table_id = $1 AND revision > $2 UNION ALL "
           "SELECT 1 FROM @lakeproxy_state WHERE snapshots_removed_revision > $2"),
       {param(table), param(before.version.revision)}},
      {sql("SELECT table_name, schema_id FROM @ducklake_table WHERE table_id = $1 AND end_snapshot "
           "IS NULL"),
       {param(table)}},
      {sql("SELECT next_row_id FROM @ducklake_table_stats WHERE table_id = $1"), {param(table)}},
      {sql("SELECT client_snapshot_id FROM @lakeproxy_snapshot_alias WHERE table_id = $1 AND "
           "client_snapshot_id = ANY ($2::bigint[])"),
       {param(table), base::pg::array_param(client_ids(change))}},
      LiveFiles::query(sql, before, removed_files(change)),
      {sql("SELECT 1 FROM @ducklake_inlined_data_tables WHERE table_id = $1 LIMIT 1"),
       {param(table)}},
  };
  if (has_new_schema(change)) queries.push_back(current_columns(sql, table));
  if (has_new_spec(change)) queries.push_back(live_file(sql, table));
  if (!change.restores) return queries;
  for (Query& query : restore_facts(sql, before.table_id, *change.restores)) {
    queries.push_back(std::move(query));
  }
  return queries;
}

bool any_of(const Facts& facts, bool (*of_table)(std::string_view, model::TableId),
            model::TableId table) {
  for (std::size_t i = 0; i < facts[kChanges]->size(); ++i) {
    if (of_table(facts[kChanges]->text(i, 0), table)) return true;
  }
  return false;
}

// The decision was made on `before`; it holds only if nobody changed the table.
// `before` may be old: it counts only if the lake's history since then is whole.
base::Status check_unchanged(const TableChange& change, const LakeHead& head, const Facts& facts) {
  const model::LakeTable& before = *change.before;
  auto stale = [] {
    return base::fail(ErrorKind::kConflict, "The table changed while the commit was prepared.")
        .with_reason(kStale);
  };
  std::int64_t since = head.snapshot.value - before.version.snapshot.value;
  // More of them than that: somebody commits at this moment, and one of us two
  // collides and comes again.
  if (since < 0 || since > kMaxChanges ||
      since > static_cast<std::int64_t>(facts[kChanges]->size())) {
    return stale();
  }
  if (!facts[kRevision]->empty() || facts[kTable]->empty()) return stale();
  if (facts[kTable]->text(0, 0) != before.name ||
      facts[kTable]->int64(0, 1) != before.namespace_id.value) {
    return stale();
  }
  auto* differs = change.stands_on == StandsOn::kRows ? touches_table : redefines_table;
  if (any_of(facts, differs, before.table_id)) return stale();
  return {};
}

// A client that did not hear the answer must not add its rows twice.
base::Status check_new(const Facts& facts) {
  if (facts[kAlias]->empty()) return {};
  return base::fail(ErrorKind::kConflict,
                    fmt::format("snapshot {} was committed before", facts[kAlias]->int64(0, 0)));
}

bool only_adds(const TableChange& change) {
  return std::ranges::all_of(change.snapshots, [](const AddedSnapshot& added) {
    return added.removed.empty() && added.deletes.empty();
  });
}

std::set<std::int32_t> schema_ids(const model::TableMetadata& metadata) {
  std::set<std::int32_t> ids;
  for (const auto& schema : metadata.schemas) ids.insert(schema.schema_id);
  return ids;
}

std::set<std::int32_t> spec_ids(const model::TableMetadata& metadata) {
  std::set<std::int32_t> ids;
  for (const auto& spec : metadata.partition_specs) ids.insert(spec.spec_id);
  return ids;
}

base::Status add_schema_rows(const SchemaSql& sql, const TableChange& change, const LakeHead& head,
                             const Facts& facts, LakeDelta& delta) {
  std::int64_t table = change.before->table_id.value;
  std::int64_t begin = head.snapshot.value + 1;
  const model::Schema& before = change.before->metadata.current_schema();
  ASSIGN_OR_RETURN(auto wanted, column_rows(change.after.current_schema(), &before));
  auto current = read_columns(*facts[kAsked]);
  ColumnDiff diff = diff_columns(current, wanted);
  if (diff.empty()) return {};
  if (!diff.ended.empty()) delta.queries.push_back(end_columns(sql, table, begin, diff.ended));
  if (!diff.begun.empty()) delta.queries.push_back(insert_columns(sql, table, begin, diff.begun));
  delta.altered_tables.push_back(table);
  delta.changes.push_back(fmt::format("altered_table:{}", table));
  if (facts[kInlined]->empty()) return {};
  for (Query& query : make_inlined_table(sql, table, head.schema_version + 1, wanted)) {
    delta.queries.push_back(std::move(query));
  }
  return {};
}

bool same_sidecar(const model::TableMetadata& a, const model::TableMetadata& b) {
  return a.properties == b.properties && kept_refs(a) == kept_refs(b) &&
         a.table_uuid == b.table_uuid && a.format_version == b.format_version &&
         a.sort_orders == b.sort_orders && a.default_sort_order_id == b.default_sort_order_id &&
         a.last_partition_id == b.last_partition_id && a.statistics == b.statistics &&
         a.partition_statistics == b.partition_statistics && a.out_of_sight == b.out_of_sight;
}

// The table's own names of columns change with such a file.
bool names_columns(const TableChange& change) {
  return std::ranges::any_of(change.snapshots, [](const AddedSnapshot& snapshot) {
    return std::ranges::any_of(snapshot.files, [](const auto& file) { return bool(file.names); });
  });
}

// Files beside those that the change adds under the new default spec.
OtherFiles other_files(const TableChange& change, const Facts& facts) {
  if (change.restores || add_to_another_spec(change.snapshots, change.after.default_spec_id)) {
    return OtherFiles::kSome;
  }
  if (!has_new_spec(change) || change.content == Content::kEnds) return OtherFiles::kNone;
  const std::size_t fact = has_new_schema(change) ? kAsked + 1 : kAsked;
  return facts[fact]->empty() ? OtherFiles::kNone : OtherFiles::kSome;
}

// What changes besides rows. Its value says what becomes of the lake's partition.
base::Result<PartitionChange> plan_definition(const SchemaSql& sql, const TableChange& change,
                                              const LakeHead& head, const Facts& facts,
                                              LakeDelta& delta, CommitPlan& plan) {
  const model::LakeTable& before = *change.before;
  SidecarPlace place{before.table_id.value, head.snapshot.value + 1, head.revision + 1};
  bool new_current = has_new_schema(change);
  if (new_current) RETURN_IF_ERROR(add_schema_rows(sql, change, head, facts, delta));
  auto known = schema_ids(before.metadata);
  if (new_current || !std::ranges::includes(known, schema_ids(change.after))) {
    put_schemas(sql, place, change.after, known, plan.sidecar_queries);
  }
  const SpecPlace spec_place{place, head.next_catalog_id, other_files(change, facts)};
  ASSIGN_OR_RETURN(PartitionChange partition,
                   put_new_specs(sql, spec_place, change.after, spec_ids(before.metadata), delta,
                                 plan.sidecar_queries));
  if (!partition.ended) {
    partition = change_default_spec(sql, spec_place, before.metadata, change.after, delta,
                                    plan.sidecar_queries);
  }
  if (delta.changes.empty() && !delta.queries.empty()) {
    delta.changes.push_back(fmt::format("altered_table:{}", before.table_id.value));
    delta.altered_tables.push_back(before.table_id.value);
  }
  const bool clears = change.content == Content::kEnds;
  if (clears || !plan.sidecar_queries.empty() || !same_sidecar(before.metadata, change.after)) {
    plan.sidecar_queries.push_back(put_table(sql, place, change.after));
  }
  if (change.after.out_of_sight != before.metadata.out_of_sight) {
    plan.sidecar_queries.push_back(put_out_of_sight(sql, place, change.after.out_of_sight));
  }
  if (clears && change.snapshots.empty()) {
    plan.sidecar_queries.push_back(
        {sql("UPDATE @lakeproxy_table SET cleared_at = $2 WHERE table_id = $1"),
         {param(place.table_id), param(place.begin)}});
  }
  return partition;
}

// What becomes of the rows that are there.
base::Status plan_content(const SchemaSql& sql, const TableChange& change, const FilePlace& place,
                          const Facts& facts, LakeDelta& delta) {
  const HasInlined inlined = facts[kInlined]->empty() ? HasInlined::kNo : HasInlined::kYes;
  if (change.content == Content::kEnds) {
    end_content(sql, place, inlined, change.after.current_schema(), delta);
  }
  if (!change.restores) return {};
  const Restore restore{*change.restores,
                        inlined,
                        facts[facts.size() - 2].get(),
                        facts.back().get(),
                        &change.partly_shown,
                        change.before->metadata.location + "/"};
  return restore_content(sql, place, restore, delta);
}

base::Result<CommitPlan> plan_change(const SchemaSql& sql, const TableChange& change,
                                     const LakeHead& head, const Facts& facts) {
  const model::LakeTable& before = *change.before;
  CommitPlan plan;
  LakeDelta delta;
  ASSIGN_OR_RETURN(auto partition, plan_definition(sql, change, head, facts, delta, plan));
  FilePlace files{before.table_id.value, head.snapshot.value + 1, head.next_file_id,
                  facts[kNextRow]->empty() ? 0 : facts[kNextRow]->int64(0, 0)};
  RETURN_IF_ERROR(plan_content(sql, change, files, facts, delta));
  plan.only_rows = !names_columns(change) && delta.changes.empty() &&
                   plan.sidecar_queries.empty() && only_adds(change) &&
                   !any_of(facts, touches_table, before.table_id);
  std::optional<model::LakeTable> other;
  if (partition.ended) other = partition.applied_to(before);
  RETURN_IF_ERROR(add_snapshots(sql,
                                {files, other ? &*other : &before, &change.after, &change.snapshots,
                                 LiveFiles(*facts[kLiveFiles])},
                                std::move(delta), plan));
  return plan;
}

}  // namespace

TableStep change_step(const SchemaSql& sql, TableChange change) {
  std::vector<Query> facts = fact_queries(sql, change);
  auto plan = [sql, change = std::move(change)](const LakeHead& first, const LakeHead& head,
                                                Facts rows) -> base::Result<CommitPlan> {
    RETURN_IF_ERROR(check_unchanged(change, first, rows));
    RETURN_IF_ERROR(check_new(rows));
    return plan_change(sql, change, head, rows);
  };
  return {std::move(facts), std::move(plan)};
}

base::Task<base::Result<ChangedTable>> LakeWriter::change_table(base::RequestContext context,
                                                                TableChange change) {
  std::shared_ptr<const model::LakeTable> before = change.before;
  std::vector<model::SnapshotId> aliases;
  for (const AddedSnapshot& added : change.snapshots) aliases.push_back(added.client_snapshot_id);
  TableStep step = change_step(sql_, std::move(change));
  Planner planner = [plan = std::move(step.plan)](const LakeHead& head,
                                                  const std::vector<RowsPtr>& rows) {
    return plan(head, head, rows);
  };
  CO_ASSIGN_OR_RETURN(auto committed, co_await committer_->commit(context, std::move(step.facts),
                                                                  std::move(planner), key_));
  ChangedTable changed{committed, std::nullopt};
  if (committed.only_rows && !aliases.empty() && before->pending.empty()) {
    changed.appended = append_to(*before, std::move(committed), aliases);
  }
  co_return changed;
}

}  // namespace lake::ducklake
