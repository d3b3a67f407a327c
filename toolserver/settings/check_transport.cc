#include <fmt/format.h>

#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

constexpr std::string_view kToLoopback =
    "must use TLS (wss://, https://): plaintext goes to this machine only";
constexpr std::string_view kNotAllowed =
    "is plaintext: use TLS, or set security.allow_insecure_transit for this machine alone";

// Something this process sends to. Source: specification of the service, rule
// "Plaintext transport".
void check_target(Findings& out, const SecureConfig& config, std::string_view setting,
                  std::string_view url) {
  if (url.empty()) return;
  auto endpoint = parse_endpoint(url);
  if (!endpoint) {
    out.push_back({setting, "must be scheme://host:port, with no user and no query"});
  } else if (is_plaintext(*endpoint) && !is_loopback(endpoint->host)) {
    out.push_back({setting, std::string(kToLoopback)});
  } else if (is_plaintext(*endpoint) && !config.security.allow_insecure_transit) {
    out.push_back({setting, std::string(kNotAllowed)});
  }
}

// The identity provider is never asked in plaintext, on no machine.
void check_https(Findings& out, std::string_view setting, std::string_view url) {
  if (url.empty()) return;
  auto endpoint = parse_endpoint(url);
  if (!endpoint || endpoint->scheme != "https") out.push_back({setting, "must be https://"});
}

void check_listener(Findings& out, const SecureConfig& config) {
  const Server& server = config.server;
  if (!config.security.tls_enabled) {
    if (!is_loopback(server.host)) {
      out.push_back({"server.host", "must be this machine itself unless security.tls_enabled"});
    } else if (!config.security.allow_insecure_transit) {
      out.push_back(
          {"security.tls_enabled", "must be set; plaintext needs security.allow_insecure_transit"});
    }
    for (auto [setting, path] : {std::pair{"server.tls_cert", &server.tls_cert},
                                 {"server.tls_key", &server.tls_key},
                                 {"server.client_ca", &server.client_ca}}) {
      if (!path->empty()) out.push_back({setting, "needs security.tls_enabled"});
    }
    if (server.client_certificate != ClientCertificate::kNone) {
      out.push_back({"server.client_certificate", "needs security.tls_enabled"});
    }
    return;
  }
  if (server.tls_cert.empty()) out.push_back({"server.tls_cert", "must be set for TLS"});
  if (server.tls_key.empty()) out.push_back({"server.tls_key", "must be set for TLS"});
  bool asks = server.client_certificate != ClientCertificate::kNone;
  if (asks && server.client_ca.empty()) {
    out.push_back({"server.client_ca", "must be set when client certificates are asked for"});
  }
  if (!asks && !server.client_ca.empty()) {
    out.push_back({"server.client_ca", "needs server.client_certificate optional or required"});
  }
}

void check_client(Findings& out, const SecureConfig& config) {
  if (config.core.server_url.empty()) {
    out.push_back({"server_url", "must be set for a client"});
  } else if (auto endpoint = parse_endpoint(config.core.server_url);
             endpoint && is_plaintext(*endpoint) && config.security.tls_enabled) {
    out.push_back({"server_url", "must be wss:// with security.tls_enabled"});
  }
  if (config.security.client_cert_path.empty() != config.security.client_key_path.empty()) {
    bool no_key = config.security.client_key_path.empty();
    out.push_back({no_key ? "security.client_key_path" : "security.client_cert_path",
                   "must be set: certificate and key go together"});
  }
}

void check_server_url(Findings& out, const SecureConfig& config) {
  const std::string& url = config.core.server_url;
  if (auto endpoint = parse_endpoint(url);
      !url.empty() && endpoint && endpoint->scheme != "ws" && endpoint->scheme != "wss") {
    out.push_back({"server_url", "must be ws:// or wss://"});
    return;
  }
  check_target(out, config, "server_url", url);
}

}  // namespace

Findings check_transport(const SecureConfig& config, Role role) {
  Findings out;
  check_server_url(out, config);
  if (role == Role::kServer) check_listener(out, config);
  if (role == Role::kClient) check_client(out, config);
  if (role == Role::kServer) {
    for (const auto& peer : config.cluster.peers) {
      check_target(out, config, "cluster.peers", peer.endpoint);
    }
    check_target(out, config, "cluster.discovery_config.endpoint",
                 config.cluster.discovery_config.endpoint);
    check_target(out, config, "cluster.discovery_config.announce",
                 config.cluster.discovery_config.announce);
    check_target(out, config, "hooks.consent_url", config.hooks.consent_url);
    check_target(out, config, "hooks.filter_url", config.hooks.filter_url);
    check_target(out, config, "guard.policy_url", config.guard.policy_url);
    check_target(out, config, "audit.witness_url", config.audit.witness_url);
    check_target(out, config, "connectors.lake.url", config.connectors.lake.url);
    check_target(out, config, "connectors.lake.store_url", config.connectors.lake.store_url);
  }
  check_https(out, "oauth2.jwks_url", config.oauth2.jwks_url);
  check_https(out, "oauth2.token_url", config.oauth2.token_url);
  return out;
}

}  // namespace tool::settings
