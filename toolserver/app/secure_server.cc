#include "toolserver/app/secure_server.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "toolserver/app/audit_setup.h"
#include "toolserver/app/audit_watch.h"
#include "toolserver/app/connectors_setup.h"
#include "toolserver/app/federation_setup.h"
#include "toolserver/app/flows_setup.h"
#include "toolserver/app/generation.h"
#include "toolserver/app/outcomes_setup.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/connectors/sql/sql_child.h"
#include "toolserver/connectors/tool_set.h"
#include "toolserver/isolate/launch.h"
#include "toolserver/mcp_bridge/bridges.h"
#include "toolserver/settings/validate.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
using settings::SecureConfig;

unsigned worker_count(const SecureConfig& config) {
  if (config.server.workers > 0) return static_cast<unsigned>(config.server.workers);
  return std::max(1U, std::thread::hardware_concurrency());
}

base::http::TlsFiles tls_files(const SecureConfig& config) {
  base::http::TlsFiles files;
  files.certificate_chain = config.server.tls_cert;
  files.private_key = config.server.tls_key;
  files.minimum = base::http::TlsVersion::kTls13;
  files.client_ca = config.server.client_ca;
  switch (config.server.client_certificate) {
    case settings::ClientCertificate::kNone: break;
    case settings::ClientCertificate::kOptional:
      files.clients = base::http::ClientCertificates::kOptional;
      break;
    case settings::ClientCertificate::kRequired:
      files.clients = base::http::ClientCertificates::kRequired;
      break;
  }
  return files;
}

// More than limits.message_bytes can be.
constexpr std::size_t kMostBodyBytes = 64 << 20;

base::http::ServerOptions server_options(const SecureConfig& config) {
  base::http::ServerOptions options;
  options.address = config.server.host;
  options.port = config.server.port;
  options.limits.admission = admission_limits(config.limits);
  options.limits.body_bytes = kMostBodyBytes;
  if (!config.security.tls_enabled) return options;
  options.tls = std::make_unique<base::http::TlsFiles>(tls_files(config));
  return options;
}

session::ReplayLimits replay_limits(const SecureConfig& config) {
  return {std::chrono::duration_cast<std::chrono::seconds>(config.security.replay_window),
          config.security.replay_cache_size};
}

// A connector's work blocks a thread for as long as it takes.
// Eight are for SQL at most, of which one principal has four.
constexpr unsigned kBlockingThreads = 12;

constexpr std::size_t kFunctionsAtOnce = 4;

std::shared_ptr<connectors::Connector> functions_of(const Extensions& extensions,
                                                    base::BlockingPool& pool) {
  std::vector<std::unique_ptr<connectors::Tool>> tools;
  for (const auto& [capability, run] : extensions.functions) {
    tools.push_back(std::make_unique<connectors::FunctionTool>(capability, run, pool));
  }
  return std::make_shared<connectors::ToolSet>(std::move(tools));
}

// Every fault on a line of its own.
base::Status check(const SecureConfig& config) {
  auto findings = settings::validate(config, settings::Role::kServer);
  for (auto& finding : settings::check_files(config, settings::Role::kServer)) {
    findings.push_back(std::move(finding));
  }
  auto schemas = schema_faults(config);
  if (findings.empty() && schemas.empty()) return {};
  std::string lines = fmt::format("{}", fmt::join(schemas, "\n"));
  for (const auto& finding : findings) {
    lines += fmt::format("{}{}: {}", lines.empty() ? "" : "\n", finding.setting, finding.rule);
  }
  return base::fail(base::ErrorKind::kInvalid, std::move(lines));
}

}  // namespace

// Everything the process has one of, in the order of its arrows.
class SecureServer::Parts {
 public:
  Parts(const SecureConfig& config, Extensions extensions)
      : extensions_(std::move(extensions)),
        log_({config.log.format, config.log.level}, clock_),
        blocking_(kBlockingThreads),
        quarantine_(config.guard.quarantine_file, registry_),
        replay_(replay_limits(config), random_),
        counts_(config.limits.connections_per_principal),
        mcp_(clock_, random_, sessions_),
        proofs_(random_),
        workers_(worker_count(config)) {}
  ~Parts() {
    stop();
    registry_.forget_all();  // Tools have clients on the loops.
  }

