#pragma once

// The subcommands of securetool. Each returns the exit code of the process:
// 0  done; 1  it failed, or the answer is no; 2  the configuration is refused;
// kUsage  the command line itself is wrong.
// What fails is said in one line on stderr, without a secret.

#include <cstdint>
#include <string>
#include <vector>

#include "base/config/settings_table.h"
#include "toolserver/app/secure_server.h"

namespace tool::app {

inline constexpr int kUsage = 64;  ///< EX_USAGE of sysexits.h.

/// Where the configuration comes from: flags over environment over file.
struct ConfigFlags {
  std::string file;               ///< --config
  std::vector<std::string> sets;  ///< --set SCP_NAME=value
  std::string server_key;         ///< --server-key: security.server_keys of a client.

  [[nodiscard]] base::config::Places places() const;
  /// On stderr, for each secret among `sets`.
  void warn_of_secrets() const;
};

/// Serves until a signal ends it; SIGHUP reloads the configuration. A program
/// that brings tools of its own is one call of it.
[[nodiscard]] int serve(const ConfigFlags& flags, Extensions extensions = {});

struct InitFlags {
  std::string folder = ".";  ///< Made when it is not there.
};
/// Writes a configuration that works, with fresh secrets and one command tool,
/// into a folder, and prints what to do next. Nothing is overwritten.
[[nodiscard]] int init(const InitFlags& flags);

struct McpFlags {
  std::string tools;  ///< "all", "search", or empty for what mcp.search_above says.
};
/// Serves MCP on standard input and output, as a client of the service, until the
/// input ends.
[[nodiscard]] int serve_mcp(const ConfigFlags& flags, const McpFlags& mcp);

struct CallFlags {
  std::string tool;
  std::vector<std::string> arguments;  ///< "name=value"; a value that is JSON is taken as such.
  std::string json;                    ///< All arguments as one JSON object.
  std::int64_t deadline_ms = 30'000;
  bool dry_run = false;
  std::string idempotency_key;
};
/// Calls a tool and prints its content; 1 when the tool or the server says no.
[[nodiscard]] int call(const ConfigFlags& flags, const CallFlags& call);

/// Prints the capabilities, a line each, or as JSON.
struct ListFlags {
  bool json = false;
};
[[nodiscard]] int list(const ConfigFlags& flags, const ListFlags& list);

struct FlowFlags {
  std::string what;   ///< File of a workflow, or the id of a run.
  std::string input;  ///< One JSON object; or empty.
  std::string run;    ///< The id of a new run; empty: one is made.
};
/// Runs a workflow, or goes on with a run; prints each step on stderr as it ends, and
/// the answer. 1 when the run did not come to its end.
[[nodiscard]] int run_flow(const ConfigFlags& flags, const FlowFlags& flow);
/// Prints how far a run is.
[[nodiscard]] int get_flow(const ConfigFlags& flags, const FlowFlags& flow);
/// Takes a run back, and prints how far that is.
[[nodiscard]] int cancel_flow(const ConfigFlags& flags, const FlowFlags& flow);

/// Prints the open sessions of the service, a line each, or as JSON.
[[nodiscard]] int list_sessions(const ConfigFlags& flags, const ListFlags& list);

struct EndFlags {
  std::string session;  ///< Its id; or
  std::string subject;  ///< all sessions of a subject.
};
/// Ends sessions and prints how many; 1 when there was none.
[[nodiscard]] int end_sessions(const ConfigFlags& flags, const EndFlags& end);

struct KeyFlags {
  std::string name;
  std::string scope;    ///< Of a new one, parted by spaces.
  std::string details;  ///< Likewise: a JSON list that narrows them, or @FILE; or empty.
  std::string until;    ///< Likewise: a day, "never", or empty for 90 days.
};
/// Makes an API key with a name, prints it this once, and writes its hash into
/// security.api_keys_file.
[[nodiscard]] int add_key(const ConfigFlags& flags, const KeyFlags& key);
/// Prints the keys of the file, a line each, or as JSON.
[[nodiscard]] int list_keys(const ConfigFlags& flags, const ListFlags& list);
[[nodiscard]] int revoke_key(const ConfigFlags& flags, const KeyFlags& key);

struct RevokeFlags {
  std::int64_t id = 0;  ///< One approval, or
  std::string subject;  ///< all approvals of a subject.
};
/// Prints what was agreed to for more than one call, a line each, or as JSON.
[[nodiscard]] int list_consents(const ConfigFlags& flags, const ListFlags& list);
/// Takes approvals back and prints how many; 1 when there was none.
[[nodiscard]] int revoke_consents(const ConfigFlags& flags, const RevokeFlags& revoke);

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
  std::string holder;   ///< File with the public key that the token is bound to; or empty.
  std::string details;  ///< A JSON list that narrows the scopes, or @FILE; or empty.
};
/// The list of details that a flag gives. Errors: kInvalid, and as read_file().
[[nodiscard]] base::Result<base::json::Array> details_in_flag(const std::string& flag);
/// Prints a client token. Source: docs/wire-3.0.md, section 6.2.
[[nodiscard]] int mint_token(const ConfigFlags& flags, const MintFlags& mint);

