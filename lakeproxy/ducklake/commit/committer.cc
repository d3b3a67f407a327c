#include "lakeproxy/ducklake/commit/committer.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "lakeproxy/ducklake/lake/reasons.h"

namespace lake::ducklake {
namespace {

namespace asio = boost::asio;
using base::ErrorKind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kAttempts = 20;
// After so many collisions a commit runs by itself: what collides may be its own.
constexpr int kAttemptsInCompany = 10;

// Another writer was there first, and nothing was changed.
bool is_collision(const base::Error& error) {
  return error.kind() == ErrorKind::kConflict &&
         (error.reason() == base::pg::kUniqueViolation ||
          error.reason() == base::pg::kSerializationFailure ||
          error.reason() == base::pg::kStatementStale || error.reason() == base::pg::kRolledBack);
}

// The server or the way to it is at fault, not a statement.
bool concerns_all(const base::Error& error) {
  return error.kind() == ErrorKind::kUnavailable || error.kind() == ErrorKind::kCancelled ||
         error.kind() == ErrorKind::kOutcomeUnknown;
}

base::Error too_late() {
  return base::fail(ErrorKind::kTimeout, "Other writers kept the lake busy until the deadline.");
}

// What becomes of a member whose transaction failed with `error`: its answer,
// or nothing, and it tries again.
std::optional<base::Error> verdict(const CommitGroup::Member& member, const base::Error& error,
                                   bool in_company) {
  WaitingCommit& commit = *member.commit;
  // A refusal stood on what others had written, and that is undone.
  const bool was_refused = member.outcome && !member.outcome->has_value();
  const bool collided = is_collision(error);
  if (concerns_all(error) && !was_refused) return error;
  if (!in_company && !collided && !was_refused) return error;
  if (commit.context.expired()) return too_late();
  if (++commit.attempts >= kAttempts) {
    return base::fail(ErrorKind::kConflict, "Too many other writers; nothing was committed.")
        .with_reason(kBusy);
  }
  const bool perhaps_its_own =
      !collided && !concerns_all(error) && error.kind() != ErrorKind::kTimeout;
  commit.alone = commit.alone || perhaps_its_own || commit.attempts >= kAttemptsInCompany;
  return std::nullopt;
}

}  // namespace

base::Task<base::Result<Committed>> Committer::commit(base::RequestContext context,
                                                      std::vector<base::pg::Query> preconditions,
                                                      Planner planner,
                                                      std::optional<model::IdempotencyKey> key) {
  // Others wait for what this coroutine does, so nobody may end it half-way.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  asio::steady_timer never(co_await asio::this_coro::executor, steady_clock::time_point::max());
  WaitingCommit commit{.context = context,
                       .preconditions = std::move(preconditions),
                       .planner = std::move(planner),
                       .key = std::move(key),
                       .woken = std::move(never)};
  waiting_.push_back(&commit);
  if (std::exchange(leading_, true)) {
    co_await wait_for_news(&commit);
  } else {
    commit.leads = true;
  }
  if (commit.leads) {
    co_await lead(&commit);
    hand_on();
  }
  co_return std::move(*commit.answer);
}

base::Task<void> Committer::wait_for_news(WaitingCommit* commit) {
  auto wait =
      measure::WaitMeter::wait(watch_.meter, commit->context.request_id, measure::Party::kPostgres);
  while (!commit->answer && !commit->leads) {
    boost::system::error_code woken;
    co_await commit->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
}

base::Task<void> Committer::lead(const WaitingCommit* leader) {
  while (!leader->answer) {
    co_await pause(leader->attempts);
    co_await run_group();
  }
}

// After a collision the other writer shall come through; and see CommitBackoff.
base::Task<void> Committer::pause(int attempts) {
  const auto now = steady_clock::now();
  auto until = backoff_.next(now);
  if (attempts > 0) until = std::max(until, now + milliseconds(1 + (attempts - 1) * 5));
  if (until == now) co_return;
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  co_await timer.async_wait(asio::use_awaitable);
}

base::Task<void> Committer::run_group() {
  CommitGroup group(*pool_, sql_, watch_.steps);
  auto done = co_await group.run([&] { return next_of(group); });
  if (group.foreign_conflicts()) backoff_.observe(*group.foreign_conflicts(), steady_clock::now());
  if (!done) settle(group, done.error());
  for (const CommitGroup::Member& member : group.members()) {
    if (member.commit->answer) member.commit->woken.cancel();
  }
}

// The first of a group is not refused for being late: the transaction tells.
WaitingCommit* Committer::next_of(const CommitGroup& group) {
  if (waiting_.empty()) return nullptr;
  WaitingCommit* next = waiting_.front();
  const std::size_t taken = group.members().size();
  const bool full =
      taken >= limits_.members || steady_clock::now() - group.locked_at() > limits_.join_time;
  if (taken > 0 && (full || next->alone || is_alone_)) return nullptr;
  waiting_.pop_front();
  is_alone_ = next->alone;
  return next;
}

// Nothing of the transaction stays, or nobody knows.
void Committer::settle(const CommitGroup& group, const base::Error& error) {
  const auto& members = group.members();
  const bool in_company = members.size() > 1;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->commit->answer) continue;
    if (auto answer = verdict(*member, error, in_company)) {
      member->commit->answer.emplace(std::move(*answer));
    } else {
      waiting_.push_front(member->commit);
    }
  }
}

void Committer::hand_on() {
  leading_ = !waiting_.empty();
  if (!leading_) return;
  waiting_.front()->leads = true;
  waiting_.front()->woken.cancel();
}

}  // namespace lake::ducklake
