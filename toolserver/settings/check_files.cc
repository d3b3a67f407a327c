#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "toolserver/settings/validate.h"

namespace tool::settings {
namespace {

enum class Kind : std::uint8_t { kPrivateKey, kPublicFile, kFolder };

// The broken rule, if any.
std::optional<std::string> fault_of(const Path& path, Kind kind) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) {
    return kind == Kind::kFolder ? "must name a folder that exists"
                                 : "must name a file that exists";
  }
  if (kind == Kind::kFolder) {
    if (!S_ISDIR(facts.st_mode)) return "must name a folder";
    return std::nullopt;
  }
  if (!S_ISREG(facts.st_mode)) return "must name a regular file";
  if (facts.st_size == 0) return "must name a file that is not empty";
  if (::access(path.c_str(), R_OK) != 0) return "must name a file that can be read";
  // A group may read a key (a certificate's service group), never change it.
  if (kind == Kind::kPrivateKey && (facts.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    return "must not be open to others, nor to be written by a group (mode 0600 or 0640)";
  }
  if ((facts.st_mode & S_IWOTH) != 0) return "must not be open to be written by others";
  return std::nullopt;
}

class Checker {
 public:
  void file(std::string_view setting, const Path& path, Kind kind) {
    if (path.empty()) return;
    if (auto fault = fault_of(path, kind)) out_.push_back({setting, std::move(*fault)});
  }
  Findings done() && { return std::move(out_); }

 private:
  Findings out_;
};

void check_server(Checker& check, const SecureConfig& config) {
  check.file("server.tls_cert", config.server.tls_cert, Kind::kPublicFile);
  check.file("server.tls_key", config.server.tls_key, Kind::kPrivateKey);
  check.file("server.client_ca", config.server.client_ca, Kind::kPublicFile);
  check.file("security.jwt_private_key_path", config.security.jwt_private_key_path,
             Kind::kPrivateKey);
  check.file("security.federation_jwt_public_key_path",
             config.security.federation_jwt_public_key_path, Kind::kPublicFile);
  check.file("security.proof_signing_key_path", config.security.proof_signing_key_path,
             Kind::kPrivateKey);
  for (const auto& peer : config.cluster.peers) {
    check.file("cluster.peers", peer.proof_public_key_path, Kind::kPublicFile);
  }
  check.file("cluster.discovery_config.ca_cert_path", config.cluster.discovery_config.ca_cert_path,
             Kind::kPublicFile);
  check.file("audit.checkpoint_key_path", config.audit.checkpoint_key_path, Kind::kPrivateKey);
  if (config.audit.path.has_parent_path()) {
    check.file("audit.path", config.audit.path.parent_path(), Kind::kFolder);
  }
  if (config.connectors.sql.enabled) {
    check.file("connectors.sql.data_dir", config.connectors.sql.data_dir, Kind::kFolder);
  }
  if (config.connectors.files.enabled) {
    check.file("connectors.files.root", config.connectors.files.root, Kind::kFolder);
  }
}

}  // namespace

Findings check_files(const SecureConfig& config, Role role) {
  Checker check;
  if (role == Role::kServer) check_server(check, config);
  if (role == Role::kClient) {
    check.file("security.client_cert_path", config.security.client_cert_path, Kind::kPublicFile);
    check.file("security.client_key_path", config.security.client_key_path, Kind::kPrivateKey);
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
