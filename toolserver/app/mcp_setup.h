#pragma once

// The way in for MCP clients, from settings to what serves it.
// Source: docs/tools/mcp.md; docs/tool-configuration.md.

#include <functional>
#include <memory>
#include <vector>

#include "base/core/clock.h"
#include "base/websocket/accept.h"
#include "toolserver/mcp_ingress/changes.h"
#include "toolserver/mcp_ingress/client_session.h"
#include "toolserver/mcp_ingress/few_tools.h"
#include "toolserver/mcp_ingress/http_endpoint.h"
#include "toolserver/mcp_ingress/pipeline_tools.h"
#include "toolserver/mcp_ingress/providers.h"
#include "toolserver/mcp_ingress/request_state.h"
#include "toolserver/mcp_ingress/tasks.h"
#include "toolserver/settings/settings.h"
#include "toolserver/transport/tool_endpoint.h"
#include "toolserver/workflow/flows.h"

namespace tool::app {

/// What outlives a reload: conversations go on. Safe from any thread.
struct McpShared {
  /// All outlive it.
  McpShared(const base::Clock& clock, base::Random& random, transport::OpenSessions& open)
      : sessions(clock, random), states(clock, random), tasks(clock, random, open, changes) {}
  mcp_ingress::ClientSessions sessions;
  mcp_ingress::RequestStates states;
  mcp_ingress::Changes changes;
  mcp_ingress::Tasks tasks;
};

/// All outlive the face.
struct McpParts {
  McpShared& shared;
  pipeline::Pipeline& pipeline;
  audit::AuditLog& audit;
  transport::OpenSessions& open;
  transport::ConnectionCounts& counts;
  const base::Clock& clock;
  base::Random& random;
  workflow::Flows& flows;
  mcp_ingress::Providers providers;
};

/// Of one generation.
class McpFace {
 public:
  McpFace(const settings::SecureConfig& config, const base::ws::AcceptOptions& who,
          std::vector<Method> methods, McpParts parts);

  /// What serves one event loop, whose credentials are checked by `credentials`.
  [[nodiscard]] transport::OtherFace of_worker(
      std::function<transport::CredentialCheck&()> credentials) const;

 private:
  const McpParts parts_;
  const mcp_ingress::HttpOptions options_;
  mcp_ingress::PipelineTools tools_;
  mcp_ingress::FewTools few_;
  const mcp_ingress::TaskHost host_;
  const mcp_ingress::Dispatcher dispatcher_;
};

/// The URL of the endpoint as clients know it.
[[nodiscard]] std::string mcp_resource(const settings::SecureConfig& config);
/// The lists that MCP clients are told of when the registry changes, which does not say
/// what of it has.
[[nodiscard]] std::vector<mcp_ingress::Change::Kind> mcp_lists(
    const settings::SecureConfig& config);
/// The bodies that requests may have: those of the endpoint alone have any.
[[nodiscard]] std::size_t mcp_body_bytes(const base::http::Request& head,
                                         const settings::SecureConfig& config);

}  // namespace tool::app
