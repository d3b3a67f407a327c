#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/change_log.h"
#include "lakeproxy/from_iceberg/rows/column_rows.h"
#include "lakeproxy/from_iceberg/rows/content_change.h"
#include "lakeproxy/from_iceberg/rows/sort_rows.h"
#include "lakeproxy/from_iceberg/rows/spec_rows.h"
#include "lakeproxy/from_iceberg/write/commit_preconditions.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/from_iceberg/write/schema_version_fence.h"
#include "lakeproxy/from_iceberg/write/snapshot_rows.h"
#include "lakeproxy/from_iceberg/write/table_steps.h"
#include "lakeproxy/mapping/comments.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;

bool only_adds(const TableChange& change) {
  return std::ranges::all_of(change.snapshots, [](const AddedSnapshot& added) {
    return added.removed.empty() && added.deletes.empty();
  });
}

std::set<std::int32_t> spec_ids(const model::TableMetadata& metadata) {
  std::set<std::int32_t> ids;
  for (const auto& spec : metadata.partition_specs) ids.insert(spec.spec_id);
  return ids;
}

base::Status add_schema_rows(const SchemaSql& sql, const TableChange& change, const LakeHead& head,
                             const PreconditionRows& preconditions, LakeDelta& delta) {
  std::int64_t table = change.before->table_id.value;
  std::int64_t begin = head.snapshot.value + 1;
  const model::Schema& before = change.before->metadata.current_schema();
  ASSIGN_OR_RETURN(auto wanted, column_rows(change.after.current_schema(), &before));
  RETURN_IF_ERROR(check_names(wanted, &before, head.format));
  auto current = read_columns(*preconditions[kOptional]);
  ColumnDiff diff = diff_columns(current, wanted, before);
  if (diff.empty()) return {};
  if (!diff.ended.empty()) {
    delta.queries.push_back(end_columns(sql, table, begin, diff.ended));
    delta.queries.push_back(end_tags_of_dropped(sql, table, begin, diff));
  }
  if (!diff.begun.empty()) delta.queries.push_back(insert_columns(sql, table, begin, diff.begun));
  delta.altered_tables.push_back(table);
  delta.changes.push_back(fmt::format("altered_table:{}", table));
  if (preconditions[kInlined]->empty()) return {};
  for (Query& query : make_inlined_table(sql, head, table, diff.after)) {
    delta.queries.push_back(std::move(query));
  }
  return {};
}

bool same_sidecar_but_properties(const model::TableMetadata& a, const model::TableMetadata& b) {
  return kept_refs(a) == kept_refs(b) && a.table_uuid == b.table_uuid &&
         a.format_version == b.format_version && a.sort_orders == b.sort_orders &&
         a.default_sort_order_id == b.default_sort_order_id &&
         a.last_partition_id == b.last_partition_id && a.statistics == b.statistics &&
         a.partition_statistics == b.partition_statistics && a.out_of_sight == b.out_of_sight;
}

bool same_sidecar(const model::TableMetadata& a, const model::TableMetadata& b) {
  return a.properties == b.properties && same_sidecar_but_properties(a, b);
}

// Of properties that only clients have a say in: a reader finds the table with what they are now.
bool only_sets_properties(const TableChange& change) {
  const model::TableMetadata& before = change.before->metadata;
  const model::TableMetadata& after = change.after;
  const bool keeps_rows =
      change.snapshots.empty() && change.content == Content::kStays && !change.restores;
  const bool keeps_definition = !has_new_schema(change) && !has_new_spec(change) &&
                                after.schemas.size() == before.schemas.size() &&
                                after.partition_specs.size() == before.partition_specs.size() &&
                                same_sidecar_but_properties(before, after);
  return keeps_rows && keeps_definition && change.before->name_maps.empty() &&
         comment_of(before.properties) == comment_of(after.properties) &&
         after.last_updated_ms >= before.last_updated_ms;
}

// The table's own names of columns change with such a file.
bool names_columns(const TableChange& change) {
  return std::ranges::any_of(change.snapshots, [](const AddedSnapshot& snapshot) {
    return std::ranges::any_of(snapshot.files, [](const auto& file) { return bool(file.names); });
  });
}

// Files beside those that the change adds under the new default spec.
OtherFiles other_files(const TableChange& change, const PreconditionRows& preconditions) {
  if (change.restores || add_to_another_spec(change.snapshots, change.after.default_spec_id)) {
    return OtherFiles::kSome;
  }
  if (!has_new_spec(change) || change.content == Content::kEnds) return OtherFiles::kNone;
  const std::size_t optional = asks_columns(change) ? kOptional + 1 : kOptional;
  return preconditions[optional]->empty() ? OtherFiles::kNone : OtherFiles::kSome;
}

// Raises the lake's schema version, so that DuckDB's connections read the table anew, and begins no
// range of the table's own versions: files of both sides may still be merged (ADR 0143).
void follow_comments(const SchemaSql& sql, const TableChange& change, const SidecarPlace& place,
                     LakeDelta& delta) {
  auto rows =
      comment_rows(sql, place.table_id, place.begin, &change.before->metadata, change.after);
  if (rows.empty()) return;
  for (Query& row : rows) delta.queries.push_back(std::move(row));
  delta.schema_changes = true;
  if (delta.changes.empty()) {
    delta.changes.push_back(fmt::format("altered_table:{}", place.table_id));
  }
}

