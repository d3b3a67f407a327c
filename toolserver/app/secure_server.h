#pragma once

// The tool service as an object: a program starts it from a configuration, and
// it refuses one that is not safe, wherever that configuration came from.
// Source: specification, sections 1 and 2.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config/settings_table.h"
#include "base/core/result.h"
#include "base/log/logger.h"
#include "toolserver/connectors/connector.h"
#include "toolserver/connectors/function_tool.h"
#include "toolserver/mcp_ingress/changes.h"
#include "toolserver/mcp_ingress/providers.h"
#include "toolserver/model/principal.h"
#include "toolserver/pipeline/consent_hook.h"
#include "toolserver/pipeline/guard.h"
#include "toolserver/pipeline/output_filter.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// What a client token grants, to whom and for how long.
struct ClientJwt {
  std::string subject;
  Scopes scopes;
  std::chrono::seconds lifetime{3600};  ///< 1 s to 24 h.
  /// Thumbprint (RFC 7638) of the key that its bearer has to prove; empty: a
  /// token that whoever has it may use.
  std::string holder;
  /// What narrows the scopes (docs/wire-3.0.md, section 6.7); none when empty.
  base::json::Array details = {};
};
/// Signs a client token with the key of `config`: that of the issuer node, or
/// jwt_secret under HS256. No server has to run.
/// Errors: kInvalid  the node only checks tokens, a key file that cannot be
///         used, an empty subject, another lifetime, or details that are not understood; kTooLarge
///         it would be longer than 8 KiB.
/// Source: specification, section 2.3; docs/wire-3.0.md, section 6.2.
[[nodiscard]] base::Result<std::string> mint_client_jwt(const settings::SecureConfig& config,
                                                        const ClientJwt& client);

/// Parts that the embedding program brings; each is safe from any event loop.
struct Extensions {
  /// In place of hooks.consent_url: both are refused together.
  std::shared_ptr<pipeline::ConsentHook> consent;
  /// In this order, before that of hooks.filter_url.
  std::vector<std::shared_ptr<pipeline::OutputFilter>> filters;
  std::shared_ptr<pipeline::GuardStage> guard;
  /// Beside those of the configuration. A name that one of them has is taken.
  std::vector<std::shared_ptr<connectors::Connector>> connectors;
  struct Function {
    Capability capability;
    connectors::ToolFunction run;
  };
  std::vector<Function> functions;
  mcp_ingress::Providers providers;  ///< What MCP clients are offered beside tools.

  /// A connector of the program's own: several tools, coroutines, progress.
  Extensions& add_connector(std::shared_ptr<connectors::Connector> connector);
  /// A tool that is a function. Four calls run at once, where the capability
  /// does not say otherwise.
  Extensions& add_tool(Capability capability, connectors::ToolFunction run);
  /// Asks for consent by a function. It may block its thread no longer than a
  /// coroutine may.
  Extensions& set_consent(pipeline::ConsentFunction::Ask ask);
  /// Sees every answer before the caller does, after those that stand already.
  Extensions& set_output_filter(std::shared_ptr<pipeline::OutputFilter> filter);
};

/// The record of a tool that changes nothing, so that nobody is asked:
/// `parameters` has a JSON Schema for each argument, all of them required.
/// Errors: kInvalid  `id` is no "<namespace>.<name>".
[[nodiscard]] base::Result<Capability> read_only_tool(std::string_view id, std::string description,
                                                      base::json::Object parameters);

/// The first statement of main() of every program that starts a service: the SQL
/// engine and the programs of bridges are children, and a child begins as this
/// same program. In a child: its work, and then its exit code, which main()
/// returns. In any other process: nothing.
/// Source: docs/tools/walls.md.
[[nodiscard]] std::optional<int> run_if_child(int argc, char** argv);

/// Used from one thread, which is none of its own.
class SecureServer {
 public:
  /// Validates `config`, opens the audit trail and the connectors, and listens.
  /// `extensions` stay in force over reloads. main() has begun
  /// with run_if_child(); without it the SQL connector is refused, and the
  /// program of a bridge does not start.
  /// Errors: kInvalid  the configuration is not safe (one line for each fault),
  ///         or a key, file, connector or tool cannot be used; kCorrupt  the audit
  ///         trail is broken; kConflict  another process writes to it;
  ///         kUnavailable  the address or the trail's folder cannot be used.
  [[nodiscard]] static base::Result<std::unique_ptr<SecureServer>> start(
      settings::SecureConfig config, Extensions extensions = {});
  /// As stop().
  ~SecureServer();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] base::log::Logger log() const;
  /// Tells MCP clients that listen that a provider of the program has changed. From
  /// any thread.
  void tell(const mcp_ingress::Change& change);

  /// Puts a new configuration in force for connections from then on: all of it
  /// or nothing. Settings that cannot change meanwhile keep their values.
  /// Errors: kInvalid  the new one is refused; the old one stays in force.
  [[nodiscard]] base::Result<settings::Reloaded> reload(const base::config::Places& places);

  /// Registers another node of the federation and begins to connect it, as an
  /// entry of cluster.peers would; until the process ends. `endpoint` may be
  /// empty: the node may call here, and is not called. Without
  /// `proof_public_key_path` its proofs rest on secret_key. This node must have
  /// peers by its configuration, or security.proof_signing_key_path.
  /// Errors: kInvalid  a name, address or key that the configuration would refuse,
  ///         or this is no node of a federation; kConflict  it is registered.
  /// Source: specification, section 2.3.
  [[nodiscard]] base::Status add_peer(std::string node_id, std::string endpoint,
                                      std::string proof_public_key_path = {});

  /// Takes no more connections and requests, lets running calls end for the
  /// drain time of the configuration, then cuts them. Blocks.
  void stop();

 private:
  class Parts;
  explicit SecureServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace tool::app
