#pragma once

// The life of one connection: messages go from the socket to the session, and
// what the session wants done is done here: send, verify, run, cancel, close.
// Requests run side by side; the session's own rules keep them in bounds.
// Source: docs/wire-3.0.md, sections 1, 5 and 9.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/task.h"
#include "base/websocket/connection.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/server_context.h"
#include "toolserver/transport/connection_counts.h"
#include "toolserver/transport/credential_check.h"
#include "toolserver/transport/open_sessions.h"
#include "toolserver/transport/operation.h"

namespace tool::transport {

/// What may be queued beside the largest answer: what waits before it, and small
/// answers and events behind it.
inline constexpr std::size_t kQueueHeadroom = 1 << 20;

struct SessionMetrics {
  explicit SessionMetrics(base::metrics::Registry& registry);
  base::metrics::Gauge sessions;
  base::metrics::Counter opened;
  base::metrics::Counter refused;
};

/// Bounds the log lines about connections that never authenticate, which anybody
/// can cause; what is left out is counted and told with the next one. Belongs to
/// one event loop.
class StrangerLog {
 public:
  explicit StrangerLog(base::log::Logger log) : log_(std::move(log)) {}
  /// Whether one more line may be written now.
  [[nodiscard]] bool allows(std::chrono::steady_clock::time_point now);

 private:
  static constexpr unsigned kLines = 10;  // In each second.
  base::log::Logger log_;
  std::chrono::steady_clock::time_point since_{};
  unsigned lines_ = 0;
  std::uint64_t left_out_ = 0;
};

/// What the sessions of one event loop share; outlives them.
struct SessionServices {
  std::shared_ptr<const session::ServerContext> context;
  /// The rules in force now, which may be newer than the session: what was taken
  /// back since must not open it again.
  std::function<CredentialCheck&()> credentials;
  OpenSessions& sessions;
  Operations& operations;
  audit::AuditLog& audit;  ///< Logins, refused ones, and how sessions end.
  ConnectionCounts& counts;
  const base::Clock& clock;
  base::log::Logger log;
  SessionMetrics metrics;
  std::unique_ptr<StrangerLog> strangers;
};

/// Serves `connection` until it ends; returns when all of its requests have.
/// `services` outlives the task.
[[nodiscard]] base::Task<void> run_session(const SessionServices& services,
                                           std::unique_ptr<base::ws::Connection> connection,
                                           session::Channel channel);

}  // namespace tool::transport
