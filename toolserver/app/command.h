#pragma once

// The subcommands of securetool. Each returns the exit code of the process:
// 0  done; 1  it failed, or the answer is no; 2  the configuration is refused.
// What fails is said in one line on stderr, without a secret.

#include <cstdint>
#include <string>
#include <vector>

#include "base/config/settings_table.h"

namespace tool::app {

/// Where the configuration comes from: flags over environment over file.
struct ConfigFlags {
  std::string file;               ///< --config
  std::vector<std::string> sets;  ///< --set SCP_NAME=value

  [[nodiscard]] base::config::Places places() const;
};

/// Serves until a signal ends it; SIGHUP reloads the configuration.
[[nodiscard]] int serve(const ConfigFlags& flags);

struct CallFlags {
  std::string tool;
  std::vector<std::string> arguments;  ///< "name=value"; a value that is JSON is taken as such.
  std::string json;                    ///< All arguments as one JSON object.
  std::int64_t deadline_ms = 30'000;
  bool dry_run = false;
};
/// Calls a tool and prints its content; 1 when the tool or the server says no.
[[nodiscard]] int call(const ConfigFlags& flags, const CallFlags& call);

/// Prints the capabilities, a line each, or as JSON.
struct ListFlags {
  bool json = false;
};
[[nodiscard]] int list(const ConfigFlags& flags, const ListFlags& list);

struct KeygenFlags {
  std::string kind;  ///< secrets, rsa, ed25519
  std::string out;   ///< Of a key pair: <out>.key and <out>.pub; never overwritten.
};
/// Makes secrets (printed as settings) or a key pair (files).
[[nodiscard]] int keygen(const KeygenFlags& flags);

struct MintFlags {
  std::string subject;
  std::string scope;
  std::int64_t lifetime_seconds = 3600;
};
/// Prints a client token. Source: docs/wire-3.0.md, section 6.2.
[[nodiscard]] int mint_token(const ConfigFlags& flags, const MintFlags& mint);

struct VerifyFlags {
  std::string folder;             ///< Of the trail; that of the configuration when empty.
  std::vector<std::string> keys;  ///< Public keys in PEM.
  /// "seq:hash" as a caller got it: each must be in the trail. Without any, an
  /// end that was cut off after the last checkpoint cannot be seen.
  std::vector<std::string> receipts;
};
/// Proves the chain of the audit trail; 1 when it is broken.
[[nodiscard]] int verify_audit(const ConfigFlags& flags, const VerifyFlags& verify);

struct ConfigCommand {
  bool client = false;  ///< Validate for a client instead of a server.
};
[[nodiscard]] int check_config(const ConfigFlags& flags, const ConfigCommand& command);
[[nodiscard]] int show_config(const ConfigFlags& flags, const ConfigCommand& command);
/// docs/tool-configuration.md.
[[nodiscard]] int document_config();

}  // namespace tool::app
