#include "lakeproxy/ducklake/commit/commit_group.h"

#include <algorithm>
#include <iterator>

#include "lakeproxy/ducklake/commit/idempotency_records.h"
#include "lakeproxy/ducklake/lake/shown_time.h"

namespace lake::ducklake {
namespace {

using base::pg::Query;
using base::pg::RowsPtr;

// What a member wants to know: its own preconditions, and whether its key was used.
void add_facts(const SchemaSql& sql, const WaitingCommit& commit, std::vector<Query>& queries) {
  queries.insert(queries.end(), commit.preconditions.begin(), commit.preconditions.end());
  if (commit.key) queries.push_back(find_idempotency_record(sql, commit.key->id));
}

// Under the lock of lakeproxy_state nobody else can write the record now.
base::Status check_first_time(const WaitingCommit& commit, std::vector<RowsPtr>& rows) {
  if (!commit.key) return {};
  const RowsPtr record = std::move(rows.back());
  rows.pop_back();
  if (record->empty()) return {};
  return base::fail(base::ErrorKind::kConflict, "The change was asked for before.")
      .with_reason(kAlreadyDone);
}

base::Result<CommitPlan> plan_commit(const WaitingCommit& commit, const LakeHead& head,
                                     std::vector<RowsPtr> rows) {
  RETURN_IF_ERROR(check_first_time(commit, rows));
  return commit.planner(head, rows);
}

}  // namespace

base::Task<base::Status> CommitGroup::run(Next next) {
  WaitingCommit* commit = next();
  CO_RETURN_IF_ERROR(co_await begin(commit));
  while ((commit = next()) != nullptr) CO_RETURN_IF_ERROR(co_await join(commit));
  co_return co_await finish();
}

base::Task<base::Status> CommitGroup::begin(WaitingCommit* first) {
  members_.push_back({first});
  std::vector<Query> queries = opening_queries(*sql_);
  const auto opening = static_cast<std::ptrdiff_t>(queries.size());
  add_facts(*sql_, *first, queries);
  CO_ASSIGN_OR_RETURN(auto begun, co_await pool_->begin(first->context, std::move(queries)));
  transaction_ = std::move(begun.transaction);
  locked_at_ = std::chrono::steady_clock::now();
  co_await reached(steps_, CommitStep::kLocked);
  CO_ASSIGN_OR_RETURN(auto opened, read_opening(begun.rows));
  head_ = opened.head;
  foreign_conflicts_ = opened.foreign_conflicts;
  begun.rows.erase(begun.rows.begin(), begun.rows.begin() + opening);
  plan(std::move(begun.rows));
  co_return base::Status{};
}

// What the member before has planned is sent with the questions of this one.
base::Task<base::Status> CommitGroup::join(WaitingCommit* commit) {
  std::vector<Query> queries = std::exchange(unsent_, {});
  const auto sent = static_cast<std::ptrdiff_t>(queries.size());
  const std::size_t sender = members_.size() - 1;
  add_facts(*sql_, *commit, queries);
  // It takes part from here on: if this fails, nobody knows by whose fault.
  members_.push_back({commit});
  // The most patient of them decides how long the others' work is waited for.
  transaction_->extend(commit->context.deadline);
  CO_ASSIGN_OR_RETURN(auto rows, co_await transaction_->run(std::move(queries)));
  take_times(members_[sender], rows);
  rows.erase(rows.begin(), rows.begin() + sent);
  plan(std::move(rows));
  co_return base::Status{};
}

base::Task<base::Status> CommitGroup::finish() {
  co_await reached(steps_, CommitStep::kPlanned);
  if (!written_) {
    co_await transaction_->rollback();
    answer_all();
    co_return base::Status{};
  }
  CO_ASSIGN_OR_RETURN(auto rows, co_await transaction_->run_and_commit(std::move(unsent_)));
  co_await reached(steps_, CommitStep::kCommitted);
  take_times(members_.back(), rows);
  answer_all();
  co_return base::Status{};
}

void CommitGroup::take_times(Member& member, const Rows& rows) {
  for (std::size_t i = 0; i < member.snapshot_rows.size(); ++i) {
    Committed& committed = member.outcome->value();
    head_.snapshot_ms = rows[member.snapshot_rows[i]]->int64(0, 0);
    committed.commits[i].committed_ms = head_.snapshot_ms - kShownEarlierMs;
    committed.version.snapshot_ms = head_.snapshot_ms;
  }
}

void CommitGroup::answer_all() {
  for (Member& member : members_) {
    if (!member.commit->answer) member.commit->answer = std::move(member.outcome);
  }
}

void CommitGroup::plan(Rows preconditions) {
  Member& member = members_.back();
  auto planned = plan_commit(*member.commit, head_, std::move(preconditions));
  if (!planned) {
    member.outcome.emplace(std::move(planned).error());
  } else {
    ClosingQueries closing = closing_queries(*sql_, std::move(*planned), head_, member.commit->key);
    member.writes = !closing.queries.empty();
    member.snapshot_rows = std::move(closing.snapshot_rows);
    unsent_ = std::move(closing.queries);
    head_ = closing.after;
    member.outcome.emplace(std::move(closing.committed));
  }
  // What builds on nothing that may be undone is certain now.
  if (!written_ && !member.writes) member.commit->answer = member.outcome;
  written_ = written_ || member.writes;
}

}  // namespace lake::ducklake
