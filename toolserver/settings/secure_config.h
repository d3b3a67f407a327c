#pragma once

// Everything an operator can set, as typed values that are checked already.
// Source: docs/wire-3.0.md, "Configuration" and "Defaults of limits".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/secret.h"
#include "base/log/line.h"
#include "toolserver/definition/tool_definition.h"
#include "toolserver/model/principal.h"
#include "toolserver/settings/bridge.h"

namespace tool::settings {

using Path = std::filesystem::path;  ///< Empty when not set.
using Duration = std::chrono::microseconds;

enum class Role : std::uint8_t { kServer, kClient };

enum class JwtAlgorithm : std::uint8_t { kHs256, kRs256 };
enum class ClientCertificate : std::uint8_t { kNone, kOptional, kRequired };
enum class Discovery : std::uint8_t { kStatic, kDns, kConsul, kEtcd };
/// What a hook's "could not tell" means.
enum class FailMode : std::uint8_t { kClosed, kOpen };
/// What happens to a call whose audit record cannot be written.
enum class AuditFailure : std::uint8_t { kBlock, kContinue };
/// What "recorded" outlives: the process (the kernel has it), or a power cut.
enum class AuditDurability : std::uint8_t { kWritten, kSynced };

/// Top-level keys of a file; SCP_<KEY> in the environment.
struct Core {
  std::string node_id;
  Mode mode = Mode::kBasic;
  std::string server_url;  ///< ws:// or wss://; a server's public address, a client's target.
  base::Secret api_key;
  base::Secret secret_key;
  base::Secret jwt_secret;
  base::Secret kdf_salt;
  // The secrets before, while they are changed: for checking alone, never for
  // anything new. A client takes the first, a server the other two.
  base::Secret secret_key_previous;
  base::Secret api_key_previous;
  base::Secret jwt_secret_previous;
};

struct Server {
  std::string host;
  std::uint16_t port = 0;  ///< 0 takes a free port.
  std::string path;        ///< Of the WebSocket: "/scp/v3".
  Path tls_cert;           ///< PEM chain.
  Path tls_key;
  Path client_ca;  ///< PEM roots that client certificates must lead to.
  ClientCertificate client_certificate = ClientCertificate::kNone;
  std::vector<std::string> allowed_origins;  ///< Empty: a request with Origin is refused.
  std::size_t workers = 0;                   ///< Event loops; 0 for one on each core.
  Duration hello_timeout{};
  Duration auth_timeout{};
  Duration idle_timeout{};
  Duration ping_interval{};
  Duration write_timeout{};  ///< For a client to take the next part of what is sent.
  Duration drain_timeout{};
};

struct Security {
  bool allow_insecure_transit = false;  ///< Plaintext, to loopback only.
  bool tls_enabled = false;
  JwtAlgorithm jwt_algorithm = JwtAlgorithm::kHs256;
  Path jwt_private_key_path;
  Path jwt_public_key_path;
  JwtAlgorithm federation_jwt_algorithm = JwtAlgorithm::kRs256;
  Path federation_jwt_public_key_path;
  std::string federation_issuer;
  std::string federation_audience;  ///< Empty: cluster.name.
  Path proof_signing_key_path;      ///< The node key.
  Path ca_cert_path;                ///< Roots a client trusts; the system's when empty.
  Path client_cert_path;
  Path client_key_path;
  Duration replay_window{};
  std::size_t replay_cache_size = 0;
  Duration session_token_lifetime{};
  Duration session_lifetime{};
  std::vector<std::string> certificate_scopes;  ///< Likewise, of a TLS client certificate.
  Path api_keys_file;                           ///< Keys with a name, scopes and an end each.
  Path certificate_scopes_file;  ///< Scopes of single subjects, in place of certificate_scopes.
  Path deny_file;                ///< Callers and tokens that are refused.
  std::vector<std::string> api_key_scopes;  ///< What a principal of the api_key may do.
  base::Secret client_token;  ///< A minted client JWT, presented in place of an own one.
  Path holder_key_path;       ///< Of a client: the private key that its token is bound to.
  /// Of a client: the keys that its server may prove itself by, each a thumbprint
  /// or a file with the public key.
  std::vector<std::string> server_keys;
  bool require_bound_tokens = false;
};

struct Crypto {
  bool perfect_forward_secrecy = true;
  std::vector<std::string> suites;  ///< Best first; the wire's names.
  std::uint64_t rekey_records = 0;
  std::uint64_t rekey_bytes = 0;
  Duration rekey_interval{};
};

/// Which of these a discovery method takes stands in docs/tool-configuration.md.
struct DiscoveryConfig {
  std::string name;      ///< dns: the SRV name; consul: the service.
  std::string endpoint;  ///< consul, etcd: URL of the registry; dns: name server, or empty.
  std::string prefix;    ///< etcd: where the nodes' keys begin.
  std::string user;      ///< etcd: whose password `token` is; empty: it is a token.
  base::Secret token;    ///< consul, etcd.
  Path ca_cert_path;     ///< consul, etcd: roots; the system's when empty.
  Duration interval{};   ///< Between two looks.
  Duration keep{};       ///< How long an answer holds while no newer one comes.
  std::string announce;  ///< consul, etcd: this node's address as others reach it; or empty.
  Duration lifetime{};   ///< Of what is announced.
};

/// A node of the federation.
struct Peer {
  std::string node_id;
  std::string endpoint;        ///< wss:// URL; empty: it is known, and never called.
  Path proof_public_key_path;  ///< Empty: proofs fall back to the shared secret.
  friend bool operator==(const Peer&, const Peer&) = default;
};

struct Cluster {
  std::string name;  ///< The audience of session tokens.
  Discovery discovery_method = Discovery::kStatic;
  DiscoveryConfig discovery_config;
  std::vector<Peer> peers;
  Path peer_keys_path;                   ///< Folder with NODE.pub of nodes that are not in `peers`.
  std::vector<std::string> peer_scopes;  ///< What the other nodes may ask for here.
  Path peer_scopes_file;                 ///< Of single nodes, in place of peer_scopes.
  bool pin_peer_tools = true;            ///< A tool of a node that changes waits for an approval.
  std::size_t max_hops = 0;              ///< Steps that a call may come by.
};

struct Oauth2 {
  std::string audience;
  std::string issuer;
  std::string jwks_url;
  Path local_public_key_path;
  Path ca_cert_path;
  Duration leeway{};
  std::vector<std::string> role_claims;  ///< JSON Pointers to where a token names roles.
  Path role_scopes_file;                 ///< What each of them may do.
  std::string client_id;                 ///< From here on a client's: client-credentials grant.
  base::Secret client_secret;
  std::string token_url;
  std::string scope;
};

struct Limits {
  std::size_t connections = 0;
  std::size_t connections_per_address = 0;
  std::size_t connections_per_principal = 0;
  std::size_t unauthenticated = 0;  ///< Connections that have not authenticated yet.
  std::size_t message_bytes = 0;
  std::size_t handshake_bytes = 0;   ///< A hello or auth message.
  std::size_t in_flight = 0;         ///< Calls of one session.
  std::size_t calls_per_second = 0;  ///< Of one principal.
  std::size_t burst = 0;
  Duration deadline{};  ///< Of a call that names none.
  Duration max_deadline{};
  std::size_t output_bytes = 0;
  std::size_t send_queue_bytes = 0;  ///< Also of one answer, as it is sent.
};

struct Hooks {
  std::string consent_url;  ///< Empty: what needs consent is denied.
  Duration consent_timeout{};
  std::string filter_url;
  Duration filter_timeout{};
  /// Of a filter that cannot be reached; consent is always closed.
  FailMode fail_mode = FailMode::kClosed;
  base::Secret bearer_token;    ///< Of both hooks, as the next two.
  base::Secret signing_secret;  ///< Empty: questions are not signed.
  Path ca_cert_path;
};

/// Judges of calls and answers; see toolserver/guard.
struct Guard {
  std::vector<std::string> shipped_rules;  ///< Names of rule files that the service brings.
  std::vector<Path> rules;                 ///< The operator's own.
  Path rules_key_path;                     ///< Ed25519; signs each of `rules`.
  bool allow_unsigned_rules = false;
  std::size_t scan_bytes = 0;  ///< Of all texts of one call, and of one answer.
  Duration scan_time{};
  std::string policy_url;  ///< Of the policy engine, without a path; empty: nobody is asked.
  Duration policy_timeout{};
  FailMode policy_fail_mode = FailMode::kClosed;
  base::Secret policy_token;
  Path policy_ca_cert_path;
  std::size_t policy_question_bytes = 0;
  Duration policy_cache_time{};
  Path quarantine_file;
};

struct Audit {
  Path path;  ///< A folder.
  AuditDurability durability = AuditDurability::kWritten;
  AuditFailure on_failure = AuditFailure::kBlock;
  Path checkpoint_key_path;
  std::vector<Path> old_keys;  ///< Public keys in PEM, or former secrets.
  std::size_t checkpoint_records = 0;
  Duration checkpoint_interval{};
  std::string witness_url;           ///< Gets each checkpoint; empty for none.
  std::uint64_t min_free_bytes = 0;  ///< Less on its file system is an alarm.
  std::uint64_t max_bytes = 0;       ///< Of all its files; 0 for no limit.
  std::uint64_t reserve_bytes = 0;   ///< For the ends of running calls.
  bool log_arguments = false;
};

/// What is kept of calls for whoever asks again; see toolserver/outcomes.
struct Outcomes {
  Duration retention{};          ///< After the end of a call.
  std::size_t records = 0;       ///< Of calls with a key; of those without as many.
  std::size_t bytes = 0;         ///< Of all answers.
  std::size_t answer_bytes = 0;  ///< Of one.
};

/// What one workflow may have, and where runs are kept; see toolserver/workflow.
struct Workflows {
  Path folder;  ///< Of workflows that are tools; empty for none.
  std::size_t steps = 0;
  std::size_t parallel = 0;  ///< Steps of one run that run at once.
  Duration time{};           ///< Of a run.
  std::size_t bytes = 0;     ///< Of a run's record.
  std::size_t runs = 0;      ///< That are kept; of one principal half.
  Duration retention{};      ///< After the last that happened in a run.
};

/// The way in for MCP clients, on the service's own port.
struct McpIngress {
  bool enabled = false;
  std::string path;             ///< "/mcp".
  std::string minimum_version;  ///< Oldest revision that is served.
  std::string resource;         ///< The endpoint as clients know it; empty: of server_url.
  bool elicit_consent = false;
  std::string bare_namespace;  ///< Whose tools are named without it; empty for none.
  /// Who may see more tools gets three that find and call them; 0: who asks for it.
  std::size_t search_above = 0;
  std::size_t tasks = 0;  ///< Of one principal that run; 0: none are offered.
  Duration task_after{};  ///< A call that takes longer becomes one.
  Duration task_time{};   ///< Of one; its answer is kept as long again.
};

/// The page of administrators; for this machine alone.
struct AdminPage {
  bool enabled = false;
  bool consent = false;  ///< Whoever looks at it is asked for consent.
};

struct SqlConnector {
  bool enabled = false;
  Path data_dir;
  bool enable_external_access = false;
  bool allow_raw_file_sql = false;
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 0;
  std::size_t max_rows = 0;
  std::size_t max_bytes = 0;
  Duration timeout{};
};

struct FilesConnector {
  bool enabled = false;
  Path root;
  std::vector<std::string> extensions;  ///< Lower case with the dot: ".csv".
  std::size_t read_max_bytes = 0;
  std::size_t write_max_bytes = 0;
  std::size_t quota_bytes = 0;  ///< Of all files below root, for writes; 0 for no bound.
  std::size_t list_max_entries = 0;
  bool allow_write = false;
};

/// A lake behind the service: lakeproxy, asked as each caller with the service as actor.
struct LakeConnector {
  bool enabled = false;
  std::string url;
  std::string prefix;
  std::string name;  ///< LAKEPROXY_OAUTH_ISSUER of the lake.
  std::string client_id;
  base::Secret client_secret;
  Path statement_key_path;
  std::string store_url;
  bool store_path_style = true;
  Path ca_cert_path;
  bool provider_users = false;      ///< Callers are users of oauth2.issuer there, not clients.
  std::vector<std::string> tables;  ///< NAMESPACE.TABLE; empty: all.
  Path scratch_dir;
  std::uint64_t max_file_bytes = 0;
  std::size_t max_files = 0;
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 0;
  std::size_t max_rows = 0;
  std::size_t max_bytes = 0;
  Duration timeout{};
};

struct EchoConnector {
  bool enabled = false;
};

struct Connectors {
  bool require_walls = false;  ///< No start where the kernel lacks one.
  EchoConnector echo;
  SqlConnector sql;
  LakeConnector lake;
  FilesConnector files;
};

/// What bridged servers offered, and what of it was approved.
struct Pins {
  Path path;  ///< A folder.
};

struct Logins {
  Path path;  ///< A folder.
};

struct Log {
  base::log::Format format = base::log::Format::kJson;
  base::log::Level level = base::log::Level::kInfo;
};

/// A value; made by load() or defaults(), never by hand alone: the numbers
/// of an empty one are all zero.
struct SecureConfig {
  Core core;
  Server server;
  Security security;
  Crypto crypto;
  Cluster cluster;
  Oauth2 oauth2;
  Limits limits;
  Hooks hooks;
  Guard guard;
  Audit audit;
  Outcomes outcomes;
  Workflows workflows;
  McpIngress mcp;
  AdminPage admin;
  Connectors connectors;
  std::vector<definition::ToolDefinition> tools;  ///< Of a server; the sections [tools.NAME].
  std::vector<Bridge> bridges;                    ///< Of a server; the sections [bridges.NAME].
  Pins pins;
  Logins logins;
  Log log;
};

}  // namespace tool::settings
