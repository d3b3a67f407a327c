#pragma once

// A configuration in force. A reload makes a new generation for the connections
// from then on; a session keeps the one it began with, so nothing changes under
// it. Generations are few and small, and live until the process ends.

#include <atomic>
#include <memory>
#include <vector>

#include "base/core/clock.h"
#include "base/http/server.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/workers.h"
#include "toolserver/admin/admin_face.h"
#include "toolserver/app/mcp_setup.h"
#include "toolserver/app/secure_server.h"
#include "toolserver/audit/audit_log.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/federation/proof/proof_memory.h"
#include "toolserver/guard/quarantine.h"
#include "toolserver/guard/rule_set.h"
#include "toolserver/outcomes/outcome_store.h"
#include "toolserver/pipeline/pipeline.h"
#include "toolserver/session/replay_window.h"
#include "toolserver/settings/settings.h"
#include "toolserver/transport/tool_endpoint.h"
#include "toolserver/transport/tool_operations.h"
#include "toolserver/workflow/flow_operations.h"
#include "toolserver/workflow/flows.h"
#include "toolserver/workflow/run_store.h"

namespace tool::app {

/// What all generations share; outlives them. Safe from any thread.
struct Shared {
  const base::Clock& clock;
  base::Random& random;
  base::log::LogOutput& log;
  base::metrics::Registry& metrics;
  base::Workers& workers;
  audit::AuditLog& audit;
  outcomes::OutcomeStore& outcomes;
  workflow::RunStore& runs;
  pipeline::ToolRegistry& registry;
  guard::Quarantine& quarantine;
  session::ReplayWindow& replay;
  transport::ConnectionCounts& counts;
  transport::OpenSessions& sessions;
  McpShared& mcp;
  std::shared_ptr<const federation::NodeKeys> nodes;  ///< Null: of no federation.
  federation::ProofMemory& proofs;
  base::BlockingPool& pool;
  std::shared_ptr<pipeline::ConsentDesk> desk;
  std::shared_ptr<ConsentMemory> agreed;
  const Extensions& extensions;
  std::atomic<class Generation*> current = nullptr;  ///< The one in force.
  std::atomic<bool> draining = false;
  /// Another node is connected here. Set before anybody is.
  std::function<void(const std::string& node_id)> node_came = {};
};

/// How many connections are admitted, and how many strangers among them.
[[nodiscard]] base::http::AdmissionLimits admission_limits(const settings::Limits& limits);

class Generation {
 public:
  /// Errors: kInvalid  a key, scope, suite or address that cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<Generation>> create(
      Shared& shared, settings::SecureConfig config);

  [[nodiscard]] const settings::SecureConfig& config() const { return config_; }
  /// Serves requests of event loop `worker`.
  [[nodiscard]] const base::http::Handler& handler(std::size_t worker) const {
    return handlers_[worker];
  }
  /// What credentials are held against, for event loop `worker`.
  [[nodiscard]] transport::CredentialCheck& credentials(std::size_t worker) const {
    return *credentials_[worker];
  }
  /// Lets the rules in force look at the words of all tools.
  void screen_tools(pipeline::ToolRegistry& registry) const;
  [[nodiscard]] workflow::Flows& flows() const { return *flows_; }
  /// On the loop of `worker`, after its last session.
  [[nodiscard]] base::Task<void> finish(std::size_t worker) {
    return credentials_[worker]->finish();
  }

 private:
  Generation(settings::SecureConfig config) : config_(std::move(config)) {}
  [[nodiscard]] base::Status make_pipeline(Shared& shared);
  void make_endpoint();
  [[nodiscard]] base::Status make_admin(Shared& shared);
  [[nodiscard]] base::Status make_sessions(Shared& shared);

  settings::SecureConfig config_;
  std::shared_ptr<const guard::RuleSet> guard_rules_;  // Null when there are none.
  std::unique_ptr<pipeline::Pipeline> pipeline_;
  std::unique_ptr<workflow::Flows> flows_;
  std::unique_ptr<workflow::FlowOperations> flow_operations_;
  std::unique_ptr<transport::ToolOperations> operations_;
  std::unique_ptr<McpFace> mcp_;  ///< Null: MCP clients are not let in.
  std::shared_ptr<const admin::AdminFiles> admin_files_;
  std::shared_ptr<const admin::AdminParts> admin_;  ///< Null: there is no page.
  std::shared_ptr<const session::ServerContext> context_;
  transport::CredentialRules rules_;
  transport::EndpointOptions endpoint_;
  // One for each event loop.
  std::vector<std::unique_ptr<transport::CredentialCheck>> credentials_;
  std::vector<std::unique_ptr<transport::SessionServices>> services_;
  std::vector<base::http::Handler> handlers_;
};

}  // namespace tool::app
