#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "toolserver/settings/text_rules.h"
#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

enum class Kind : std::uint8_t {
  kPrivateKey,
  kPublicFile,
  kRules,  // Lines of ours, which may be none.
  kFolder,
  kKeyFolder,  // What lies in it is believed.
};

// The broken rule, if any.
std::optional<std::string> fault_of(const Path& path, Kind kind) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    return kind == Kind::kFolder || kind == Kind::kKeyFolder ? "must name a folder that exists"
                                                             : "must name a file that exists";
  }
  if (kind == Kind::kFolder || kind == Kind::kKeyFolder) {
    if (!S_ISDIR(facts.st_mode)) return "must name a folder";
    bool is_ours = (facts.st_uid == ::geteuid() || facts.st_uid == 0) &&
                   (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (kind == Kind::kKeyFolder && !is_ours) {
      return "must be a folder of this user or of root that nobody else may write to";
    }
    return std::nullopt;
  }
  if (!S_ISREG(facts.st_mode)) return "must name a regular file";
  if (facts.st_size == 0 && kind != Kind::kRules) return "must name a file that is not empty";
  if (::access(path.c_str(), R_OK) != 0) return "must name a file that can be read";
  // Who owns a file can change it, whatever its mode says just now.
  if (kind != Kind::kPublicFile && facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return "must be a file of this user or of root";
  }
  // A group may read a key (a certificate's service group), never change it.
  if (kind == Kind::kPrivateKey && (facts.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return "must not be open to others, nor to be written by a group (mode 0600 or 0640)";
  }
  mode_t writers = kind == Kind::kRules ? S_IWGRP | S_IWOTH : S_IWOTH;
  if ((facts.st_mode & writers) != 0) return "must not be open to be written by others";
  return std::nullopt;
}

// A public key; what is none is a former secret.
bool is_pem(const Path& path) {
  constexpr std::string_view kBegin = "-----BEGIN";
  std::string head(kBegin.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == kBegin;
}

bool is_within(const Path& path, const Path& folder) {
  std::error_code ec;
  Path inner = std::filesystem::weakly_canonical(path, ec);
  Path outer = std::filesystem::weakly_canonical(folder, ec);
  auto [in, out] = std::ranges::mismatch(inner, outer);
  return out == outer.end() || out->empty();
}

class Checker {
 public:
  void file(std::string_view setting, const Path& path, Kind kind) {
    if (path.empty()) return;
    if (auto fault = fault_of(path, kind)) out_.push_back({setting, std::move(*fault)});
  }
  // A tool must not read or write what guards it.
  void apart(std::string_view setting, const Path& folder, std::string_view guarded,
             const Path& path) {
    if (path.empty() || folder.empty() || !is_within(path, folder)) return;
    out_.push_back({setting, fmt::format("must not hold the path of {}", guarded)});
  }
  void add(std::string_view setting, std::string rule) {
    out_.push_back({setting, std::move(rule)});
  }
  Findings done() && { return std::move(out_); }

 private:
  Findings out_;
};

// The folders that tools see, by their settings.
std::vector<std::pair<const char*, const Path*>> tool_folders(const SecureConfig& config) {
  const SqlConnector& sql = config.connectors.sql;
  const FilesConnector& files = config.connectors.files;
  std::vector<std::pair<const char*, const Path*>> folders;
  if (files.enabled) folders.emplace_back("connectors.files.root", &files.root);
  if (sql.enabled) folders.emplace_back("connectors.sql.data_dir", &sql.data_dir);
  return folders;
}

bool has_login(const SecureConfig& config) {
  return std::ranges::any_of(config.bridges,
                             [](const Bridge& one) { return one.login.has_value(); });
}

bool has_pins(const SecureConfig& config) {
  const Cluster& cluster = config.cluster;
  bool calls =
      cluster.discovery_method != Discovery::kStatic ||
      std::ranges::any_of(cluster.peers, [](const Peer& one) { return !one.endpoint.empty(); });
  return !config.bridges.empty() || (cluster.pin_peer_tools && calls);
}

void check_apart(Checker& check, const SecureConfig& config) {
  static const Path kNone;
  for (auto [setting, folder] : tool_folders(config)) {
    for (auto [guarded, path] :
         {std::pair{"audit.path", &config.audit.path},
          {"audit.checkpoint_key_path", &config.audit.checkpoint_key_path},
          {"server.tls_key", &config.server.tls_key},
          {"security.jwt_private_key_path", &config.security.jwt_private_key_path},
          {"security.proof_signing_key_path", &config.security.proof_signing_key_path},
          {"security.api_keys_file", &config.security.api_keys_file},
          {"security.certificate_scopes_file", &config.security.certificate_scopes_file},
          {"security.deny_file", &config.security.deny_file},
          {"cluster.peer_scopes_file", &config.cluster.peer_scopes_file},
          {"cluster.peer_keys_path", &config.cluster.peer_keys_path},
          {"oauth2.role_scopes_file", &config.oauth2.role_scopes_file},
          {"connectors.lake.statement_key_path", &config.connectors.lake.statement_key_path},
          {"connectors.lake.scratch_dir", &config.connectors.lake.scratch_dir},
          {"guard.rules_key_path", &config.guard.rules_key_path},
          {"guard.quarantine_file", &config.guard.quarantine_file},
          {"workflows.folder", &config.workflows.folder},
          {"pins.path", has_pins(config) ? &config.pins.path : &kNone},
          {"logins.path", has_login(config) ? &config.logins.path : &kNone}}) {
      check.apart(setting, *folder, guarded, *path);
    }
    for (const auto& key : config.audit.old_keys) {
      check.apart(setting, *folder, "audit.old_keys", key);
    }
    // Who can write a program says what it does.
    for (const auto& tool : config.tools) {
      const auto* command = std::get_if<definition::CommandWork>(&tool.work);
      if (command == nullptr) continue;
      check.apart(setting, *folder, tool.capability.id.text() + ".program", command->program);
    }
    for (const auto& rules : config.guard.rules) {
      check.apart(setting, *folder, "guard.rules", rules);
    }
  }
}

// A program that others may write would be run by us.
std::string program_fault(const Path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      ::access(path.c_str(), X_OK) != 0) {
    return "must name a program that can be run";
  }
  if ((facts.st_mode & S_IWOTH) != 0) return "must not be open to be written by others";
  return {};
}

void check_bridge(Checker& check, const Bridge& bridge) {
  if (!bridge.command.empty()) {
    if (auto fault = program_fault(bridge.command); !fault.empty()) {
      check.add("bridges", fmt::format("{}.command: {}", bridge.name, fault));
    }
  }
  for (auto [member, path, kind] : {std::tuple{"folder", &bridge.folder, Kind::kFolder},
                                    {"ca_cert_path", &bridge.ca_cert_path, Kind::kPublicFile}}) {
    if (path->empty()) continue;
    if (auto fault = fault_of(*path, kind)) {
      check.add("bridges", fmt::format("{}.{}: {}", bridge.name, member, *fault));
    }
  }
}

void check_server(Checker& check, const SecureConfig& config) {
  check.file("server.tls_cert", config.server.tls_cert, Kind::kPublicFile);
  check.file("server.tls_key", config.server.tls_key, Kind::kPrivateKey);
  check.file("server.client_ca", config.server.client_ca, Kind::kPublicFile);
  check.file("security.jwt_private_key_path", config.security.jwt_private_key_path,
             Kind::kPrivateKey);
  // The first key makes it.
  std::error_code error;
  if (std::filesystem::exists(config.security.api_keys_file, error)) {
    check.file("security.api_keys_file", config.security.api_keys_file, Kind::kPrivateKey);
  }
  check.file("security.certificate_scopes_file", config.security.certificate_scopes_file,
             Kind::kRules);
  check.file("security.deny_file", config.security.deny_file, Kind::kRules);
  check.file("oauth2.role_scopes_file", config.oauth2.role_scopes_file, Kind::kRules);
  check.file("security.federation_jwt_public_key_path",
             config.security.federation_jwt_public_key_path, Kind::kPublicFile);
  check.file("security.proof_signing_key_path", config.security.proof_signing_key_path,
             Kind::kPrivateKey);
  for (const auto& peer : config.cluster.peers) {
    check.file("cluster.peers", peer.proof_public_key_path, Kind::kPublicFile);
  }
  check.file("cluster.peer_keys_path", config.cluster.peer_keys_path, Kind::kKeyFolder);
  check.file("cluster.peer_scopes_file", config.cluster.peer_scopes_file, Kind::kRules);
  check.file("cluster.discovery_config.ca_cert_path", config.cluster.discovery_config.ca_cert_path,
             Kind::kPublicFile);
  check.file("hooks.ca_cert_path", config.hooks.ca_cert_path, Kind::kPublicFile);
  for (const auto& rules : config.guard.rules) check.file("guard.rules", rules, Kind::kRules);
  check.file("guard.rules_key_path", config.guard.rules_key_path, Kind::kPublicFile);
  check.file("guard.policy_ca_cert_path", config.guard.policy_ca_cert_path, Kind::kPublicFile);
  if (std::filesystem::exists(config.guard.quarantine_file)) {
    check.file("guard.quarantine_file", config.guard.quarantine_file, Kind::kRules);
  }
  check.file("audit.checkpoint_key_path", config.audit.checkpoint_key_path, Kind::kPrivateKey);
  for (const auto& key : config.audit.old_keys) {
    check.file("audit.old_keys", key, is_pem(key) ? Kind::kPublicFile : Kind::kPrivateKey);
  }
  if (config.audit.path.has_parent_path()) {
    check.file("audit.path", config.audit.path.parent_path(), Kind::kFolder);
  }
  if (!config.workflows.folder.empty()) {
    check.file("workflows.folder", config.workflows.folder, Kind::kFolder);
  }
  check_apart(check, config);
  for (const auto& bridge : config.bridges) check_bridge(check, bridge);
  if (has_pins(config) && config.pins.path.has_parent_path()) {
    check.file("pins.path", config.pins.path.parent_path(), Kind::kFolder);
  }
  if (has_login(config) && config.logins.path.has_parent_path()) {
    check.file("logins.path", config.logins.path.parent_path(), Kind::kFolder);
  }
  if (config.connectors.sql.enabled) {
    check.file("connectors.sql.data_dir", config.connectors.sql.data_dir, Kind::kFolder);
  }
  if (const LakeConnector& lake = config.connectors.lake; lake.enabled) {
    check.file("connectors.lake.statement_key_path", lake.statement_key_path, Kind::kPrivateKey);
    check.file("connectors.lake.ca_cert_path", lake.ca_cert_path, Kind::kPublicFile);
    check.file("connectors.lake.scratch_dir", lake.scratch_dir, Kind::kFolder);
  }
  if (config.connectors.files.enabled) {
    check.file("connectors.files.root", config.connectors.files.root, Kind::kFolder);
  }
}

}  // namespace

