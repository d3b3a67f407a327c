#pragma once

// MCP over HTTP: one path, one JSON-RPC message for each POST, an answer as JSON
// or as events. Every request shows who asks; a session only says to which
// conversation it belongs.
// Source: Model Context Protocol 2026-07-28 and 2025-11-25, "Streamable HTTP".

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

#include "base/http/message.h"
#include "base/http/server.h"
#include "base/log/logger.h"
#include "base/runtime/task.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/mcp/message.h"
#include "toolserver/mcp_ingress/changes.h"
#include "toolserver/mcp_ingress/client_session.h"
#include "toolserver/mcp_ingress/dispatcher.h"
#include "toolserver/mcp_ingress/http_access.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/transport/connection_counts.h"
#include "toolserver/transport/credential_check.h"
#include "toolserver/transport/open_sessions.h"

namespace tool::mcp_ingress {

struct HttpOptions {
  AccessOptions access;
  mcp::MessageBounds bounds;
  /// How long an answer is waited for before its request is answered by a stream;
  /// what a tool tells meanwhile begins one at once.
  std::chrono::milliseconds patience{2'000};
  std::chrono::milliseconds keep_alive{15'000};  ///< Of a silent stream.
};

/// What the endpoints of all event loops share; outlives them.
struct HttpServices {
  const HttpOptions& options;
  const Dispatcher& dispatcher;
  pipeline::Pipeline& pipeline;
  audit::AuditLog& audit;
  ClientSessions& sessions;
  Changes& changes;
  transport::OpenSessions& open;
  transport::ConnectionCounts& counts;
  const base::Clock& clock;
  /// The rules in force now, of the loop that asks.
  std::function<transport::CredentialCheck&()> credentials;
};

/// How large the body of a request may be, by its head alone: nothing is taken
/// from who shows no credential, or for another path.
[[nodiscard]] std::size_t body_bytes_of(const base::http::Request& head, std::string_view path,
                                        std::size_t most);

/// Whether the path is the endpoint's or that of its metadata.
[[nodiscard]] bool is_for_mcp(std::string_view path, const AccessOptions& options);

/// Serves the requests of one event loop for which is_for_mcp() holds.
[[nodiscard]] base::http::Handler make_http_endpoint(HttpServices services);

}  // namespace tool::mcp_ingress
