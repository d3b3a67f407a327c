#include "lakeproxy/ducklake/commit/snapshot_commit.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "lakeproxy/ducklake/commit/idempotency_records.h"
#include "lakeproxy/ducklake/lake/open_lake.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;

using Key = std::optional<model::IdempotencyKey>;

// The snapshot's own rows. Its time is never before its predecessor's, so that
// time travel by timestamp stays in the order of the ids.
void append_snapshot_rows(const SchemaSql& sql, const LakeDelta& delta, LakeHead& head,
                          std::vector<Query>& out) {
  head = head_after(head, delta);
  std::int64_t id = head.snapshot.value;
  out.push_back({sql("INSERT INTO @ducklake_snapshot (snapshot_id, snapshot_time, schema_version, "
                     "next_catalog_id, next_file_id) SELECT $1, greatest(clock_timestamp(), "
                     "snapshot_time + interval '1 millisecond'), $2, $3, $4 "
                     "FROM @ducklake_snapshot WHERE snapshot_id = $1::bigint - 1 "
                     "RETURNING floor(extract(epoch FROM snapshot_time) * 1000)::bigint"),
                 {param(id), param(head.schema_version), param(head.next_catalog_id),
                  param(head.next_file_id)}});
  out.push_back(
      {sql("INSERT INTO @ducklake_snapshot_changes (snapshot_id, changes_made, author, "
           "commit_message, commit_extra_info) VALUES ($1, $2, NULL, NULL, NULLIF($3, ''))"),
       {param(id), param(fmt::format("{}", fmt::join(delta.changes, ","))),
        param(delta.extra_info)}});
  for (std::int64_t table : delta.altered_tables) {
    out.push_back({sql("INSERT INTO @ducklake_schema_versions (begin_snapshot, schema_version, "
                       "table_id) VALUES ($1, $2, $3)"),
                   {param(id), param(head.schema_version), param(table)}});
  }
}

model::LakeCommit commit_of(const LakeDelta& delta, model::SnapshotId snapshot) {
  model::LakeCommit commit{.snapshot = snapshot,
                           .changes_made = fmt::format("{}", fmt::join(delta.changes, ","))};
  if (!delta.extra_info.empty()) commit.extra_info = delta.extra_info;
  return commit;
}

void add_idempotency_record(const SchemaSql& sql, const Key& key, const std::string& answer,
                            std::vector<Query>& queries) {
  if (!key || queries.empty()) return;
  queries.push_back(put_idempotency_record(sql, *key, answer));
  queries.push_back(remove_old_idempotency_records(sql));
}

}  // namespace

LakeHead head_after(LakeHead head, const LakeDelta& delta) {
  bool altered = delta.schema_changes || !delta.altered_tables.empty();
  head.snapshot = model::SnapshotId(head.snapshot.value + 1);
  head.schema_version += altered ? 1 : 0;
  head.next_catalog_id += delta.catalog_ids_used;
  head.next_file_id += delta.file_ids_used;
  return head;
}

std::vector<Query> opening_queries(const SchemaSql& sql) {
  std::vector<Query> queries;
  // A migration of DuckDB adds columns to this table. It comes before us, and the version
  // that is read below is the new one; or it waits until we have written in the old form.
  queries.push_back({sql("LOCK TABLE @ducklake_data_file IN ACCESS SHARE MODE"), {}});
  // The setting tells the triggers on snapshots that it is us: what we commit we
  // publish ourselves.
  queries.push_back({sql("SELECT revision, set_config('lakeproxy.publishes', 'on', true), "
                         "(SELECT last_value FROM @lakeproxy_losses), "
                         "(SELECT max(m.value) FROM @ducklake_metadata m WHERE m.key = 'version') "
                         "FROM @lakeproxy_state FOR UPDATE"),
                     {}});
  queries.push_back({sql("SELECT snapshot_id, schema_version, next_catalog_id, next_file_id, "
                         "floor(extract(epoch FROM snapshot_time) * 1000)::bigint, "
                         "(SELECT p.version FROM @lakeproxy_policy_version p) "
                         "FROM @ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"),
                     {}});
  return queries;
}

base::Result<Opened> read_opening(const std::vector<base::pg::RowsPtr>& rows) {
  const base::pg::Rows& state = *rows[1];
  const base::pg::Rows& snapshot = *rows[2];
  if (state.empty() || snapshot.empty()) {
    return base::fail(base::ErrorKind::kCorrupt, "The lake has no snapshot or no state row.");
  }
  Opened opened;
  ASSIGN_OR_RETURN(opened.head.format, read_lake_format(state.text(0, 3)));
  opened.foreign_conflicts = state.int64(0, 2);
  opened.head.revision = state.int64(0, 0);
  opened.head.snapshot = model::SnapshotId(snapshot.int64(0, 0));
  opened.head.schema_version = snapshot.int64(0, 1);
  opened.head.next_catalog_id = snapshot.int64(0, 2);
  opened.head.next_file_id = snapshot.int64(0, 3);
  opened.head.snapshot_ms = snapshot.int64(0, 4);
  opened.head.policies = snapshot.int64(0, 5);
  return opened;
}

ClosingQueries closing_queries(const SchemaSql& sql, CommitPlan plan, LakeHead head,
                               const Key& key) {
  ClosingQueries closing;
  Committed& committed = closing.committed;
  committed.head = head;
  committed.is_append = plan.is_append;
  for (LakeDelta& delta : plan.deltas) {
    // The snapshot row goes first: a collision shows before any other work.
    closing.snapshot_rows.push_back(closing.queries.size());
    append_snapshot_rows(sql, delta, head, closing.queries);
    committed.snapshots.push_back(head.snapshot);
    committed.commits.push_back(commit_of(delta, head.snapshot));
    std::ranges::move(delta.queries, std::back_inserter(closing.queries));
    std::ranges::move(delta.added_files, std::back_inserter(committed.added_files));
  }
  if (!plan.sidecar_queries.empty()) {
    head.revision += 1;
    closing.queries.push_back(
        {sql("UPDATE @lakeproxy_state SET revision = $1"), {param(head.revision)}});
    for (Query& query : plan.sidecar_queries) closing.queries.push_back(std::move(query));
  }
  add_idempotency_record(sql, key, plan.answer, closing.queries);
  committed.version = head.version();
  closing.after = head;
  return closing;
}

}  // namespace lake::ducklake
