#include "toolserver/app/audit_setup.h"

#include <chrono>
#include <utility>

#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/app/session_setup.h"

namespace tool::app {
namespace {

// Mode simple may have no secret_key; its api_key is then the shared secret.
base::Result<base::Secret> shared_secret(const settings::SecureConfig& config) {
  const auto& secret =
      config.core.secret_key.empty() ? config.core.api_key : config.core.secret_key;
  if (!secret.empty()) return secret;
  return base::fail(base::ErrorKind::kInvalid,
                    "audit.checkpoint_key_path: needed where there is no secret_key");
}

base::Result<base::crypto::SigningKey> key_of(const settings::SecureConfig& config) {
  ASSIGN_OR_RETURN(std::string pem, read_file(config.audit.checkpoint_key_path));
  auto key = base::crypto::SigningKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("audit.checkpoint_key_path");
  return key;
}

// What a trail may have been signed with before: also the secret, until a key
// pair was set.
base::Result<audit::CheckpointKeys> former_keys(const settings::SecureConfig& config) {
  audit::CheckpointKeys keys;
  for (const auto& file : config.audit.old_keys) {
    auto added = add_key(keys, file);
    if (!added) return std::move(added).error().with_context("audit.old_keys");
  }
  if (config.audit.checkpoint_key_path.empty()) return keys;
  if (auto secret = shared_secret(config)) keys.add(*secret);
  return keys;
}

}  // namespace

base::Status add_key(audit::CheckpointKeys& keys, const std::filesystem::path& file) {
  ASSIGN_OR_RETURN(std::string text, read_file(file));
  if (text.starts_with("-----BEGIN")) {
    auto key = base::crypto::VerifyKey::from_pem(text);
    if (!key) return std::move(key).error().with_context(file.string());
    keys.add(std::move(*key));
    return {};
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty()) {
    return base::fail(base::ErrorKind::kInvalid, file.string() + ": holds neither key nor secret");
  }
  keys.add(base::Secret(std::move(text)));
  return {};
}

base::Result<audit::AuditOptions> audit_options(const settings::SecureConfig& config) {
  audit::AuditOptions options;
  options.folder = config.audit.path;
  options.node = config.core.node_id;
  options.durability = config.audit.durability == settings::AuditDurability::kSynced
                           ? audit::Durability::kSynced
                           : audit::Durability::kWritten;
  options.checkpoint_records = config.audit.checkpoint_records;
  options.checkpoint_interval =
      std::chrono::duration_cast<std::chrono::milliseconds>(config.audit.checkpoint_interval);
  options.space = {config.audit.min_free_bytes, config.audit.max_bytes, config.audit.reserve_bytes};
  ASSIGN_OR_RETURN(options.old_keys, former_keys(config));
  return options;
}

base::Result<audit::CheckpointSigner> checkpoint_signer(const settings::SecureConfig& config) {
  if (!config.audit.checkpoint_key_path.empty()) {
    ASSIGN_OR_RETURN(auto key, key_of(config));
    return audit::CheckpointSigner::with_key(std::move(key));
  }
  ASSIGN_OR_RETURN(auto secret, shared_secret(config));
  return audit::CheckpointSigner::with_secret(secret);
}

base::Result<audit::CheckpointKeys> checkpoint_keys(const settings::SecureConfig& config) {
  ASSIGN_OR_RETURN(auto keys, former_keys(config));
  ASSIGN_OR_RETURN(auto signer, checkpoint_signer(config));
  keys.add(signer);
  return keys;
}

}  // namespace tool::app
