#include "base/postgres/pool_core.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace base::pg {
namespace {

namespace asio = boost::asio;

// A server that is alive rolls back at once.
constexpr std::chrono::seconds kRollbackTime{5};

Error closed_error() {
  return Error(ErrorKind::kUnavailable, std::string(message_for(ErrorKind::kUnavailable)))
      .with_detail("the pool is closed");
}

// Owns what it works on, so nobody needs to wait for it.
Task<void> roll_back(Lease lease) {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  auto deadline = std::chrono::steady_clock::now() + kRollbackTime;
  Connection& connection = lease.connection();
  co_await connection.run({.opening = "ROLLBACK"}, deadline);
  if (connection.in_transaction()) connection.abort();
}

}  // namespace

// Stands in the frame of the coroutine that waits.
struct PoolCore::Waiter {
  Waiter(PoolCore& core, const asio::any_io_executor& executor) : owner(core), timer(executor) {
    place = owner.waiters_.insert(owner.waiters_.end(), this);
  }
  ~Waiter() { leave(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void leave() {
    if (queued) owner.waiters_.erase(place);
    queued = false;
  }

  PoolCore& owner;
  asio::steady_timer timer;
  std::optional<Lease> granted;
  std::list<Waiter*>::iterator place;
  bool queued = true;
};

Lease::~Lease() {
  if (core_ != nullptr) core_->take_back(std::move(connection_));
}

Task<Status> Lease::reconnect(Deadline deadline) {
  if (connection_ != nullptr) core_->leased_.erase(connection_.get());
  connection_.reset();
  co_return co_await core_->open_into(connection_, deadline);
}

Task<Result<Lease>> PoolCore::acquire(RequestContext context) {
  if (closed_) co_return closed_error();
  if (context.expired()) {
    co_return fail(ErrorKind::kTimeout, std::string(message_for(ErrorKind::kTimeout)))
        .with_detail("before a connection was sought");
  }
  if (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    leased_.insert(connection.get());
    tell_use();
    co_return Lease(shared_from_this(), std::move(connection));
  }
  if (slots_ < options_->connections) {
    ++slots_;
    tell_use();
    Lease lease(shared_from_this(), nullptr);
    CO_RETURN_IF_ERROR(co_await lease.reconnect(context.deadline));
    co_return lease;
  }
  auto until =
      std::min(context.deadline, std::chrono::steady_clock::now() + options_->acquire_time);
  CO_ASSIGN_OR_RETURN(Lease lease, co_await wait_for_lease(context, until));
  if (!lease.connected()) CO_RETURN_IF_ERROR(co_await lease.reconnect(context.deadline));
  co_return lease;
}

Task<Result<Lease>> PoolCore::wait_for_lease(RequestContext context, Deadline until) {
  Waiter waiter(*this, co_await asio::this_coro::executor);
  waiter.timer.expires_at(until);
  co_await waiter.timer.async_wait(asio::as_tuple(asio::use_awaitable));
  waiter.leave();
  auto state = co_await asio::this_coro::cancellation_state;
  if (waiter.granted) co_return *std::move(waiter.granted);
  if (state.cancelled() != asio::cancellation_type::none) {
    co_return fail(ErrorKind::kCancelled, std::string(message_for(ErrorKind::kCancelled)));
  }
  if (closed_) co_return closed_error();
  auto kind = context.expired() ? ErrorKind::kTimeout : ErrorKind::kUnavailable;
  co_return fail(kind, std::string(message_for(kind))).with_detail("no connection became free");
}

Task<Status> PoolCore::open_into(std::unique_ptr<Connection>& place, Deadline deadline) {
  auto until = std::chrono::steady_clock::now() + options_->connect_time;
  auto opened = co_await Connection::open(options_, std::min(deadline, until));
  if (!opened) {
    // That the server is slow to connect is its absence, not the caller's haste.
    bool ours = opened.error().kind() == ErrorKind::kTimeout && until < deadline;
    if (!ours) co_return std::move(opened).error();
    co_return fail(ErrorKind::kUnavailable, std::string(message_for(ErrorKind::kUnavailable)))
        .with_detail("no connection within connect_time");
  }
  if (closed_) co_return closed_error();
  place = *std::move(opened);
  leased_.insert(place.get());
  co_return Status();
}

void PoolCore::take_back(std::unique_ptr<Connection> connection) {
  if (connection == nullptr) return free_slot();
  leased_.erase(connection.get());
  bool roll = connection->in_transaction();
  bool keep =
      roll ? connection->usable() && connection->claim_rollback() : connection->worth_keeping();
  if (closed_ || !keep) {
    connection.reset();
    return free_slot();
  }
  if (!roll) return hand_on(std::move(connection));
  auto executor = connection->executor();
  leased_.insert(connection.get());
  asio::co_spawn(executor, roll_back(Lease(shared_from_this(), std::move(connection))),
                 asio::detached);
}

void PoolCore::hand_on(std::unique_ptr<Connection> connection) {
  if (waiters_.empty()) {
    idle_.push_back(std::move(connection));
    return tell_use();
  }
  Waiter* first = waiters_.front();
  first->leave();
  leased_.insert(connection.get());
  first->granted.emplace(shared_from_this(), std::move(connection));
  first->timer.cancel();
}

// The first in the row may connect in the place of the connection that went.
void PoolCore::free_slot() {
  if (closed_ || waiters_.empty()) {
    --slots_;
    return tell_use();
  }
  Waiter* first = waiters_.front();
  first->leave();
  first->granted.emplace(shared_from_this(), nullptr);
  first->timer.cancel();
}

void PoolCore::tell_use() {
  const PoolUse now = use();
  const PoolUse before = std::exchange(told_, now);
  if (options_->use_changed && now != before) options_->use_changed(before, now);
}

void PoolCore::close() {
  closed_ = true;
  slots_ -= idle_.size();
  idle_.clear();
  tell_use();
  for (Connection* connection : leased_) connection->abort();
  for (Waiter* waiter : waiters_) waiter->timer.cancel();
}

}  // namespace base::pg
