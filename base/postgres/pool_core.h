#pragma once

// The bookkeeping of a pool: at most so many connections, callers that wait
// for one in the order they came, and every connection accounted for whatever
// becomes of the coroutine that held it.

#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/postgres/connection.h"
#include "base/postgres/session.h"

namespace base::pg {

class PoolCore;

/// The right to one of the pool's connections; gives it back when it goes. A
/// connection inside a transaction is rolled back first, in the background.
class Lease {
 public:
  Lease(std::shared_ptr<PoolCore> core, std::unique_ptr<Connection> connection)
      : core_(std::move(core)), connection_(std::move(connection)) {}
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  [[nodiscard]] Connection& connection() { return *connection_; }
  [[nodiscard]] bool connected() const { return connection_ != nullptr; }
  /// Replaces the connection by a new one.
  /// Errors: as connect(); then there is none.
  [[nodiscard]] Task<Status> reconnect(Deadline deadline);

 private:
  std::shared_ptr<PoolCore> core_;  // Null once moved from.
  std::unique_ptr<Connection> connection_;
};

class PoolCore : public std::enable_shared_from_this<PoolCore> {
 public:
  explicit PoolCore(PoolOptions options)
      : options_(std::make_shared<const PoolOptions>(std::move(options))) {}

  /// A lease with a connection; it may turn out to be dead.
  /// Errors: kUnavailable  closed, none free in acquire_time, or none can be
  ///         made; kTimeout  the deadline passed first; kCancelled.
  [[nodiscard]] Task<Result<Lease>> acquire(RequestContext context);
  [[nodiscard]] PoolUse use() const {
    return {.in_use = slots_ - idle_.size(), .idle = idle_.size()};
  }
  void close();

 private:
  friend class Lease;
  struct Waiter;

  [[nodiscard]] Task<Result<Lease>> wait_for_lease(RequestContext context, Deadline until);
  [[nodiscard]] Task<Status> open_into(std::unique_ptr<Connection>& place, Deadline deadline);
  void take_back(std::unique_ptr<Connection> connection);
  void hand_on(std::unique_ptr<Connection> connection);
  void free_slot();
  void tell_use();

  std::shared_ptr<const PoolOptions> options_;
  bool closed_ = false;
  std::size_t slots_ = 0;  // Connections that exist or are being made.
  PoolUse told_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::unordered_set<Connection*> leased_;
  std::list<Waiter*> waiters_;
};

}  // namespace base::pg
