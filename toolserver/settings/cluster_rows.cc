#include "toolserver/settings/bind.h"

// The other nodes and the identity provider.

#include "base/json/pointer.h"

namespace tool::settings {

using base::config::DurationType;
using base::config::FlagType;
using base::config::IntegerType;
using base::config::ListType;
using base::config::SecretType;
using base::config::TextType;
using base::config::UrlType;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

constexpr std::string_view kPointerRule = "a JSON Pointer (RFC 6901) of at most 256 bytes";

std::string_view pointer_rule(std::string_view text) {
  bool good = !text.empty() && text.size() <= 256 && base::json::is_pointer(text);
  return good ? "" : "must be a JSON Pointer of at most 256 bytes, such as /groups";
}

std::vector<Row> node_rows() {
  Rows rows("Cluster", Change::kRestart);
  rows.add("cluster.name", SETTINGS_MEMBER(cluster.name), TextType{name_rule, kNameRule, 64},
           "default", "Name of the federation; the audience of session tokens.")
      .add("cluster.peers", SETTINGS_MEMBER(cluster.peers), ListType{peer_rule, kPeerRule, 256}, "",
           "Nodes of the federation: `node_id wss://host:port key.pem`. With `-` in place of the "
           "address it may call here, and is called where discovery finds it.",
           Change::kLive)
      .add("cluster.peer_keys_path", SETTINGS_MEMBER(cluster.peer_keys_path), TextType{}, "",
           "Folder with the public key of each further node as node_id.pub; read again at a "
           "reload, and when discovery names a node whose key is not known.")
      .add("cluster.peer_scopes", SETTINGS_MEMBER(cluster.peer_scopes),
           ListType{scope_rule, kScopeRule, 256}, "",
           "What the nodes of cluster.peers may ask for here, whoever their caller is.",
           Change::kLive)
      .add("cluster.peer_scopes_file", SETTINGS_MEMBER(cluster.peer_scopes_file), TextType{}, "",
           "File with a line `scope scope = node_id` for each node that has scopes of its own in "
           "place of cluster.peer_scopes; read again at a reload.",
           Change::kLive)
      .add("cluster.pin_peer_tools", SETTINGS_MEMBER(cluster.pin_peer_tools), FlagType{}, "1",
           "Whether a tool of another node that is no longer as it was first seen waits for "
           "`securetool pins approve`.")
      .add("cluster.max_hops", SETTINGS_MEMBER(cluster.max_hops), IntegerType{1, 8}, "4",
           "How many nodes a call may be forwarded by, the first included.")
      .add("cluster.discovery_method", SETTINGS_MEMBER(cluster.discovery_method),
           choice<Discovery>(), "static",
           "How nodes are found: cluster.peers alone, DNS SRV records, or a registry.")
      .add("cluster.discovery_config.name", SETTINGS_MEMBER(cluster.discovery_config.name),
           TextType{service_name_rule, "letters, digits, '.', '_' and '-'"}, "",
           "dns: name of the SRV records; consul: name of the service.")
      .add("cluster.discovery_config.endpoint", SETTINGS_MEMBER(cluster.discovery_config.endpoint),
           UrlType{{"http", "https", "dns"}}, "",
           "consul, etcd: address of the registry. dns: name server as dns://address:port; the "
           "machine's when not set.")
      .add("cluster.discovery_config.prefix", SETTINGS_MEMBER(cluster.discovery_config.prefix),
           TextType{key_prefix_rule, "letters, digits, '.', '_', '-' and '/'"}, "",
           "etcd: how the keys of nodes begin.")
      .add("cluster.discovery_config.user", SETTINGS_MEMBER(cluster.discovery_config.user),
           TextType{.max_bytes = 256}, "",
           "etcd: user whose password cluster.discovery_config.token is.")
      .add("cluster.discovery_config.token", SETTINGS_MEMBER(cluster.discovery_config.token),
           SecretType{}, "", "consul, etcd: token for the registry.")
      .add("cluster.discovery_config.ca_cert_path",
           SETTINGS_MEMBER(cluster.discovery_config.ca_cert_path), TextType{}, "",
           "consul, etcd: PEM file with the authorities of the registry; the system's when not "
           "set.")
      .add("cluster.discovery_config.interval", SETTINGS_MEMBER(cluster.discovery_config.interval),
           DurationType{seconds(1), hours(1)}, "30",
           "dns, consul, etcd: longest time between two looks; a change in a registry and the "
           "time to live of a DNS record make it shorter.")
      .add("cluster.discovery_config.keep", SETTINGS_MEMBER(cluster.discovery_config.keep),
           DurationType{seconds(1), hours(24)}, "300",
           "dns, consul, etcd: how long the nodes of the last answer are used while the server "
           "does not answer.")
      .add("cluster.discovery_config.announce", SETTINGS_MEMBER(cluster.discovery_config.announce),
           UrlType{{"wss", "ws"}}, "",
           "consul, etcd: this node's address with its port, to be registered there; not "
           "registered when not set.")
      .add("cluster.discovery_config.lifetime", SETTINGS_MEMBER(cluster.discovery_config.lifetime),
           DurationType{seconds(3), hours(1)}, "30",
           "consul, etcd: after what time a node that does not renew its registration is gone.");
  return std::move(rows).done();
}

std::vector<Row> oauth2_rows() {
  Rows rows("OAuth2", Change::kRestart);
  rows.add("oauth2.audience", SETTINGS_MEMBER(oauth2.audience), TextType{}, "",
           "Audience that access tokens must name.")
      .add("oauth2.issuer", SETTINGS_MEMBER(oauth2.issuer), TextType{}, "",
           "Issuer that access tokens must name.")
      .add("oauth2.jwks_url", SETTINGS_MEMBER(oauth2.jwks_url), UrlType{{"https"}}, "",
           "Address of the identity provider's keys.")
      .add("oauth2.local_public_key_path", SETTINGS_MEMBER(oauth2.local_public_key_path),
           TextType{}, "",
           "PEM file with the identity provider's public key; when set, jwks_url is not asked.")
      .add("oauth2.ca_cert_path", SETTINGS_MEMBER(oauth2.ca_cert_path), TextType{}, "",
           "PEM file with the only authorities trusted for the identity provider; the system's "
           "when not set.")
      .add("oauth2.leeway", SETTINGS_MEMBER(oauth2.leeway), DurationType{seconds(0), seconds(300)},
           "30", "How far clocks may be apart when a token's times are checked.")
      .add("oauth2.role_claims", SETTINGS_MEMBER(oauth2.role_claims),
           ListType{pointer_rule, kPointerRule, 16}, "",
           "Where an access token names roles or groups of its caller, such as /groups or "
           "/realm_access/roles: a text, or a list of texts.",
           Change::kLive)
      .add("oauth2.role_scopes_file", SETTINGS_MEMBER(oauth2.role_scopes_file), TextType{}, "",
           "File with a line `scope scope = role` for each role that has scopes, beside those of "
           "the token; read again at a reload.",
           Change::kLive)
      .add("oauth2.client_id", SETTINGS_MEMBER(oauth2.client_id), TextType{}, "",
           "Client id of a client's client-credentials grant.")
      .add("oauth2.client_secret", SETTINGS_MEMBER(oauth2.client_secret), SecretType{}, "",
           "Secret of oauth2.client_id.")
      .add("oauth2.token_url", SETTINGS_MEMBER(oauth2.token_url), UrlType{{"https"}}, "",
           "Address where a client gets its access token.")
      .add("oauth2.scope", SETTINGS_MEMBER(oauth2.scope), TextType{}, "",
           "Scopes that a client asks for, parted by spaces.");
  return std::move(rows).done();
}

}  // namespace

std::vector<Row> cluster_rows() {
  std::vector<Row> out = node_rows();
  for (auto& row : oauth2_rows()) out.push_back(std::move(row));
  return out;
}

}  // namespace tool::settings
