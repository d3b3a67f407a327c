#pragma once

// One port has several faces: the WebSocket of the wire, the small HTTP side for
// those who watch the service, and, where it is on, that of MCP clients
// (mcp_ingress/). Which path is which stands here.
// Source: docs/wire-3.0.md, sections 1.1, 1.3 and 1.5.

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http/server.h"
#include "base/metrics/registry.h"
#include "base/websocket/accept.h"
#include "toolserver/transport/session_run.h"

namespace tool::transport {

struct EndpointOptions {
  std::string path = "/scp/v3";
  base::ws::AcceptOptions websocket;
};

/// Whether the service takes work: it does until it drains. Called on
/// any loop; cheap.
using Readiness = std::function<bool()>;

/// Paths that somebody else serves on the same port, with checks of his own.
struct OtherFace {
  std::function<bool(std::string_view path)> takes;
  base::http::Handler handler;
};

/// Serves the requests of one event loop. Everything borrowed outlives the
/// handler.
[[nodiscard]] base::http::Handler make_handler(const EndpointOptions& options,
                                               const SessionServices& services,
                                               const base::metrics::Registry& metrics,
                                               Readiness ready, std::vector<OtherFace> others = {});

/// Answers what never reached the handler: a status, a sentence, JSON.
[[nodiscard]] base::http::Refusal make_refusal();

}  // namespace tool::transport
