#pragma once

// Several commits in one PostgreSQL transaction. One flush of the log to the
// disk is enough for all of them, and their snapshots are n+1, n+2, ... Each is
// planned on what the ones before it have written, as if those had committed;
// a refusal of one therefore concerns that one alone.
//
// A statement that fails ends the transaction for all (its steps are in
// commit_step.h), and nothing of it stays: Committer begins again.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/commit/snapshot_commit.h"

namespace lake::ducklake {

/// A commit that waits for its answer.
struct WaitingCommit {
  base::RequestContext context;
  std::vector<base::pg::Query> preconditions;
  Planner planner;
  std::optional<model::IdempotencyKey> key;
  boost::asio::steady_timer woken;  ///< Never fires: cancelled when there is news.
  bool leads = false;               ///< It runs the next group.
  bool alone = false;               ///< In a group of its own.
  int attempts = 0;
  std::optional<base::Result<Committed>> answer = std::nullopt;
};

/// One transaction on one lake. All that it refers to outlives it.
class CommitGroup {
 public:
  /// The next one to join; null when there is none. Not null at first.
  using Next = std::function<WaitingCommit*()>;

  CommitGroup(base::pg::Pool& pool, const SchemaSql& sql, const StepWatch* steps)
      : pool_(&pool), sql_(&sql), steps_(steps) {}

  /// Commits those that `next` gives, until it gives none, and answers each.
  /// Errors: of the transaction as a whole; kOutcomeUnknown  COMMIT was sent
  ///         and not answered. Then only those have an answer whose refusal
  ///         does not build on what was undone.
  [[nodiscard]] base::Task<base::Status> run(Next next);

  /// Those that took part, in their order.
  struct Member {
    WaitingCommit* commit = nullptr;
    std::optional<base::Result<Committed>> outcome = std::nullopt;  ///< If COMMIT succeeds.
    bool writes = false;
    std::vector<std::size_t> snapshot_rows = {};  ///< Of its statements: those that tell a time.
  };
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  /// When the lake's head became ours.
  [[nodiscard]] std::chrono::steady_clock::time_point locked_at() const { return locked_at_; }
  /// Of other writers, how often one lost its snapshot id, as the database counts.
  [[nodiscard]] std::optional<std::int64_t> foreign_conflicts() const { return foreign_conflicts_; }

 private:
  using Rows = std::vector<base::pg::RowsPtr>;
  base::Task<base::Status> begin(WaitingCommit* first);
  base::Task<base::Status> join(WaitingCommit* commit);
  base::Task<base::Status> finish();
  void plan(Rows preconditions);
  void take_times(Member& member, const Rows& rows);
  void answer_all();

  base::pg::Pool* pool_;
  const SchemaSql* sql_;
  const StepWatch* steps_;
  std::unique_ptr<base::pg::Transaction> transaction_;
  LakeHead head_;  ///< The base version of the next member.
  std::vector<Member> members_;
  std::vector<base::pg::Query> unsent_;  ///< Of the last member.
  bool written_ = false;                 ///< Something was planned or sent.
  std::chrono::steady_clock::time_point locked_at_;
  std::optional<std::int64_t> foreign_conflicts_;
};

}  // namespace lake::ducklake