  base::Status start(SecureConfig config);
  base::Result<settings::Reloaded> reload(const base::config::Places& places) {
    auto reloaded = try_reload(places);
    record_reload(reloaded);
    return reloaded;
  }
  void stop();
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] base::log::Logger log() { return base::log::Logger(log_); }
  void tell(const mcp_ingress::Change& change) { mcp_.changes.tell(change); }
  base::Status add_peer(const settings::Peer& peer);

 private:
  base::Result<settings::Reloaded> try_reload(const base::config::Places& places);
  base::Status open_audit(const SecureConfig& config);
  base::Status open_parts(const SecureConfig& config);
  std::function<void(std::string_view, base::json::Object)> foreign_tool_events();
  base::Status open_bridges(const SecureConfig& config);
  base::Status connect_peers(const SecureConfig& config);
  base::Status change_peers(const SecureConfig& config);
  base::Status load_quarantine();
  void record_reload(const base::Result<settings::Reloaded>& reloaded);
  base::http::Handler handler(unsigned worker);

  const Extensions extensions_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::log::LogOutput log_;
  base::metrics::Registry metrics_;
  base::BlockingPool blocking_;
  std::unique_ptr<Witness> witness_;  // Gets the last checkpoint of the trail.
  std::unique_ptr<SpaceWatch> space_watch_;
  std::unique_ptr<WallWatch> wall_watch_;
  std::unique_ptr<audit::AuditLog> audit_;
  std::unique_ptr<outcomes::OutcomeStore> outcomes_;
  std::unique_ptr<workflow::RunStore> runs_;
  pipeline::ToolRegistry registry_;
  guard::Quarantine quarantine_;
  session::ReplayWindow replay_;
  transport::ConnectionCounts counts_;
  transport::OpenSessions sessions_;
  McpShared mcp_;
  std::shared_ptr<federation::NodeKeys> nodes_;  // Null: of no federation.
  federation::ProofMemory proofs_;
  base::Workers workers_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Generation>> generations_;
  std::unique_ptr<base::http::Server> server_;
  std::unique_ptr<bridge::Bridges> bridges_;
  std::unique_ptr<PeerBook> peers_;                  // Null: of no federation.
  std::unique_ptr<discovery::Discovery> discovery_;  // Null: discovery_method static.
};

base::Status SecureServer::Parts::open_audit(const SecureConfig& config) {
  ASSIGN_OR_RETURN(auto signer, checkpoint_signer(config));
  ASSIGN_OR_RETURN(auto options, audit_options(config));
  space_watch_ = std::make_unique<SpaceWatch>(log(), metrics_);
  options.on_space = [this](const audit::Space& space) { space_watch_->show(space); };
  if (!config.audit.witness_url.empty()) {
    ASSIGN_OR_RETURN(witness_, Witness::create(config.audit.witness_url, log(), metrics_));
    options.on_checkpoint = [this](std::string line) { witness_->send(std::move(line)); };
  }
  ASSIGN_OR_RETURN(audit_,
                   audit::AuditLog::open(std::move(options), std::move(signer), clock_, random_));
  for (const auto& note : audit_->notes()) log().warning("audit trail", {{"note", note}});
  return {};
}

