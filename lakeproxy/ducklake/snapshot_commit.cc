#include "lakeproxy/ducklake/snapshot_commit.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "lakeproxy/ducklake/receipts.h"
#include "lakeproxy/ducklake/shown_time.h"

namespace lake::ducklake {
namespace {

using base::pg::param;
using base::pg::Query;

constexpr int kAttempts = 20;

using Key = std::optional<model::ChangeKey>;

std::vector<Query> opening_queries(const SchemaSql& sql, std::vector<Query> facts, const Key& key) {
  std::vector<Query> queries;
  // The setting tells the trigger on snapshots that nobody needs to be woken:
  // what we commit we publish ourselves.
  queries.push_back({sql("SELECT revision, set_config('lakeproxy.publishes', 'on', true) "
                         "FROM @lakeproxy_state FOR UPDATE"),
                     {}});
  queries.push_back({sql("SELECT snapshot_id, schema_version, next_catalog_id, next_file_id "
                         "FROM @ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"),
                     {}});
  for (Query& fact : facts) queries.push_back(std::move(fact));
  if (key) queries.push_back(find_receipt(sql, key->id));
  return queries;
}

// Under the lock of lakeproxy_state nobody else can write the receipt now.
base::Status check_first_time(const Key& key, std::vector<base::pg::RowsPtr>& rows) {
  if (!key) return {};
  base::pg::RowsPtr receipt = std::move(rows.back());
  rows.pop_back();
  if (receipt->empty()) return {};
  return base::fail(base::ErrorKind::kConflict, "The change was asked for before.")
      .with_reason(kAlreadyDone);
}

base::Result<LakeHead> read_head(const std::vector<base::pg::RowsPtr>& rows) {
  if (rows[0]->empty() || rows[1]->empty()) {
    return base::fail(base::ErrorKind::kCorrupt, "The lake has no snapshot or no state row.");
  }
  LakeHead head;
  head.revision = rows[0]->int64(0, 0);
  head.snapshot = model::SnapshotId(rows[1]->int64(0, 0));
  head.schema_version = rows[1]->int64(0, 1);
  head.next_catalog_id = rows[1]->int64(0, 2);
  head.next_file_id = rows[1]->int64(0, 3);
  return head;
}

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

struct ClosingQueries {
  std::vector<Query> queries;
  std::vector<std::size_t> snapshot_rows;  ///< Those of `queries` that tell a snapshot's time.
  Committed committed;
};

model::LakeCommit commit_of(const LakeDelta& delta, model::SnapshotId snapshot) {
  model::LakeCommit commit{.snapshot = snapshot,
                           .changes_made = fmt::format("{}", fmt::join(delta.changes, ","))};
  if (!delta.extra_info.empty()) commit.extra_info = delta.extra_info;
  return commit;
}

void add_receipt(const SchemaSql& sql, const Key& key, const std::string& answer,
                 std::vector<Query>& queries) {
  if (!key || queries.empty()) return;
  queries.push_back(put_receipt(sql, *key, answer));
  queries.push_back(remove_old_receipts(sql));
}

ClosingQueries closing_queries(const SchemaSql& sql, CommitPlan plan, LakeHead head,
                               const Key& key) {
  ClosingQueries closing;
  Committed& committed = closing.committed;
  committed.head = head;
  committed.only_rows = plan.only_rows;
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
  add_receipt(sql, key, plan.answer, closing.queries);
  committed.version = {head.snapshot, head.revision};
  return closing;
}

// Another writer was there first, and nothing was changed.
bool is_collision(const base::Error& error) {
  return error.kind() == base::ErrorKind::kConflict &&
         (error.reason() == base::pg::kUniqueViolation ||
          error.reason() == base::pg::kSerializationFailure ||
          error.reason() == base::pg::kStatementStale || error.reason() == base::pg::kRolledBack);
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

base::Task<base::Result<Committed>> Committer::attempt(base::RequestContext context,
                                                       std::vector<Query> facts,
                                                       const Planner* planner, const Key* key) {
  CO_ASSIGN_OR_RETURN(
      auto begun, co_await pool_->begin(context, opening_queries(sql_, std::move(facts), *key)));
  if (steps_ != nullptr) co_await (*steps_)(CommitStep::kLocked);
  auto first_time = check_first_time(*key, begun.rows);
  auto head = read_head(begun.rows);
  begun.rows.erase(begun.rows.begin(), begun.rows.begin() + 2);
  if (!first_time || !head) {
    co_await begun.transaction->rollback();
    co_return first_time ? std::move(head).error() : std::move(first_time).error();
  }
  auto plan = (*planner)(*head, begun.rows);
  if (!plan) {
    co_await begun.transaction->rollback();
    co_return std::move(plan).error();
  }
  ClosingQueries closing = closing_queries(sql_, std::move(*plan), *head, *key);
  if (steps_ != nullptr) co_await (*steps_)(CommitStep::kPlanned);
  if (closing.queries.empty()) {
    co_await begun.transaction->rollback();
    co_return closing.committed;
  }
  CO_ASSIGN_OR_RETURN(auto rows,
                      co_await begun.transaction->run_and_commit(std::move(closing.queries)));
  if (steps_ != nullptr) co_await (*steps_)(CommitStep::kCommitted);
  for (std::size_t i = 0; i < closing.snapshot_rows.size(); ++i) {
    closing.committed.commits[i].committed_ms =
        rows[closing.snapshot_rows[i]]->int64(0, 0) - kShownEarlierMs;
  }
  co_return std::move(closing.committed);
}

base::Task<base::Result<Committed>> Committer::commit(base::RequestContext context,
                                                      std::vector<Query> facts, Planner planner,
                                                      std::optional<model::ChangeKey> key) {
  namespace asio = boost::asio;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < kAttempts; ++i) {
    auto committed = co_await attempt(context, facts, &planner, &key);
    if (committed || !is_collision(committed.error())) co_return committed;
    if (context.expired()) {
      co_return base::fail(base::ErrorKind::kTimeout,
                           "Other writers kept the lake busy until the deadline.");
    }
    timer.expires_after(std::chrono::milliseconds(1 + i * 5));
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return base::fail(base::ErrorKind::kConflict,
                       "Too many other writers; nothing was committed.");
}

std::string quote_change_name(std::string_view name) {
  std::string quoted = "\"";
  for (char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace lake::ducklake