struct VerifyFlags {
  std::string folder;  ///< Of the trail, or a file of it; of the configuration when empty.
  std::vector<std::string> keys;  ///< Files: public keys in PEM, or former secrets.
  /// "seq:hash", or the JSON of a receipt as a caller got it: each must be in
  /// the trail, and a signature must be by one of the keys.
  std::vector<std::string> receipts;
  std::string witness;                ///< File with the checkpoints that a witness has.
  std::vector<std::string> accepted;  ///< "from-to": lines known to be unsigned.
  std::uint64_t first_seq = 0;        ///< The line the trail must begin with; 0 for any.
  bool json = false;
};
/// Proves the chain of the audit trail: 0 when it is intact, 1 when it is not,
/// 3 when no change is seen but some lines were never signed.
[[nodiscard]] int verify_audit(const ConfigFlags& flags, const VerifyFlags& verify);
/// Checks the signatures of receipts without the trail; 1 when one is false.
[[nodiscard]] int check_receipts(const ConfigFlags& flags, const VerifyFlags& verify);

/// Prints what bridged servers offer and how it stands to what was approved.
[[nodiscard]] int list_pins(const ConfigFlags& flags, const ListFlags& list);

struct PinFlags {
  std::string tool;  ///< Its id, such as git.git_log; to approve also git.*.
  std::string pin;   ///< The one that was looked at; of the tool as it is when empty.
};
/// Prints in what a tool differs from what was approved of it; all of it where
/// nothing was.
[[nodiscard]] int diff_pin(const ConfigFlags& flags, const PinFlags& pin);
[[nodiscard]] int approve_pin(const ConfigFlags& flags, const PinFlags& pin);
[[nodiscard]] int revoke_pin(const ConfigFlags& flags, const PinFlags& pin);

struct BridgeFlags {
  std::string name;  ///< Of a bridge with a section login.
};
/// Has a person sign in at the server of a bridge: prints the address, waits for
/// the browser to come back, and stores the login for the service.
[[nodiscard]] int login_bridge(const ConfigFlags& flags, const BridgeFlags& which);
/// Forgets that login.
[[nodiscard]] int logout_bridge(const ConfigFlags& flags, const BridgeFlags& which);

struct GuardFlags {
  std::vector<std::string> files;  ///< Rule files.
  std::string key;                 ///< File: public key to check with, private key to sign with.
};
/// Reads rule files, tries every example of theirs and says what fails; 1 when
/// something does. Without a key signatures are not looked at.
[[nodiscard]] int test_rules(const GuardFlags& flags);
/// Writes the signature of each rule file to FILE.sig.
[[nodiscard]] int sign_rule_files(const GuardFlags& flags);

struct ConfigCommand {
  bool client = false;  ///< Validate for a client instead of a server.
};
[[nodiscard]] int check_config(const ConfigFlags& flags, const ConfigCommand& command);
[[nodiscard]] int show_config(const ConfigFlags& flags, const ConfigCommand& command);
/// docs/tool-configuration.md.
[[nodiscard]] int document_config();

}  // namespace tool::app