base::Status SecureServer::Parts::open_parts(const SecureConfig& config) {
  RETURN_IF_ERROR(open_audit(config));
  ASSIGN_OR_RETURN(outcomes_, open_outcomes(config, clock_));
  for (const auto& note : outcomes_->notes()) log().warning("outcomes", {{"note", note}});
  ASSIGN_OR_RETURN(runs_, open_runs(config, clock_));
  wall_watch_ = std::make_unique<WallWatch>(log(), metrics_);
  ASSIGN_OR_RETURN(auto connectors,
                   open_connectors(config, blocking_, clock_, random_, *wall_watch_));
  for (const auto& own : extensions_.connectors) connectors.push_back(own);
  ASSIGN_OR_RETURN(auto workflows, configured_workflows(config));
  if (!workflows.empty()) {
    connectors.push_back(workflow::flow_tools(std::move(workflows), [this]() -> workflow::Flows& {
      return shared_->current.load(std::memory_order_acquire)->flows();
    }));
  }
  if (!extensions_.functions.empty()) connectors.push_back(functions_of(extensions_, blocking_));
  for (auto& connector : connectors) {
    if (auto added = registry_.add(std::move(connector)); !added) {
      return base::fail(base::ErrorKind::kInvalid, added.error().message);
    }
  }
  registry_.on_change([this, lists = mcp_lists(config)] {
    for (auto kind : lists) tell({kind, {}});
  });
  RETURN_IF_ERROR(load_quarantine());
  ASSIGN_OR_RETURN(nodes_, node_keys(config));
  shared_.reset(new Shared{clock_,
                           random_,
                           log_,
                           metrics_,
                           workers_,
                           *audit_,
                           *outcomes_,
                           *runs_,
                           registry_,
                           quarantine_,
                           replay_,
                           counts_,
                           sessions_,
                           mcp_,
                           nodes_,
                           proofs_,
                           blocking_,
                           std::make_shared<pipeline::ConsentDesk>(),
                           std::make_shared<ConsentMemory>(),
                           extensions_});
  return {};
}

base::Status SecureServer::Parts::load_quarantine() {
  auto loaded = quarantine_.load();
  if (!loaded) return std::move(loaded).error().with_context("guard.quarantine_file");
  return {};
}

std::function<void(std::string_view, base::json::Object)>
SecureServer::Parts::foreign_tool_events() {
  return [this](std::string_view what, base::json::Object details) {
    if (auto recorded = audit_->event(what, std::move(details)); !recorded) {
      log().error("a foreign tool is not in the audit trail",
                  {{"error", recorded.error().message()}});
    }
  };
}

base::Status SecureServer::Parts::open_bridges(const SecureConfig& config) {
  if (config.bridges.empty()) return {};
  bridge::BridgeParts parts{registry_, blocking_, clock_, log(), foreign_tool_events()};
  ASSIGN_OR_RETURN(bridges_, bridge::Bridges::start(config.bridges, config.pins.path,
                                                    config.logins.path, parts));
  return {};
}

base::Status SecureServer::Parts::connect_peers(const SecureConfig& config) {
  if (!nodes_) return {};
  federation::PeerParts parts{
      registry_,
      nodes_,
      clock_,
      random_,
      log(),
      static_cast<std::uint32_t>(config.cluster.max_hops),
      {config.cluster.pin_peer_tools ? config.pins.path : std::filesystem::path(), blocking_,
       foreign_tool_events()},
      // By the rules in force now; until there are any nobody calls.
      [this] {
        const auto* current = shared_->current.load(std::memory_order_acquire);
        return current == nullptr ? std::size_t{0} : current->config().limits.output_bytes;
      }};
  ASSIGN_OR_RETURN(peers_, PeerBook::create(config, nodes_, std::move(parts)));
  shared_->node_came = [this](const std::string& node_id) { peers_->came(node_id); };
  return peers_->configure(config);
}

// As if the configuration had named it from the beginning.
base::Status SecureServer::Parts::add_peer(const settings::Peer& peer) {
  if (!nodes_) {
    return base::fail(base::ErrorKind::kInvalid,
                      "security.proof_signing_key_path: must be set for a node of a federation");
  }
  SecureConfig config = shared_->current.load()->config();
  if (!nodes_->knows(peer.node_id)) config.cluster.peers.push_back(peer);
  RETURN_IF_ERROR(check(config));
  return peers_->add(config, peer);
}

