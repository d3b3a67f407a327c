#pragma once

// A foreign MCP server whose tools this service offers. Its section is
// [bridges.NAME] of the configuration file; the operator chooses the name.
// Source: docs/tools/bridge.md.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "toolserver/definition/template.h"
#include "toolserver/model/argument_rules.h"
#include "toolserver/model/capability.h"

namespace tool::settings {

enum class BridgeKind : std::uint8_t {
  kStdio,  ///< A program that this service starts, over its standard streams.
  kHttp,   ///< A server at a URL.
};

/// What happens to a tool that nobody approved yet.
enum class FirstSight : std::uint8_t { kQuarantine, kTrust };

/// The open section that holds them, and its name in faults.
inline constexpr std::string_view kBridges = "bridges";

/// Name and value; of an environment variable or a header.
using definition::NamedSecret;

/// Who is signed in at a server that asks for it. Source: docs/tools/bridge.md,
/// "Servers that ask you to sign in".
enum class LoginGrant : std::uint8_t {
  kAuthorizationCode,  ///< A person: securetool bridges login NAME.
  kClientCredentials,  ///< The service itself.
};

struct BridgeLogin {
  LoginGrant grant = LoginGrant::kAuthorizationCode;
  std::string client_id;
  base::Secret client_secret;
  base::Secret private_key;         ///< PEM; for private_key_jwt.
  std::string client_metadata_url;  ///< A client id that is a URL.
  std::string issuer;               ///< The only authorisation server that is taken.
  std::vector<std::string> scopes;
  std::vector<std::string> networks;  ///< Private ones that it may be in.
  std::uint16_t redirect_port = 0;    ///< 0: any that is free.
};

/// What of a server callers are offered.
struct BridgeOffers {
  bool tools = true;
  bool resources = false;  ///< Templates of resources, too.
  bool prompts = false;
  friend bool operator==(const BridgeOffers&, const BridgeOffers&) = default;
};

struct Bridge {
  std::string name;  ///< The namespace of its tools, resources and prompts.
  BridgeKind kind = BridgeKind::kStdio;
  std::filesystem::path command;  ///< kStdio, absolute.
  std::vector<std::string> arguments;
  std::filesystem::path folder;  ///< The working directory; empty for the root.
  /// The whole environment of the program, which gets nothing of ours.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<NamedSecret> environment_secrets;
  // What the program can reach; nothing else is there for it.
  std::vector<std::filesystem::path> reads;   ///< Files and folders.
  std::vector<std::filesystem::path> runs;    ///< The same, with programs that it may start.
  std::vector<std::filesystem::path> writes;  ///< The same, without; it may change them.
  bool network = false;
  bool processes = false;  ///< Whether it may start others, which have its walls.
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< Address space of each process.
  std::string url;                                      ///< kHttp.
  std::vector<NamedSecret> headers;  ///< Sent with each request to `url`, and nowhere else.
  std::filesystem::path ca_cert_path;
  std::optional<BridgeLogin> login;
  BridgeOffers offers;
  FirstSight first_seen = FirstSight::kQuarantine;
  ConsentRule consent = ConsentRule::kAlways;
  std::chrono::milliseconds timeout{60'000};  ///< Of one request to the server.
  std::string oldest_version;                 ///< Of MCP that is spoken with it.
  std::vector<ArgumentRule> rules;
};

/// Whether two lists mean the same, secrets included.
[[nodiscard]] bool same(const std::vector<Bridge>& a, const std::vector<Bridge>& b);

/// The revisions of MCP that a bridge speaks, newest first.
inline constexpr std::string_view kBridgeVersions[] = {"2026-07-28", "2025-11-25", "2025-06-18",
                                                       "2025-03-26"};

/// What the section says.
struct BridgesRead {
  std::vector<Bridge> bridges;      ///< In the order of their names; those without a fault.
  std::vector<std::string> faults;  ///< "bridges.NAME.key: rule"; never a value.
  std::vector<std::filesystem::path> files;  ///< Files of secrets that were named.
};

/// Reads the open section, and the files of secrets. Relative paths begin at
/// `folder`. `secret_rule` tells the broken rule of a secret, or nothing.
[[nodiscard]] BridgesRead read_bridges(const base::json::Object& section,
                                       const std::filesystem::path& folder,
                                       std::string_view (*secret_rule)(std::string_view));

/// The keys of a bridge's section, for docs/tool-configuration.md.
[[nodiscard]] std::string bridges_markdown();

}  // namespace tool::settings
