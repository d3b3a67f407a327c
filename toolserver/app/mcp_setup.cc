#include "toolserver/app/mcp_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "toolserver/settings/endpoint.h"

namespace tool::app {
namespace {

using settings::SecureConfig;

mcp_ingress::HttpOptions http_options(const SecureConfig& config,
                                      const base::ws::AcceptOptions& who,
                                      std::vector<Method> methods) {
  mcp_ingress::HttpOptions options;
  options.access.path = config.mcp.path;
  options.access.resource = mcp_resource(config);
  if (config.core.mode == Mode::kEnterprise) options.access.issuer = config.oauth2.issuer;
  options.access.methods = std::move(methods);
  options.access.who.origins = who.origins;
  options.access.who.host_check = who.host_check;
  options.bounds.bytes = config.limits.message_bytes;
  return options;
}

mcp_ingress::DispatchOptions dispatch_options(const SecureConfig& config) {
  mcp_ingress::DispatchOptions options;
  options.server_version = SECURETOOL_VERSION;
  if (auto oldest = mcp::revision_of(config.mcp.minimum_version)) options.minimum = *oldest;
  options.elicit_consent = config.mcp.elicit_consent;
  for (const auto& one : config.bridges) {
    if (one.offers.prompts) options.prompt_servers.insert(one.name);
    if (one.offers.resources) options.resource_servers.insert(one.name);
  }
  return options;
}

mcp_ingress::TaskLimits task_limits(const SecureConfig& config) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  mcp_ingress::TaskLimits limits;
  limits.of_principal = config.mcp.tasks;
  limits.time = duration_cast<milliseconds>(config.mcp.task_time);
  limits.patience = duration_cast<milliseconds>(config.mcp.task_after);
  return limits;
}

}  // namespace

std::string mcp_resource(const SecureConfig& config) {
  if (!config.mcp.resource.empty()) return config.mcp.resource;
  std::string_view scheme = config.security.tls_enabled ? "https" : "http";
  auto endpoint = settings::parse_endpoint(config.core.server_url);
  std::string host = endpoint ? endpoint->host : config.server.host;
  auto port = endpoint ? endpoint->port : std::optional(config.server.port);
  if (host.contains(':')) host = fmt::format("[{}]", host);
  return port ? fmt::format("{}://{}:{}{}", scheme, host, *port, config.mcp.path)
              : fmt::format("{}://{}{}", scheme, host, config.mcp.path);
}

std::vector<mcp_ingress::Change::Kind> mcp_lists(const SecureConfig& config) {
  using settings::BridgeOffers;
  auto offers = &settings::Bridge::offers;
  std::vector lists{mcp_ingress::Change::Kind::kTools};
  if (std::ranges::any_of(config.bridges, &BridgeOffers::prompts, offers)) {
    lists.push_back(mcp_ingress::Change::Kind::kPrompts);
  }
  if (std::ranges::any_of(config.bridges, &BridgeOffers::resources, offers)) {
    lists.push_back(mcp_ingress::Change::Kind::kResources);
  }
  return lists;
}

std::size_t mcp_body_bytes(const base::http::Request& head, const SecureConfig& config) {
  if (!config.mcp.enabled) return 0;
  return mcp_ingress::body_bytes_of(head, config.mcp.path, config.limits.message_bytes);
}

McpFace::McpFace(const SecureConfig& config, const base::ws::AcceptOptions& who,
                 std::vector<Method> methods, McpParts parts)
    : parts_(std::move(parts)),
      options_(http_options(config, who, std::move(methods))),
      tools_(parts_.pipeline, parts_.audit, parts_.clock, parts_.random, config.core.mode,
             config.mcp.bare_namespace, &parts_.flows),
      few_(tools_, config.mcp.search_above),
      host_{parts_.shared.tasks, task_limits(config)},
      dispatcher_(dispatch_options(config), few_, parts_.providers, parts_.shared.states, &host_) {}

transport::OtherFace McpFace::of_worker(
    std::function<transport::CredentialCheck&()> credentials) const {
  mcp_ingress::HttpServices services{options_,
                                     dispatcher_,
                                     parts_.pipeline,
                                     parts_.audit,
                                     parts_.shared.sessions,
                                     parts_.shared.changes,
                                     parts_.open,
                                     parts_.counts,
                                     parts_.clock,
                                     std::move(credentials)};
  return {[this](std::string_view path) { return mcp_ingress::is_for_mcp(path, options_.access); },
          mcp_ingress::make_http_endpoint(std::move(services))};
}

}  // namespace tool::app