base::Status SecureServer::Parts::start(SecureConfig config) {
  RETURN_IF_ERROR(open_parts(config));
  RETURN_IF_ERROR(open_bridges(config));
  RETURN_IF_ERROR(connect_peers(config));
  auto options = server_options(config);
  options.limits.body_bytes_of = [this](const base::http::Request& head) {
    const auto& config = shared_->current.load(std::memory_order_acquire)->config();
    if (config.admin.enabled && admin::is_for_admin(head.path())) return admin::body_bytes_of(head);
    return mcp_body_bytes(head, config);
  };
  ASSIGN_OR_RETURN(auto generation, Generation::create(*shared_, std::move(config)));
  generation->screen_tools(registry_);
  shared_->current = generation.get();
  generations_.push_back(std::move(generation));
  std::vector<base::http::Handler> handlers;
  for (unsigned i = 0; i < workers_.count(); ++i) handlers.push_back(handler(i));
  ASSIGN_OR_RETURN(server_,
                   base::http::Server::start(std::move(options), workers_, std::move(handlers),
                                             transport::make_refusal()));
  // Not before this node listens: it may be announced.
  if (!peers_) return {};
  ASSIGN_OR_RETURN(discovery_, start_discovery(shared_->current.load()->config(),
                                               {random_, log(), metrics_}, *peers_));
  return {};
}

base::http::Handler SecureServer::Parts::handler(unsigned worker) {
  return [this, worker](base::RequestContext context, base::http::Request request) {
    return shared_->current.load(std::memory_order_acquire)
        ->handler(worker)(context, std::move(request));
  };
}

// Names of settings alone: values may be secrets.
void SecureServer::Parts::record_reload(const base::Result<settings::Reloaded>& reloaded) {
  base::json::Object details{{"accepted", reloaded.has_value()}};
  if (reloaded) {
    for (auto [member, names] :
         {std::pair{"changed", &reloaded->changed}, {"needs_restart", &reloaded->needs_restart}}) {
      auto& list = details[member].emplace_array();
      for (const auto& one : *names) list.emplace_back(one);
    }
  }
  if (auto recorded = audit_->event("configuration_reloaded", std::move(details)); !recorded) {
    log().error("the reload is not in the audit trail", {{"error", recorded.error().message()}});
  }
}

// Until the whole new generation stands, the old one serves.
base::Result<settings::Reloaded> SecureServer::Parts::try_reload(
    const base::config::Places& places) {
  ASSIGN_OR_RETURN(auto reloaded, settings::reload(shared_->current.load()->config(), places,
                                                   settings::Role::kServer));
  ASSIGN_OR_RETURN(auto generation, Generation::create(*shared_, reloaded.config));
  RETURN_IF_ERROR(load_quarantine());
  RETURN_IF_ERROR(change_peers(reloaded.config));
  // The last step that can fail.
  if (reloaded.config.security.tls_enabled) {
    auto renewed = server_->reload_tls(tls_files(reloaded.config));
    if (!renewed) {
      RETURN_IF_ERROR(change_peers(shared_->current.load()->config()));
      return std::move(renewed).error().with_context("server.tls_cert, server.tls_key");
    }
    if (*renewed) reloaded.changed.emplace_back("server.tls_cert (the file's content)");
  }
  counts_.set_limit(reloaded.config.limits.connections_per_principal);
  server_->set_limits(admission_limits(reloaded.config.limits));
  generation->screen_tools(registry_);
  shared_->current.store(generation.get(), std::memory_order_release);
  generations_.push_back(std::move(generation));
  sessions_.recheck_all();
  return reloaded;
}

base::Status SecureServer::Parts::change_peers(const SecureConfig& config) {
  if (peers_) return peers_->configure(config);
  if (!is_node(config)) return {};
  return base::fail(base::ErrorKind::kInvalid,
                    "cluster.peers: a service that began as no node of a federation becomes one "
                    "by a restart");
}

