#pragma once

// Which key a node's words are held against. A node that is registered with a
// public key is believed by that key alone, under the one algorithm that fits
// it; the shared secret, which every node has, stands in only for one that is
// registered without. Whether it may is decided here, never by a proof.
// Source: specification, section 5.2, rule 4; docs/wire-3.0.md, section 18.2.

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "base/jose/jws.h"
#include "toolserver/model/fault.h"

namespace tool::federation {

struct OwnKeys {
  std::string node_id;
  std::optional<base::crypto::SigningKey> key;  ///< Ed25519 or RSA.
  base::Secret secret;                          ///< secret_key; may be empty where `key` is set.
  base::Secret salt;                            ///< kdf_salt.
};

/// Thread-safe.
class NodeKeys {
 public:
  static constexpr std::size_t kNodes = 256;

  /// Errors: kInvalid  neither a key nor a secret, or a key of another type.
  [[nodiscard]] static base::Result<std::unique_ptr<NodeKeys>> create(OwnKeys own);

  /// Registers a node. Without `key` its proofs are MACs by the shared secret.
  /// Errors: kInvalid  this node itself, a name that is no key id, a key that is
  ///         neither Ed25519 nor RSA, or no key where there is no secret;
  ///         kConflict  it is registered; kTooLarge  over kNodes.
  [[nodiscard]] base::Status add(const std::string& node_id,
                                 std::optional<base::crypto::VerifyKey> key);

  using Known = std::map<std::string, std::optional<base::crypto::VerifyKey>, std::less<>>;
  /// Puts `nodes` in the place of all that put() registered before; those of add()
  /// stay. All or nothing. What a node that is gone signed is refused from then on.
  /// Errors: as add().
  [[nodiscard]] base::Status put(Known nodes);

  [[nodiscard]] const std::string& node_id() const { return own_.node_id; }
  [[nodiscard]] bool knows(std::string_view node_id) const;

  /// The thumbprint of the Ed25519 key by which `node_id` proves itself in the handshake,
  /// as a server does to its clients. Nothing for a node that has another key, or none:
  /// of that one the handshake proves the shared secret.
  [[nodiscard]] std::optional<std::string> handshake_key(std::string_view node_id) const;

  /// Signs what this node says to `to`: EdDSA or PS256 by its key, else HS256
  /// with a key that is for this pair and direction alone. The kid is this node.
  [[nodiscard]] base::jose::Signer signer(std::string_view to) const;
  /// Checks what `from` said to `to`.
  /// Errors: E_AUTH  `from` is not registered.
  [[nodiscard]] Outcome<base::jose::Verifier> verifier(std::string_view from,
                                                       std::string_view to) const;

 private:
  explicit NodeKeys(OwnKeys own) : own_(std::move(own)) {}
  [[nodiscard]] base::Status check(const std::string& node_id,
                                   const std::optional<base::crypto::VerifyKey>& key) const;
  [[nodiscard]] std::string shared_key(std::string_view from, std::string_view to) const;

  const OwnKeys own_;
  mutable std::mutex mutex_;
  Known nodes_;
  std::set<std::string, std::less<>> put_;  // Those of put().
};

}  // namespace tool::federation