// What changes besides rows. Its value says what becomes of the lake's partition.
base::Result<PartitionChange> plan_definition(const SchemaSql& sql, const TableChange& change,
                                              const LakeHead& head,
                                              const PreconditionRows& preconditions,
                                              LakeDelta& delta, CommitPlan& plan) {
  const model::LakeTable& before = *change.before;
  SidecarPlace place{before.table_id.value, head.snapshot.value + 1, head.revision + 1};
  bool new_current = has_new_schema(change);
  if (new_current) RETURN_IF_ERROR(add_schema_rows(sql, change, head, preconditions, delta));
  DefinitionRows definitions;
  add_definitions(before.metadata, change.after, place.begin, definitions);
  const SpecPlace spec_place{place, head.next_catalog_id, other_files(change, preconditions),
                             before.lake_types, head.format};
  ASSIGN_OR_RETURN(
      PartitionChange partition,
      put_new_specs(sql, spec_place, change.after, spec_ids(before.metadata), delta, definitions));
  if (!partition.ended) {
    partition =
        change_default_spec(sql, spec_place, before.metadata, change.after, delta, definitions);
  }
  if (!partition.ended && new_current) {
    // The files that are there have no number of a bucket that is begun anew.
    partition = end_without_columns(
        sql, {place, head.next_catalog_id, OtherFiles::kSome, before.lake_types, head.format},
        before, change.after, delta, definitions);
  }
  if (!definitions.empty()) plan.sidecar_queries.push_back(definitions.query(sql, place.table_id));
  follow_sort(sql, place, head.next_catalog_id, before, change.after, delta);
  if (delta.changes.empty() && !delta.queries.empty()) {
    delta.changes.push_back(fmt::format("altered_table:{}", before.table_id.value));
    delta.altered_tables.push_back(before.table_id.value);
  }
  follow_comments(sql, change, place, delta);
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
                          const PreconditionRows& preconditions, LakeDelta& delta) {
  const HasInlined inlined = preconditions[kInlined]->empty() ? HasInlined::kNo : HasInlined::kYes;
  if (change.content == Content::kEnds) {
    end_content(sql, place, inlined, change.after.current_schema(), delta);
  }
  if (!change.restores) return {};
  const Restore restore{*change.restores,
                        inlined,
                        preconditions[preconditions.size() - 2].get(),
                        preconditions.back().get(),
                        &change.partly_shown,
                        change.before->metadata.location + "/",
                        &change.after.current_schema()};
  return restore_content(sql, place, restore, delta);
}

base::Result<CommitPlan> plan_change(const SchemaSql& sql, const TableChange& change,
                                     const LakeHead& head, const PreconditionRows& preconditions) {
  const model::LakeTable& before = *change.before;
  CommitPlan plan;
  LakeDelta delta;
  ASSIGN_OR_RETURN(auto partition, plan_definition(sql, change, head, preconditions, delta, plan));
  FilePlace files{before.table_id.value, head.snapshot.value + 1, head.next_file_id,
                  preconditions[kNextRow]->empty() ? 0 : preconditions[kNextRow]->int64(0, 0),
                  head.format};
  RETURN_IF_ERROR(plan_content(sql, change, files, preconditions, delta));
  plan.is_append = !names_columns(change) && delta.changes.empty() &&
                   plan.sidecar_queries.empty() && only_adds(change) &&
                   !is_told(preconditions, touches_table, before.table_id);
  std::optional<model::LakeTable> other;
  if (partition.ended) other = partition.applied_to(before);
  RETURN_IF_ERROR(add_snapshots(sql,
                                {files, other ? &*other : &before, &change.after, &change.snapshots,
                                 LiveFiles(*preconditions[kLiveFiles])},
                                std::move(delta), plan));
  RETURN_IF_ERROR(add_schema_version_fences(sql, change, head, preconditions, plan));
  return plan;
}

}  // namespace

TableStep change_step(const SchemaSql& sql, TableChange change) {
  std::vector<Query> preconditions = precondition_queries(sql, change);
  auto plan = [sql, change = std::move(change)](const LakeHead& first, const LakeHead& head,
                                                PreconditionRows rows) -> base::Result<CommitPlan> {
    RETURN_IF_ERROR(check_unchanged(change, first, rows));
    RETURN_IF_ERROR(check_new(rows));
    return plan_change(sql, change, head, rows);
  };
  return {std::move(preconditions), std::move(plan)};
}

base::Task<base::Result<ChangedTable>> LakeWriter::change_table(base::RequestContext context,
                                                                TableChange change) {
  std::shared_ptr<const model::LakeTable> before = change.before;
  std::vector<model::SnapshotId> aliases;
  for (const AddedSnapshot& added : change.snapshots) aliases.push_back(added.client_snapshot_id);
  std::optional<PropertiesSet> set;
  if (only_sets_properties(change)) {
    set = PropertiesSet{change.after.properties, change.after.last_updated_ms};
  }
  TableStep step = change_step(sql_, std::move(change));
  Planner planner = [plan = std::move(step.plan)](const LakeHead& head,
                                                  const std::vector<RowsPtr>& rows) {
    return plan(head, head, rows);
  };
  CO_ASSIGN_OR_RETURN(auto committed,
                      co_await committer_->commit(context, std::move(step.preconditions),
                                                  std::move(planner), key_));
  ChangedTable changed{committed, std::nullopt};
  const bool is_shown = before->pending.empty() && !before->replaced_since_published();
  if (is_shown && committed.is_append && !aliases.empty()) {
    changed.known = append_to(*before, std::move(committed), aliases);
  } else if (is_shown && set && committed.snapshots.empty()) {
    changed.known = with_properties(*before, std::move(*set), committed.version);
  }
  co_return changed;
}

}  // namespace lake::ducklake
