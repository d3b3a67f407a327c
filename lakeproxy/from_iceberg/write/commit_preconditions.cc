#include "lakeproxy/from_iceberg/write/commit_preconditions.h"

#include <fmt/format.h>

#include <set>

#include "lakeproxy/ducklake/lake/change_log.h"
#include "lakeproxy/from_iceberg/rows/column_rows.h"
#include "lakeproxy/from_iceberg/rows/content_change.h"
#include "lakeproxy/from_iceberg/write/schema_version_fence.h"
#include "lakeproxy/from_iceberg/write/snapshot_rows.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;

// Beyond this many snapshots of others it is cheaper to read the table again.
constexpr std::int64_t kMaxChanges = 1000;

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

// Ids that were given since the table was read, also to what the log of the lake does not
// tell: the definitions that the change adds would have the same.
Query newer_state(const SchemaSql& sql, const model::LakeTable& before) {
  const auto highest = [](const auto& definitions, auto id_of) {
    std::int64_t id = -1;
    for (const auto& each : definitions) id = std::max<std::int64_t>(id, each.*id_of);
    return param(id);
  };
  const model::TableMetadata& known = before.metadata;
  return {sql("SELECT 1 FROM @lakeproxy_table WHERE table_id = $1 AND revision > $2 UNION ALL "
              "SELECT 1 FROM @lakeproxy_state WHERE snapshots_removed_revision > $2 UNION ALL "
              "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM @ducklake_snapshot WHERE snapshot_id = $3 "
              "AND floor(extract(epoch FROM snapshot_time) * 1000)::bigint = $4) UNION ALL "
              "SELECT 1 FROM @lakeproxy_definition WHERE table_id = $1 AND id > CASE kind "
              "WHEN 'schema' THEN $5::bigint WHEN 'spec' THEN $6 ELSE $7 END"),
          {param(before.table_id.value), param(before.version.revision),
           param(before.version.snapshot.value), param(before.version.snapshot_ms),
           highest(known.schemas, &model::Schema::schema_id),
           highest(known.partition_specs, &model::PartitionSpec::spec_id),
           highest(known.sort_orders, &model::SortOrder::order_id)}};
}

Query current_columns(const SchemaSql& sql, std::int64_t table) {
  return {sql(fmt::format("SELECT {} FROM @ducklake_column WHERE table_id = $1 AND end_snapshot IS "
                          "NULL ORDER BY column_order",
                          kColumnParts)),
          {param(table)}};
}

Query live_file(const SchemaSql& sql, std::int64_t table) {
  return {sql("SELECT 1 FROM @ducklake_data_file WHERE table_id = $1 AND end_snapshot IS NULL "
              "LIMIT 1"),
          {param(table)}};
}

}  // namespace

bool has_new_schema(const TableChange& change) {
  return change.after.current_schema_id != change.before->metadata.current_schema_id;
}

bool has_new_spec(const TableChange& change) {
  return change.after.default_spec_id != change.before->metadata.default_spec_id;
}

bool asks_columns(const TableChange& change) {
  return has_new_schema(change) || needs_schema_version_fence(change);
}

std::vector<Query> precondition_queries(const SchemaSql& sql, const TableChange& change) {
  const model::LakeTable& before = *change.before;
  std::int64_t table = before.table_id.value;
  std::vector<Query> queries{
      {sql("SELECT changes_made FROM @ducklake_snapshot_changes WHERE snapshot_id > $1 LIMIT $2"),
       {param(before.version.snapshot.value), param(kMaxChanges + 1)}},
      newer_state(sql, before),
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
  if (asks_columns(change)) queries.push_back(current_columns(sql, table));
  if (has_new_spec(change)) queries.push_back(live_file(sql, table));
  if (!change.restores) return queries;
  for (Query& query : restore_preconditions(sql, before.table_id, *change.restores)) {
    queries.push_back(std::move(query));
  }
  return queries;
}

bool is_told(const PreconditionRows& preconditions,
             bool (*of_table)(std::string_view, model::TableId), model::TableId table) {
  for (std::size_t i = 0; i < preconditions[kChanges]->size(); ++i) {
    if (of_table(preconditions[kChanges]->text(i, 0), table)) return true;
  }
  return false;
}

base::Status check_unchanged(const TableChange& change, const LakeHead& head,
                             const PreconditionRows& preconditions) {
  const model::LakeTable& before = *change.before;
  auto stale = [] {
    return base::fail(ErrorKind::kConflict, "The table changed while the commit was prepared.")
        .with_reason(kStale);
  };
  if (head.format != before.version.format) return stale();
  if (change.policies && *change.policies != head.policies) return stale();
  std::int64_t since = head.snapshot.value - before.version.snapshot.value;
  // More of them than that: somebody commits at this moment, and one of us two
  // collides and comes again.
  if (since < 0 || since > kMaxChanges ||
      since > static_cast<std::int64_t>(preconditions[kChanges]->size())) {
    return stale();
  }
  if (!preconditions[kRevision]->empty() || preconditions[kTable]->empty()) return stale();
  if (preconditions[kTable]->text(0, 0) != before.name ||
      preconditions[kTable]->int64(0, 1) != before.namespace_id.value) {
    return stale();
  }
  auto* differs =
      change.base_version_check == BaseVersionCheck::kRows ? touches_table : redefines_table;
  if (is_told(preconditions, differs, before.table_id)) return stale();
  return {};
}

base::Status check_new(const PreconditionRows& preconditions) {
  if (preconditions[kAlias]->empty()) return {};
  return base::fail(ErrorKind::kConflict, fmt::format("snapshot {} was committed before",
                                                      preconditions[kAlias]->int64(0, 0)));
}

}  // namespace lake::ducklake
