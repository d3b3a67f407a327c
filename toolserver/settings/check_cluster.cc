#include <fmt/format.h>

#include <array>
#include <set>

#include "toolserver/definition/read_definitions.h"
#include "toolserver/model/look_alike.h"
#include "toolserver/settings/bind.h"
#include "toolserver/settings/endpoint.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

// What a discovery method cannot do without.
struct Need {
  Discovery method;
  std::string_view setting;
  bool (*missing)(const DiscoveryConfig& config);
};

constexpr auto kNeeds = std::to_array<Need>({
    {Discovery::kDns, "cluster.discovery_config.name",
     [](const DiscoveryConfig& config) { return config.name.empty(); }},
    {Discovery::kConsul, "cluster.discovery_config.name",
     [](const DiscoveryConfig& config) { return config.name.empty(); }},
    {Discovery::kConsul, "cluster.discovery_config.endpoint",
     [](const DiscoveryConfig& config) { return config.endpoint.empty(); }},
    {Discovery::kEtcd, "cluster.discovery_config.endpoint",
     [](const DiscoveryConfig& config) { return config.endpoint.empty(); }},
    {Discovery::kEtcd, "cluster.discovery_config.prefix",
     [](const DiscoveryConfig& config) { return config.prefix.empty(); }},
});

void check_discovery(Findings& out, const Cluster& cluster) {
  for (const auto& need : kNeeds) {
    if (need.method != cluster.discovery_method || !need.missing(cluster.discovery_config))
      continue;
    std::string_view word = kWords<Discovery>[static_cast<std::size_t>(need.method)];
    out.push_back({need.setting, fmt::format("must be set for discovery_method {}", word)});
  }
}

// Where the registry or the name server is, and what is said of this node there.
void check_places(Findings& out, const Cluster& cluster) {
  const DiscoveryConfig& config = cluster.discovery_config;
  bool is_registry = cluster.discovery_method == Discovery::kConsul ||
                     cluster.discovery_method == Discovery::kEtcd;
  auto endpoint = parse_endpoint(config.endpoint);
  bool is_dns = endpoint && endpoint->scheme == "dns";
  if (is_registry && is_dns) {
    out.push_back({"cluster.discovery_config.endpoint", "must be https:// for a registry"});
  }
  if (cluster.discovery_method == Discovery::kDns && endpoint && !is_dns) {
    out.push_back({"cluster.discovery_config.endpoint", "must be dns://address:port"});
  }
  if (!config.user.empty() &&
      (cluster.discovery_method != Discovery::kEtcd || config.token.empty())) {
    out.push_back({"cluster.discovery_config.user",
                   "is for discovery_method etcd, with cluster.discovery_config.token"});
  }
  if (config.announce.empty()) return;
  auto self = parse_endpoint(config.announce);
  if (!is_registry || !self || !self->port) {
    out.push_back({"cluster.discovery_config.announce",
                   "is for discovery_method consul or etcd, with a port"});
  }
}

// A peer's name is the namespace of its tools here.
void check_namespaces(Findings& out, const SecureConfig& config) {
  static constexpr std::string_view kOwnNames[] = {"sql", "files", "lake", "echo",
                                                   definition::kSpace};
  std::set<std::string> looks;
  for (std::string_view own : kOwnNames) looks.insert(look_of(own));
  for (const auto& bridge : config.bridges) looks.insert(look_of(bridge.name));
  for (const auto& peer : config.cluster.peers) {
    if (peer.endpoint.empty()) continue;
    if (!ToolId::parse(peer.node_id + ".x")) {
      out.push_back({"cluster.peers",
                     "the name of a node that is called must be 1 to 64 of a-z, 0-9, '_' and '-', "
                     "a letter first"});
    } else if (!looks.insert(look_of(peer.node_id)).second) {
      out.push_back({"cluster.peers",
                     fmt::format("{}: a namespace has that name, or looks like it", peer.node_id)});
    }
  }
}

void check_peers(Findings& out, const SecureConfig& config) {
  std::set<std::string_view> ids = {config.core.node_id};
  for (const auto& peer : config.cluster.peers) {
    if (!ids.insert(peer.node_id).second) {
      out.push_back({"cluster.peers", "must not name this node, or a node twice"});
    }
  }
  check_namespaces(out, config);
}

}  // namespace

Findings check_cluster(const SecureConfig& config, Role role) {
  Findings out;
  if (role == Role::kClient) return out;
  check_discovery(out, config.cluster);
  check_places(out, config.cluster);
  check_peers(out, config);
  const Security& security = config.security;
  // A token that is bound to no issuer is anyone's who has a key.
  if (!security.federation_jwt_public_key_path.empty() && security.federation_issuer.empty()) {
    out.push_back(
        {"security.federation_issuer", "must be set with security.federation_jwt_public_key_path"});
  }
  if (security.federation_jwt_algorithm != JwtAlgorithm::kRs256) {
    out.push_back({"security.federation_jwt_algorithm", "must be rs256"});
  }
  bool federated = !config.cluster.peers.empty() ||
                   config.cluster.discovery_method != Discovery::kStatic ||
                   !config.cluster.peer_keys_path.empty();
  bool proofs = !security.proof_signing_key_path.empty() || !config.core.secret_key.empty();
  if (federated && !proofs) {
    out.push_back({"security.proof_signing_key_path",
                   "must be set, or secret_key, when calls can be forwarded"});
  }
  return out;
}

}  // namespace tool::settings
