#pragma once

// The life of one connection: messages go from the socket to the session, and
// what the session wants done is done here: send, verify, run, cancel, close.
// Requests run side by side; the session's own rules keep them in bounds.
// Source: docs/wire-3.0.md, sections 1, 5 and 9.

#include <memory>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/task.h"
#include "base/websocket/connection.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/server_context.h"
#include "toolserver/transport/connection_counts.h"
#include "toolserver/transport/credential_check.h"
#include "toolserver/transport/operation.h"

namespace tool::transport {

struct SessionMetrics {
  explicit SessionMetrics(base::metrics::Registry& registry);
  base::metrics::Gauge sessions;
  base::metrics::Counter opened;
  base::metrics::Counter refused;
};

/// What the sessions of one event loop share; outlives them.
struct SessionServices {
  std::shared_ptr<const session::ServerContext> context;
  CredentialCheck& credentials;
  Operations& operations;
  const base::Clock& clock;
  base::log::Logger log;
  SessionMetrics metrics;
};

/// Serves `connection` until it ends; returns when all of its requests have.
/// `services` outlives the task.
[[nodiscard]] base::Task<void> run_session(const SessionServices& services,
                                           std::unique_ptr<base::ws::Connection> connection,
                                           std::shared_ptr<ConnectionCounts::Place> place,
                                           session::Channel channel);

}  // namespace tool::transport