void SecureServer::Parts::stop() {
  // First, so that the others no longer call this node.
  discovery_.reset();
  if (!server_) {
    bridges_.reset();
    peers_.reset();
    return;
  }
  shared_->draining = true;
  registry_.wake_waiting();
  auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(
      shared_->current.load()->config().server.drain_timeout);
  auto deadline = std::chrono::steady_clock::now() + grace;
  server_->shutdown(grace);
  mcp_.tasks.stop(deadline);
  std::vector<std::future<void>> finished;
  for (auto& generation : generations_) {
    for (unsigned i = 0; i < workers_.count(); ++i) {
      finished.push_back(asio::co_spawn(workers_.loop(i), generation->finish(i), asio::use_future));
    }
  }
  for (auto& one : finished) one.wait();
  bridges_.reset();
  peers_.reset();
  workers_.join();
  generations_.clear();
  server_.reset();
}

base::Result<std::string> mint_client_jwt(const SecureConfig& config, const ClientJwt& client) {
  ASSIGN_OR_RETURN(auto signer, client_signer(config));
  session::ClientGrant grant{client_token_issuer(config),
                             client_token_audience(config),
                             client.subject,
                             client.scopes,
                             client.lifetime,
                             client.holder,
                             client.details};
  base::SystemRandom random;
  return session::mint_client_token(signer, grant, base::SystemClock().now(), random);
}

Extensions& Extensions::add_connector(std::shared_ptr<connectors::Connector> connector) {
  connectors.push_back(std::move(connector));
  return *this;
}

Extensions& Extensions::add_tool(Capability capability, connectors::ToolFunction run) {
  if (capability.limits.at_once == 0) capability.limits.at_once = kFunctionsAtOnce;
  functions.push_back({std::move(capability), std::move(run)});
  return *this;
}

Extensions& Extensions::set_consent(pipeline::ConsentFunction::Ask ask) {
  consent = std::make_shared<pipeline::ConsentFunction>(std::move(ask));
  return *this;
}

Extensions& Extensions::set_output_filter(std::shared_ptr<pipeline::OutputFilter> filter) {
  filters.push_back(std::move(filter));
  return *this;
}

base::Result<Capability> read_only_tool(std::string_view id, std::string description,
                                        base::json::Object parameters) {
  ASSIGN_OR_RETURN(auto parsed, ToolId::parse(id));
  Capability capability{.id = std::move(parsed)};
  capability.description = std::move(description);
  base::json::Array required;
  for (const auto& one : parameters) required.push_back(boost::json::string(one.key()));
  capability.input_schema = {{"type", "object"},
                             {"properties", std::move(parameters)},
                             {"required", std::move(required)},
                             {"additionalProperties", false}};
  capability.annotations = {
      .read_only = true, .destructive = false, .idempotent = true, .open_world = true};
  return capability;
}

SecureServer::SecureServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SecureServer::~SecureServer() = default;

std::optional<int> run_if_child(int argc, char** argv) {
  static constexpr std::array kRoles{isolate::Role{connectors::kSqlRole, connectors::sql_child}};
  return isolate::run_if_child(argc, argv, kRoles);
}

base::Result<std::unique_ptr<SecureServer>> SecureServer::start(SecureConfig config,
                                                                Extensions extensions) {
  RETURN_IF_ERROR(check(config));
  auto parts = std::make_unique<Parts>(config, std::move(extensions));
  RETURN_IF_ERROR(parts->start(std::move(config)));
  return std::unique_ptr<SecureServer>(new SecureServer(std::move(parts)));
}

std::uint16_t SecureServer::port() const { return parts_->port(); }
base::log::Logger SecureServer::log() const { return parts_->log(); }
void SecureServer::stop() { parts_->stop(); }
void SecureServer::tell(const mcp_ingress::Change& change) { parts_->tell(change); }

base::Result<settings::Reloaded> SecureServer::reload(const base::config::Places& places) {
  return parts_->reload(places);
}

base::Status SecureServer::add_peer(std::string node_id, std::string endpoint,
                                    std::string proof_public_key_path) {
  return parts_->add_peer(
      {std::move(node_id), std::move(endpoint), std::move(proof_public_key_path)});
}

}  // namespace tool::app
