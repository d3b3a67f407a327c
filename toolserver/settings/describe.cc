#include "base/config/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "toolserver/definition/read_definitions.h"
#include "toolserver/settings/bind.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

template <class Enum>
std::string_view word(Enum value) {
  return kWords<Enum>[static_cast<std::size_t>(value)];
}

std::string_view on_or_off(bool on) { return on ? "on" : "off"; }

std::string seconds(Duration time) {
  return fmt::format("{} s", std::chrono::duration<double>(time).count());
}

std::string link_of_server(const SecureConfig& config) {
  std::string link = config.security.tls_enabled ? "TLS" : "plaintext, this machine only";
  if (config.server.client_certificate != ClientCertificate::kNone) {
    link += fmt::format(", client certificates {}", word(config.server.client_certificate));
  }
  return fmt::format("listens on {} port {}, path {}: {}\n", config.server.host, config.server.port,
                     config.server.path, link);
}

std::string files_line(const FilesConnector& files) {
  if (!files.enabled) return "files: off\n";
  return fmt::format("files: in {}, endings {}, writing {}\n", files.root.string(),
                     fmt::join(files.extensions, " "), on_or_off(files.allow_write));
}

std::string sql_line(const SqlConnector& sql) {
  if (!sql.enabled) return "sql: off\n";
  return fmt::format("sql: data in {}, external access {}, raw file SQL {}\n",
                     sql.data_dir.string(), on_or_off(sql.enable_external_access),
                     on_or_off(sql.allow_raw_file_sql));
}

std::string lake_line(const LakeConnector& lake) {
  if (!lake.enabled) return "lake: off\n";
  return fmt::format("lake: {} at {}, as {}, tables {}\n", lake.name, lake.url, lake.client_id,
                     lake.tables.empty() ? "all" : fmt::format("{}", fmt::join(lake.tables, " ")));
}

std::string bridge_line(const Bridge& bridge) {
  bool is_stdio = bridge.kind == BridgeKind::kStdio;
  return fmt::format(
      "bridge {}: {}, new tools {}, {} rules\n", bridge.name,
      is_stdio ? bridge.command.string() : bridge.url,
      bridge.first_seen == FirstSight::kTrust ? "trusted at first sight" : "wait for an approval",
      bridge.rules.size());
}

std::string_view word(ConsentRule rule) {
  switch (rule) {
    case ConsentRule::kNever: return "never";
    case ConsentRule::kFirst: return "on the first call";
    case ConsentRule::kAlways: return "always";
  }
  return "";
}

std::string tool_lines(const SecureConfig& config) {
  std::string out;
  for (const auto& tool : config.tools) {
    const auto* command = std::get_if<definition::CommandWork>(&tool.work);
    std::string what = command != nullptr
                           ? "runs " + command->program
                           : "calls " + std::get<definition::HttpWork>(tool.work).origin;
    out += fmt::format("{}: {}, consent {}\n", tool.capability.id.text(), what,
                       word(tool.capability.consent));
  }
  return out;
}

std::string guard_line(const Guard& guard) {
  std::string shipped =
      guard.shipped_rules.empty() ? "none" : fmt::format("{}", fmt::join(guard.shipped_rules, " "));
  return fmt::format("guard: shipped rules {}, {} rule files{}, policy engine {}, fail mode {}\n",
                     shipped, guard.rules.size(),
                     guard.allow_unsigned_rules ? " without signature" : "",
                     on_or_off(!guard.policy_url.empty()), word(guard.policy_fail_mode));
}

std::string server_lines(const SecureConfig& config) {
  std::string out = link_of_server(config);
  const Hooks& hooks = config.hooks;
  out += fmt::format("cluster {}: discovery {}, {} peers\n", config.cluster.name,
                     word(config.cluster.discovery_method), config.cluster.peers.size());
  out += fmt::format(
      "hooks: consent {}, filter {}, fail mode {}\n",
      config.admin.consent ? "on the page /admin" : on_or_off(!hooks.consent_url.empty()),
      on_or_off(!hooks.filter_url.empty()), word(hooks.fail_mode));
  out += guard_line(config.guard);
  out += fmt::format("audit: {}, {}, on failure {}, arguments {}\n", config.audit.path.string(),
                     word(config.audit.durability), word(config.audit.on_failure),
                     on_or_off(config.audit.log_arguments));
  bool takes_key = config.core.mode == Mode::kSimple || config.core.mode == Mode::kEncrypted;
  if (takes_key && !config.core.api_key.empty()) {
    out += fmt::format("the api_key grants: {}\n", fmt::join(config.security.api_key_scopes, " "));
  }
  out += sql_line(config.connectors.sql) + lake_line(config.connectors.lake) +
         files_line(config.connectors.files) + tool_lines(config);
  const auto& connectors = config.connectors;
  for (const auto& bridge : config.bridges) out += bridge_line(bridge);
  if (!connectors.sql.enabled && !connectors.lake.enabled && !connectors.files.enabled &&
      !connectors.echo.enabled && config.tools.empty() && config.bridges.empty()) {
    out +=
        "warning: no connector is on, and there is no [tools.NAME] and no [bridges.NAME], so there "
        "is nothing to call\n";
  }
  return out;
}

}  // namespace

std::string describe(const SecureConfig& config, Role role) {
  std::string out = fmt::format("{} {}: mode {}, tokens {}, replay window {}\n",
                                role == Role::kServer ? "server" : "client", config.core.node_id,
                                word(config.core.mode), word(config.security.jwt_algorithm),
                                seconds(config.security.replay_window));
  if (role == Role::kServer) return out + server_lines(config);
  if (!config.core.jwt_secret.empty()) {
    out += "warning: jwt_secret mints tokens for every scope, and a client needs none of it\n";
  }
  return out + fmt::format("connects to {}\n", config.core.server_url);
}

std::string markdown() {
  return base::config::settings_markdown(make_table(), "Settings of securetool") +
         needs_markdown() + definition::markdown() + bridges_markdown();
}

}  // namespace tool::settings
