#include "toolserver/app/generation.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "toolserver/app/flows_setup.h"
#include "toolserver/app/guard_setup.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/guard/rules_guard.h"
#include "toolserver/pipeline/consent_webhook.h"
#include "toolserver/pipeline/filter_webhook.h"
#include "toolserver/session/close_code.h"
#include "toolserver/settings/endpoint.h"

namespace tool::app {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr double kLeastRefusals = 64;

pipeline::PipelineOptions pipeline_options(const settings::SecureConfig& config) {
  const auto& limits = config.limits;
  pipeline::PipelineOptions options;
  options.rate.calls_per_second = static_cast<double>(limits.calls_per_second);
  options.rate.burst = static_cast<double>(limits.burst);
  options.rate.in_flight = limits.in_flight;
  options.rate.refusals = std::max(kLeastRefusals, 2 * options.rate.burst);
  options.consent.timeout = duration_cast<milliseconds>(config.hooks.consent_timeout);
  options.trail.on_failure = config.audit.on_failure == settings::AuditFailure::kBlock
                                 ? pipeline::AuditFailure::kBlock
                                 : pipeline::AuditFailure::kContinue;
  options.trail.arguments = config.audit.log_arguments ? pipeline::RawArguments::kRecorded
                                                       : pipeline::RawArguments::kLeftOut;
  options.hook_time = duration_cast<milliseconds>(config.hooks.filter_timeout);
  options.guard_time = guard_time(config);
  options.deadline = duration_cast<milliseconds>(limits.deadline);
  options.max_deadline = duration_cast<milliseconds>(limits.max_deadline);
  options.output_bytes = limits.output_bytes;
  options.message_bytes = limits.send_queue_bytes;
  return options;
}

// A person's answer is a few words; a filter's is the whole output, in which
// every byte may have become an escape of six.
constexpr std::size_t kConsentBytes = 64 << 10;
std::size_t filter_bytes(const settings::SecureConfig& config) {
  return 6 * config.limits.output_bytes + kConsentBytes;
}

// Until a session is READY; see transport/session_run.cc.
constexpr milliseconds kStrangersCloseTime{1'000};

base::Result<std::unique_ptr<pipeline::Webhook>> webhook(const settings::Hooks& hooks,
                                                         const std::string& url,
                                                         settings::Duration timeout,
                                                         std::size_t answer_bytes) {
  pipeline::WebhookOptions options;
  options.ca_file = hooks.ca_cert_path;
  options.bearer = hooks.bearer_token;
  options.signing_secret = hooks.signing_secret;
  options.url = url;
  options.answer_bytes = answer_bytes;
  options.timeout = duration_cast<milliseconds>(timeout);
  return pipeline::Webhook::create(std::move(options));
}

}  // namespace

base::http::AdmissionLimits admission_limits(const settings::Limits& limits) {
  return {limits.connections, limits.connections_per_address, limits.unauthenticated,
          base::http::WhenFull::kReplaceStranger};
}

base::Result<std::unique_ptr<Generation>> Generation::create(Shared& shared,
                                                             settings::SecureConfig config) {
  std::unique_ptr<Generation> made(new Generation(std::move(config)));
  RETURN_IF_ERROR(made->make_pipeline(shared));
  made->make_endpoint();
  RETURN_IF_ERROR(made->make_sessions(shared));
  return made;
}

base::Status Generation::make_pipeline(Shared& shared) {
  pipeline::PipelineParts parts{
      .registry = shared.registry,
      .audit = shared.audit,
      .clock = shared.clock,
      .metrics = shared.metrics,
      .log = base::log::Logger(shared.log),
      .guard = shared.extensions.guard,
      .policy = nullptr,
      .rules = nullptr,
      .consent = shared.extensions.consent,
      .agreed = shared.agreed,
      .filters = shared.extensions.filters,
      .outcomes = &shared.outcomes,
  };
  ASSIGN_OR_RETURN(parts.policy, policy_guard(config_.guard, shared.quarantine));
  ASSIGN_OR_RETURN(guard_rules_, guard_rules(config_.guard));
  if (guard_rules_) {
    parts.rules = std::make_shared<guard::RulesGuard>(guard_rules_, scan_limits(config_.guard));
  }
  const auto& hooks = config_.hooks;
  if (parts.consent && !hooks.consent_url.empty()) {
    return base::fail(base::ErrorKind::kInvalid,
                      "hooks.consent_url: must not be set where the program asks by itself");
  }
  if (parts.consent && config_.admin.consent) {
    return base::fail(base::ErrorKind::kInvalid,
                      "admin.consent: must not be set where the program asks by itself");
  }
  if (config_.admin.consent) parts.consent = shared.desk;
  if (!hooks.consent_url.empty()) {
    ASSIGN_OR_RETURN(auto asked,
                     webhook(hooks, hooks.consent_url, hooks.consent_timeout, kConsentBytes));
    parts.consent = std::make_shared<pipeline::ConsentWebhook>(std::move(asked));
  }
  if (!hooks.filter_url.empty()) {
    ASSIGN_OR_RETURN(auto asked,
                     webhook(hooks, hooks.filter_url, hooks.filter_timeout, filter_bytes(config_)));
    auto failure = hooks.fail_mode == settings::FailMode::kOpen ? pipeline::FilterFailure::kOpen
                                                                : pipeline::FilterFailure::kClosed;
    parts.filters.push_back(std::make_shared<pipeline::FilterWebhook>(std::move(asked), failure));
  }
  pipeline_ = std::make_unique<pipeline::Pipeline>(pipeline_options(config_), std::move(parts));
  flows_ = std::make_unique<workflow::Flows>(
      flow_options(config_),
      workflow::FlowParts{*pipeline_, shared.runs, shared.clock, shared.random,
                          [&shared] { return shared.draining.load(std::memory_order_relaxed); }});
  flow_operations_ = std::make_unique<workflow::FlowOperations>(*flows_, config_.core.mode);
  transport::FederationParts federation{
      .keys = shared.nodes,
      .memory = &shared.proofs,
      .max_hops = static_cast<std::uint32_t>(config_.cluster.max_hops),
      // By the rules in force now, which may be newer than the session.
      .is_denied =
          [&shared](const std::string& subject) {
            const auto& denied = shared.current.load(std::memory_order_acquire)->rules_.denied;
            return denied.subjects.contains(subject);
          },
      .came =
          [&shared](const std::string& node_id) {
            if (shared.node_came) shared.node_came(node_id);
          },
      .is_draining = [&shared] { return shared.draining.load(std::memory_order_relaxed); }};
  operations_ = std::make_unique<transport::ToolOperations>(
      *pipeline_, shared.audit, shared.sessions, *shared.agreed, shared.random, shared.clock,
      config_.core.mode, std::move(federation), flow_operations_.get());
  return {};
}

void Generation::screen_tools(pipeline::ToolRegistry& registry) const {
  if (!guard_rules_) return registry.set_screen(nullptr);
  registry.set_screen(
      [rules = guard_rules_, limits = scan_limits(config_.guard)](const Capability& capability) {
        return guard::passes_screen(*rules, capability, limits);
      });
}

void Generation::make_endpoint() {
  const auto& server = config_.server;
  endpoint_.path = server.path;
  auto& websocket = endpoint_.websocket;
  websocket.subprotocol = "scp.v3.json";
  websocket.origins = server.allowed_origins;
  websocket.host_check = settings::is_loopback(server.host) ? base::ws::HostCheck::kLoopback
                                                            : base::ws::HostCheck::kAny;
  websocket.connection.message_bytes = config_.limits.handshake_bytes;
  websocket.connection.send_queue_bytes =
      config_.limits.send_queue_bytes + transport::kQueueHeadroom;
  websocket.connection.write_time = duration_cast<milliseconds>(server.write_timeout);
  websocket.connection.ping = duration_cast<milliseconds>(server.ping_interval);
  websocket.connection.idle = duration_cast<milliseconds>(server.idle_timeout);
  websocket.connection.idle_code = session::kCloseTimeout;
  websocket.connection.close_time = kStrangersCloseTime;
}

base::Status Generation::make_admin(Shared& shared) {
  if (!config_.admin.enabled) return {};
  auto parts = std::make_shared<admin::AdminParts>(admin::AdminParts{
      .pipeline = *pipeline_,
      .registry = shared.registry,
      .desk = *shared.desk,
      .agreed = *shared.agreed,
      .sessions = shared.sessions,
      .audit = shared.audit,
      .clock = shared.clock,
      .pool = shared.pool,
      .trail = config_.audit.path.string(),
      .pins = {},
  });
  for (const auto& one : config_.bridges) {
    ASSIGN_OR_RETURN(auto store, pins::PinStore::open(config_.pins.path, one.name, shared.clock));
    parts->pins.push_back(std::move(store));
  }
  admin_files_ = std::make_shared<const admin::AdminFiles>();
  admin_ = std::move(parts);
  return {};
}

base::Status Generation::make_sessions(Shared& shared) {
  ASSIGN_OR_RETURN(auto server, server_config(config_));
  server.rate.take = [this](const Principal& principal) { return pipeline_->take(principal); };
  server.rate.tolerates = [this](const Principal& principal, Code code) {
    // What a node is refused may be the fault of its callers; what it signs is its own.
    bool is_own = code == Code::kSignature || code == Code::kReplay || code == Code::kStale;
    if (principal.method == Method::kNode && !is_own) return true;
    return pipeline_->tolerates(principal, code);
  };
  ASSIGN_OR_RETURN(auto signer, session_signer(config_));
  session::SessionTokens tokens(server.node_id, server.cluster, std::move(signer));
  ASSIGN_OR_RETURN(
      context_, session::ServerContext::create(std::move(server), std::move(tokens), shared.replay,
                                               shared.clock, shared.random));
  ASSIGN_OR_RETURN(rules_, credential_rules(config_));
  rules_.nodes = shared.nodes;
  RETURN_IF_ERROR(make_admin(shared));
  if (config_.mcp.enabled) {
    McpParts parts{shared.mcp,      *pipeline_,    shared.audit,
                   shared.sessions, shared.counts, shared.clock,
                   shared.random,   *flows_,       shared.extensions.providers};
    mcp_ = std::make_unique<McpFace>(config_, endpoint_.websocket, context_->config().methods,
                                     std::move(parts));
  }
  auto ready = [&shared] { return !shared.draining.load(std::memory_order_relaxed); };
  for (unsigned i = 0; i < shared.workers.count(); ++i) {
    ASSIGN_OR_RETURN(auto check, transport::CredentialCheck::create(
                                     shared.workers.loop(i).get_executor(), rules_, shared.clock));
    credentials_.push_back(std::move(check));
    services_.push_back(std::make_unique<transport::SessionServices>(transport::SessionServices{
        context_,
        [&shared, i]() -> transport::CredentialCheck& {
          return shared.current.load(std::memory_order_acquire)->credentials(i);
        },
        shared.sessions, *operations_, shared.audit, shared.counts, shared.clock,
        base::log::Logger(shared.log), transport::SessionMetrics(shared.metrics),
        std::make_unique<transport::StrangerLog>(base::log::Logger(shared.log))}));
    std::vector<transport::OtherFace> others;
    if (mcp_) others.push_back(mcp_->of_worker(services_.back()->credentials));
    if (admin_) {
      others.push_back({admin::is_for_admin, admin::make_admin_endpoint(
                                                 {admin_files_, admin_, context_->config().methods,
                                                  services_.back()->credentials})});
    }
    handlers_.push_back(transport::make_handler(endpoint_, *services_.back(), shared.metrics, ready,
                                                std::move(others)));
  }
  return {};
}

}  // namespace tool::app