std::optional<std::string> private_key_rule(const Path& path) {
  return fault_of(path, Kind::kPrivateKey);
}

Findings check_sources(const SecureConfig& config, const std::vector<Path>& files) {
  Checker check;
  for (auto [setting, folder] : tool_folders(config)) {
    for (const Path& file : files) {
      check.apart(setting, *folder,
                  fmt::format("a file of settings or secrets ({})", file.filename().string()),
                  file);
    }
  }
  return std::move(check).done();
}

Findings check_files(const SecureConfig& config, Role role) {
  Checker check;
  if (role == Role::kServer) check_server(check, config);
  if (role == Role::kClient) {
    check.file("security.client_cert_path", config.security.client_cert_path, Kind::kPublicFile);
    check.file("security.client_key_path", config.security.client_key_path, Kind::kPrivateKey);
    check.file("security.holder_key_path", config.security.holder_key_path, Kind::kPrivateKey);
    for (const auto& key : config.security.server_keys) {
      if (!is_thumbprint(key)) check.file("security.server_keys", key, Kind::kPublicFile);
    }
  }
  check.file("security.ca_cert_path", config.security.ca_cert_path, Kind::kPublicFile);
  check.file("security.jwt_public_key_path", config.security.jwt_public_key_path,
             Kind::kPublicFile);
  check.file("oauth2.local_public_key_path", config.oauth2.local_public_key_path,
             Kind::kPublicFile);
  check.file("oauth2.ca_cert_path", config.oauth2.ca_cert_path, Kind::kPublicFile);
  return std::move(check).done();
}

}  // namespace tool::settings
