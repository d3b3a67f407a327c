#pragma once

// Opening a connection takes several exchanges (address, TLS, password), and
// libpq's steps must each be waited for without stopping the event loop.

#include <libpq-fe.h>

#include <memory>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "base/postgres/socket_wait.h"

namespace base::pg {

struct ConnectionFinish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, ConnectionFinish>;

/// Connects; the result is non-blocking and in pipeline mode. Where there are several
/// hosts or addresses each gets its part of the time, and of several hosts the first
/// that takes writes is kept.
/// A host name is resolved off the loop, by the system's resolver.
/// Errors: kUnavailable  refused, no such host, bad password, no host that takes
///         writes (detail says);
///         kTimeout  the deadline passed; kCancelled.
[[nodiscard]] Task<Result<ConnectionPtr>> connect(std::shared_ptr<const PoolOptions> options,
                                                  Deadline deadline);

}  // namespace base::pg
