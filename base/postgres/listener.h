#pragma once

// NOTIFY reaches only sessions that listen at that moment, and a session-wide
// advisory lock lives as long as its session. Both need a connection that stays
// open and belongs to one holder, apart from the pool. When it breaks, what was
// notified meanwhile is lost: open a new one and look for yourself.
// Source: PostgreSQL 15 documentation, "LISTEN", "NOTIFY", "Advisory Locks".

#include <memory>
#include <string>
#include <vector>

#include "base/postgres/session.h"

namespace base::pg {

/// One event loop's; not thread-safe.
class Listener {
 public:
  /// Connects and listens on `channel` (at most 63 bytes).
  /// Errors: kUnavailable, kTimeout, kCancelled.
  [[nodiscard]] static Task<Result<std::unique_ptr<Listener>>> open(RequestContext context,
                                                                    PoolOptions options,
                                                                    std::string channel);
  virtual ~Listener() = default;

  /// Takes the lock of that name unless another session holds it; it is held
  /// until this listener goes.
  /// Errors: kUnavailable, kTimeout, kCancelled, after which the connection is of no use.
  [[nodiscard]] virtual Task<Result<bool>> try_lock(RequestContext context, std::string name) = 0;
  /// Waits for notifications; those that came together are given together,
  /// equal payloads once. Nothing when the deadline passed.
  /// Errors: kUnavailable  the connection broke; kCancelled.
  [[nodiscard]] virtual Task<Result<std::vector<std::string>>> next(RequestContext context) = 0;
  /// Whether the server still answers.
  /// Errors: kUnavailable, kTimeout, kCancelled.
  [[nodiscard]] virtual Task<Status> ping(RequestContext context) = 0;
  /// Ends a wait, now or later, with kUnavailable.
  virtual void close() = 0;
};

}  // namespace base::pg
