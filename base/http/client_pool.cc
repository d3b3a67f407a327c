#include "base/http/client_pool.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

#include "base/http/dial.h"

namespace base::http {

namespace asio = boost::asio;

Lease::Lease(std::shared_ptr<ConnectionPool> pool, std::unique_ptr<ClientConnection> connection)
    : pool_(std::move(pool)), connection_(std::move(connection)) {}

Lease::~Lease() {
  if (pool_ == nullptr) return;
  if (!keep_ || connection_ == nullptr || !connection_->reusable()) connection_.reset();
  pool_->give_back(pool_, std::move(connection_));
}

struct ConnectionPool::Waiter {
  explicit Waiter(const asio::any_io_executor& executor) : wake(executor) {}
  asio::steady_timer wake;
  std::optional<Lease> lease;
};

// A waiter's place in the queue, given up with the coroutine that holds it.
class ConnectionPool::Place {
 public:
  Place(ConnectionPool& pool, Waiter& waiter) : pool_(pool), waiter_(waiter) {
    pool_.waiting_.push_back(&waiter_);
  }
  ~Place() { pool_.waiting_.remove(&waiter_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  ConnectionPool& pool_;
  Waiter& waiter_;
};

std::unique_ptr<ClientConnection> ConnectionPool::take_kept() {
  // The latest first: it is the least likely to have been closed by now.
  while (!kept_.empty()) {
    auto connection = std::move(kept_.back());
    kept_.pop_back();
    if (connection->reusable()) return connection;
  }
  return nullptr;
}

void ConnectionPool::give_back(const std::shared_ptr<ConnectionPool>& self,
                               std::unique_ptr<ClientConnection> kept) {
  if (!waiting_.empty()) {
    Waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.lease.emplace(self, std::move(kept));
    next.wake.cancel();
    return;
  }
  --leased_;
  if (kept != nullptr) kept_.push_back(std::move(kept));
}

Task<Result<Lease>> ConnectionPool::acquire(std::shared_ptr<ConnectionPool> pool, Deadline until) {
  if (pool->leased_ < pool->limit_) {
    ++pool->leased_;
    co_return Lease(pool, pool->take_kept());
  }
  Waiter waiter(co_await asio::this_coro::executor);
  Place place(*pool, waiter);
  waiter.wake.expires_at(until);
  co_await waiter.wake.async_wait(asio::as_tuple(asio::use_awaitable));
  if (co_await was_cancelled()) {
    co_return fail(ErrorKind::kCancelled, "the request was cancelled");
  }
  if (!waiter.lease) {
    co_return fail(ErrorKind::kTimeout, "a server this request needs is busy")
        .with_detail("no connection became free");
  }
  co_return std::move(*waiter.lease);
}

}  // namespace base::http
