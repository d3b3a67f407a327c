#pragma once

// The connections of one client: at most so many at once, kept for the next
// request, and handed to those who wait in the order they came.

#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "base/core/result.h"
#include "base/http/client_connection.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::http {

class ConnectionPool;

/// The right to use one connection, given back when it goes. Without keep()
/// the connection is closed: a request that was cancelled or broke off leaves
/// the stream at an unknown place.
class Lease {
 public:
  Lease(std::shared_ptr<ConnectionPool> pool, std::unique_ptr<ClientConnection> connection);
  Lease(Lease&&) noexcept = default;
  Lease& operator=(Lease&&) = delete;
  ~Lease();

  /// A kept connection, or null: then the holder opens one and sets it.
  [[nodiscard]] ClientConnection* connection() { return connection_.get(); }
  void set(std::unique_ptr<ClientConnection> connection) { connection_ = std::move(connection); }
  /// The connection may serve the next request, if it still can.
  void keep() { keep_ = true; }

 private:
  std::shared_ptr<ConnectionPool> pool_;
  std::unique_ptr<ClientConnection> connection_;
  bool keep_ = false;
};

/// Used from one event loop. Shared by its leases, so that one that is torn
/// down with the event loop finds it alive.
class ConnectionPool {
 public:
  explicit ConnectionPool(std::size_t limit) : limit_(limit) {}

  /// Waits for a free connection. Runs with throw_if_cancelled(false).
  /// Errors: kTimeout  `until` passed; kCancelled.
  [[nodiscard]] static Task<Result<Lease>> acquire(std::shared_ptr<ConnectionPool> pool,
                                                   Deadline until);

 private:
  friend class Lease;
  struct Waiter;
  class Place;

  void give_back(const std::shared_ptr<ConnectionPool>& self,
                 std::unique_ptr<ClientConnection> kept);
  [[nodiscard]] std::unique_ptr<ClientConnection> take_kept();

  std::size_t limit_;
  std::size_t leased_ = 0;  ///< With the kept ones never over limit_.
  std::vector<std::unique_ptr<ClientConnection>> kept_;
  std::list<Waiter*> waiting_;  ///< Only while all are leased.
};

}  // namespace base::http
