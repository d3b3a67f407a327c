#include "toolserver/federation/proof/node_keys.h"

#include <utility>

#include "base/crypto/hkdf.h"

namespace tool::federation {
namespace {

using base::ErrorKind;
using base::fail;
using base::crypto::KeyType;
using base::jose::Algorithm;

constexpr std::size_t kKeyBytes = 32;

std::optional<Algorithm> algorithm_of(KeyType type) {
  switch (type) {
    case KeyType::kEd25519: return Algorithm::kEdDsa;
    case KeyType::kRsa: return Algorithm::kPs256;
    case KeyType::kP256: break;
  }
  return std::nullopt;
}

// Two names cannot be parted in another way: the first comes with its length.
void append_name(std::string& out, std::string_view name) {
  auto size = static_cast<std::uint32_t>(name.size());
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xFF);
  out += name;
}

}  // namespace

base::Result<std::unique_ptr<NodeKeys>> NodeKeys::create(OwnKeys own) {
  if (!base::jose::is_key_id(own.node_id)) {
    return fail(ErrorKind::kInvalid, "node_id: must be 1 to 64 of A-Za-z0-9._-");
  }
  if (!own.key && own.secret.empty()) {
    return fail(ErrorKind::kInvalid, "security.proof_signing_key_path: must be set, or secret_key");
  }
  if (own.key && !algorithm_of(own.key->type())) {
    return fail(ErrorKind::kInvalid,
                "security.proof_signing_key_path: must hold an Ed25519 or RSA key");
  }
  return std::unique_ptr<NodeKeys>(new NodeKeys(std::move(own)));
}

base::Status NodeKeys::check(const std::string& node_id,
                             const std::optional<base::crypto::VerifyKey>& key) const {
  if (!base::jose::is_key_id(node_id) || node_id == own_.node_id) {
    return fail(ErrorKind::kInvalid, "node_id: must name another node");
  }
  if (key && !algorithm_of(key->type())) {
    return fail(ErrorKind::kInvalid, "proof_public_key_path: must hold an Ed25519 or RSA key");
  }
  if (!key && own_.secret.empty()) {
    return fail(ErrorKind::kInvalid, "proof_public_key_path: must be set, or secret_key");
  }
  return {};
}

base::Status NodeKeys::add(const std::string& node_id, std::optional<base::crypto::VerifyKey> key) {
  RETURN_IF_ERROR(check(node_id, key));
  std::lock_guard lock(mutex_);
  if (nodes_.size() >= kNodes) return fail(ErrorKind::kTooLarge, "more than 256 nodes");
  if (!nodes_.try_emplace(node_id, std::move(key)).second) {
    return fail(ErrorKind::kConflict, node_id + ": the node is registered already");
  }
  return {};
}

base::Status NodeKeys::put(Known nodes) {
  for (const auto& [node_id, key] : nodes) {
    auto good = check(node_id, key);
    if (!good) return std::move(good).error().with_context(node_id);
  }
  std::lock_guard lock(mutex_);
  Known next;
  for (const auto& [node_id, key] : nodes_) {
    if (!put_.contains(node_id)) next.emplace(node_id, key);
  }
  std::set<std::string, std::less<>> put;
  for (auto& [node_id, key] : nodes) {
    if (!next.try_emplace(node_id, std::move(key)).second) {
      return fail(ErrorKind::kConflict, node_id + ": the node is registered already");
    }
    put.insert(node_id);
  }
  if (next.size() > kNodes) return fail(ErrorKind::kTooLarge, "more than 256 nodes");
  nodes_ = std::move(next);
  put_ = std::move(put);
  return {};
}

bool NodeKeys::knows(std::string_view node_id) const {
  std::lock_guard lock(mutex_);
  return nodes_.contains(node_id);
}

std::optional<std::string> NodeKeys::handshake_key(std::string_view node_id) const {
  std::lock_guard lock(mutex_);
  auto found = nodes_.find(node_id);
  if (found == nodes_.end() || !found->second) return std::nullopt;
  if (found->second->type() != base::crypto::KeyType::kEd25519) return std::nullopt;
  return found->second->thumbprint();
}

std::string NodeKeys::shared_key(std::string_view from, std::string_view to) const {
  std::string info = "scp3 forward";
  append_name(info, from);
  append_name(info, to);
  auto prk = base::crypto::hkdf_extract(own_.salt.reveal(), own_.secret.reveal());
  return std::string(base::crypto::hkdf_expand(prk.reveal(), info, kKeyBytes).reveal());
}

// create() and add() have checked what these two could fail for.
base::jose::Signer NodeKeys::signer(std::string_view to) const {
  if (own_.key) {
    return base::jose::Signer::with_key(*algorithm_of(own_.key->type()), *own_.key, own_.node_id)
        .value();
  }
  return base::jose::Signer::hs256(shared_key(own_.node_id, to), own_.node_id).value();
}

Outcome<base::jose::Verifier> NodeKeys::verifier(std::string_view from, std::string_view to) const {
  std::optional<base::crypto::VerifyKey> key;
  {
    std::lock_guard lock(mutex_);
    auto found = nodes_.find(from);
    if (found == nodes_.end()) return refuse(Code::kAuth, "a node that is not registered here");
    key = found->second;
  }
  std::string name(from);
  if (key) {
    return base::jose::Verifier::with_key(*algorithm_of(key->type()), *key, std::move(name))
        .value();
  }
  return base::jose::Verifier::hs256(shared_key(from, to), std::move(name)).value();
}

}  // namespace tool::federation
