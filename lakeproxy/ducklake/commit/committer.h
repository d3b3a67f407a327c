#pragma once

// The one way in which an event loop commits to a lake. Commits that come
// while another is under way wait, and then share one transaction: whoever
// comes first leads, takes those that wait behind it along, and hands the lead
// to the next. A commit that finds nobody waits for nobody.

#include <deque>
#include <memory>

#include "lakeproxy/ducklake/commit/commit_backoff.h"
#include "lakeproxy/ducklake/commit/commit_group.h"
#include "lakeproxy/measure/wait_meter.h"

namespace lake::ducklake {

/// How long a group grows: until it commits, the lake's next snapshot id is taken.
struct GroupLimits {
  std::size_t members = 64;
  std::chrono::milliseconds join_time{50};  ///< From the lock on.
};

/// One event loop's committer to one lake. What it is given outlives it.
class Committer {
 public:
  Committer(base::pg::Pool& pool, SchemaSql sql, CommitWatch watch = {}, GroupLimits limits = {})
      : pool_(&pool), sql_(std::move(sql)), watch_(watch), limits_(limits) {}
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// Commits, and again after a collision with another writer, up to
  /// `context`'s deadline and at most 20 times. With a `key` the idempotency record of the
  /// change is written in the same transaction: one commit for each key.
  /// Errors: the planner's; kConflict  20 collisions, or (kAlreadyDone) the key
  ///         has a record; kOutcomeUnknown  the connection broke after COMMIT was
  ///         sent; kUnavailable, kTimeout  nothing was changed. Those of a commit
  ///         that shares the transaction are not among them.
  [[nodiscard]] base::Task<base::Result<Committed>> commit(
      base::RequestContext context, std::vector<base::pg::Query> preconditions, Planner planner,
      std::optional<model::IdempotencyKey> key);

 private:
  base::Task<void> wait_for_news(WaitingCommit* commit);
  base::Task<void> lead(const WaitingCommit* leader);
  base::Task<void> pause(int attempts);
  base::Task<void> run_group();
  WaitingCommit* next_of(const CommitGroup& group);
  void settle(const CommitGroup& group, const base::Error& error);
  void hand_on();

  base::pg::Pool* pool_;
  SchemaSql sql_;
  CommitWatch watch_;
  GroupLimits limits_;
  std::deque<WaitingCommit*> waiting_;  ///< In the order in which they came.
  bool leading_ = false;                ///< Somebody runs groups, or is told to.
  bool is_alone_ = false;               ///< The group under way takes nobody else.
  CommitBackoff backoff_;
};

}  // namespace lake::ducklake
