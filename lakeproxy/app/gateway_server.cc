#include "lakeproxy/app/gateway_server.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "base/http/stream_server.h"

namespace lake::app {
namespace {

// S3's bound of one request.
constexpr std::size_t kMostBody = std::size_t{5} << 30;
// For all of a request, its bodies included. Each wait within it has its own bound.
constexpr std::chrono::hours kRequestTime{1};

base::Result<gateway::GatewayOptions> gateway_options(const settings::Settings& settings) {
  const storage::StoreOptions store = store_options(settings);
  gateway::GatewayOptions options;
  ASSIGN_OR_RETURN(options.address.origin, base::http::Origin::parse(gateway_url(settings)));
  options.address.bucket = store.bucket;
  ASSIGN_OR_RETURN(options.store.origin, base::http::Origin::parse(store.endpoint));
  options.store.addressing = store.addressing;
  options.store.bucket = store.bucket;
  options.region = store.region;
  options.credentials = {
      .access_key = store.access_key, .secret_key = store.secret_key, .session_token = {}};
  options.client.connections = settings.gateway.connections_per_worker;
  options.client.body_bytes = SIZE_MAX;
  options.client.ca_file = store.ca_file;
  options.rights_time = settings.storage.signer_cache;
  return options;
}

}  // namespace

std::string gateway_url(const settings::Settings& settings) {
  if (!settings.gateway.url.empty()) return settings.gateway.url;
  const bool encrypted = !settings.server.tls_cert.empty();
  const std::string& host = settings.server.host;
  const bool is_v6 = host.contains(':');
  return fmt::format("{}://{}{}{}:{}", encrypted ? "https" : "http", is_v6 ? "[" : "", host,
                     is_v6 ? "]" : "", settings.gateway.port);
}

base::Result<gateway::Keys> gateway_keys(const settings::Settings& settings, base::Random& random) {
  auto keys = gateway::Keys::create(settings.gateway.secret, settings.gateway.secret_other, random);
  if (!keys) return std::move(keys).error().with_context("LAKEPROXY_S3_GATEWAY_SECRET");
  return keys;
}

namespace {

// The scope of one namespace, as far as the principal has it: its key is for nothing else. The
// operator's keep theirs, since it reaches catalogs of all accounts.
auth::Principal for_namespace(auth::Principal principal, const model::Namespace& name) {
  if (principal.superuser || principal.grants == nullptr) return principal;
  std::string scope = "ns:";
  for (const std::string& level : name.levels) {
    if (scope.back() != ':') scope += '.';
    for (char c : base::percent_encode(level, base::Slash::kEncode)) {
      scope += c == '.' ? std::string("%2E") : std::string(1, c);
    }
  }
  auto narrow = auth::Scopes::parse(scope + ":rw", auth::OtherWords::kRefused);
  if (!narrow) return principal;  // A name that no scope can have: one for all namespaces opens it.
  auto grants = std::make_shared<auth::Grants>(*principal.grants);
  grants->scopes = grants->scopes.both(*narrow);
  principal.grants = std::move(grants);
  return principal;
}

}  // namespace

base::Result<delegation::MintKeys> gateway_minting(const settings::Settings& settings,
                                                   base::Random& random, const base::Clock& clock) {
  if (settings.gateway.state == settings::GatewayState::kOff) return delegation::MintKeys();
  ASSIGN_OR_RETURN(auto made, gateway_keys(settings, random));
  auto keys = std::make_shared<gateway::Keys>(std::move(made));
  return [keys, &clock, lifetime = settings.gateway.key_lifetime](
             const operation::Catalog& catalog, const auth::Principal& principal,
             const delegation::ClientTable& table,
             delegation::KeyAccess access) -> base::Result<storage::TemporaryKeys> {
    gateway::Grant grant{.principal = for_namespace(principal, table.identifier.name_space),
                         .catalog = catalog.lake.catalog,
                         .table = table.identifier,
                         .location = table.seen.loaded ? table.seen.loaded->metadata.location
                                                       : table.staged_location,
                         .staged = table.seen.loaded == nullptr,
                         .access = access,
                         .expires = clock.now() + lifetime};
    ASSIGN_OR_RETURN(auto key, keys->mint(grant));
    return storage::TemporaryKeys{.credentials = {.access_key = std::move(key.access_key_id),
                                                  .secret_key = std::move(key.secret_access_key),
                                                  .session_token = std::move(key.session_token)},
                                  .expires = key.expires};
  };
}

GatewayServer::GatewayServer(Shared& shared) : metrics_(*shared.metrics) {
  if (shared.authority == nullptr) return;
  const settings::Auth& auth = shared.settings->auth;
  standing_ = auth::Standing(shared.authority->clients(), auth.issuer, auth.provider.issuer);
}

base::Status GatewayServer::add_loop(Shared& shared, http::Services* routes) {
  ASSIGN_OR_RETURN(auto options, gateway_options(*shared.settings));
  ASSIGN_OR_RETURN(auto keys, gateway_keys(*shared.settings, *shared.random));
  keys_.push_back(std::make_unique<gateway::Keys>(std::move(keys)));
  gateway::GatewayServices services{
      .keys = keys_.back().get(),
      .current_principal = [this](const auth::Principal& then) { return standing_.check(then); },
      .reach_catalog =
          [routes](base::RequestContext context, auth::Principal principal, std::string name) {
            return http::reach_catalog(context, routes, std::move(principal), std::move(name));
          },
      .clock = shared.clock,
      .metrics = &metrics_,
      .log = base::log::Logger(*shared.log)};
  gateways_.push_back(std::make_unique<gateway::Gateway>(std::move(options), std::move(services)));
  return {};
}

base::Result<std::unique_ptr<GatewayServer>> GatewayServer::start(
    base::http::ServerOptions options, Shared& shared, base::Workers& workers,
    const std::vector<http::Services*>& routes) {
  std::unique_ptr<GatewayServer> made(new GatewayServer(shared));
  std::vector<base::http::StreamHandler> handlers;
  for (http::Services* of_loop : routes) {
    RETURN_IF_ERROR(made->add_loop(shared, of_loop));
    gateway::Gateway* gateway = made->gateways_.back().get();
    handlers.emplace_back(
        [gateway](base::RequestContext context, base::http::StreamedRequest request) {
          return gateway->handle(context, std::move(request));
        });
  }
  options.port = shared.settings->gateway.port;
  options.limits.body_bytes = kMostBody;
  options.limits.request_time = kRequestTime;
  ASSIGN_OR_RETURN(made->server_,
                   base::http::start_stream_server(std::move(options), workers, std::move(handlers),
                                                   gateway::make_refusal()));
  return made;
}

}  // namespace lake::app
