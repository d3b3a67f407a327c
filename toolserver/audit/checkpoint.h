#pragma once

// Whoever can write the file can also count hashes anew. A checkpoint is a
// signature over the head of the chain: behind it nothing can be changed
// without the key, which need not lie on the machine that verifies.
// Source: docs/wire-3.0.md, "Audit record", checkpoints; RFC 8032; RFC 8017.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "base/crypto/signing_key.h"
#include "base/json/json.h"
#include "toolserver/audit/chain.h"

namespace tool::audit {

/// Signs with Ed25519, RSA-PSS (PS256) or HMAC-SHA-256, as the key says.
/// Thread-safe; copies share the key.
class CheckpointSigner {
 public:
  [[nodiscard]] static CheckpointSigner with_key(base::crypto::SigningKey key);
  /// From the cluster's secret, under a label of its own: nothing else is
  /// signed with that key. Who holds the secret can forge; a key file cannot
  /// be forged with.
  [[nodiscard]] static CheckpointSigner with_secret(const base::Secret& secret);

  /// The members of a checkpoint line but for those of the chain.
  /// Errors: kInternal  the library failed to sign.
  [[nodiscard]] base::Result<base::json::Object> sign(const ChainHead& covered,
                                                      const Origin& origin,
                                                      base::WallTime now) const;
  /// Signs a receipt of `node`. Errors: as above.
  [[nodiscard]] base::Status sign(AuditReceipt& receipt, std::string_view node) const;
  /// See AuditLog::arguments_mac().
  [[nodiscard]] std::string arguments_mac(std::string_view args_digest) const;
  /// A key pair: nobody else can sign as it does.
  [[nodiscard]] bool has_key_pair() const { return key_.has_value(); }
  [[nodiscard]] const std::optional<base::crypto::SigningKey>& key() const { return key_; }
  [[nodiscard]] const std::shared_ptr<const base::crypto::HmacKey>& secret() const {
    return secret_;
  }

 private:
  CheckpointSigner() = default;
  struct Signature {
    std::string kid;
    std::string value;  // base64url
  };
  [[nodiscard]] base::Result<Signature> sign(std::string_view message) const;
  std::optional<base::crypto::SigningKey> key_;
  std::shared_ptr<const base::crypto::HmacKey> secret_;
  std::shared_ptr<const base::crypto::HmacKey> arguments_;
};

/// What a checkpoint line is worth to who holds some keys.
struct CheckedLine {
  enum class Standing : std::uint8_t {
    kMalformed,  ///< Not a checkpoint at all.
    kUnknown,    ///< No key that was given made it: another key, or nobody's.
    kVerified,
  };
  Standing standing = Standing::kMalformed;
  ChainHead covered;            ///< What it says it vouches for.
  std::string kid;              ///< "secret", or the thumbprint of a key pair.
  bool is_by_key_pair = false;  ///< Of a verified one.
};

/// What checkpoints are checked with. A key is used for its own algorithm
/// alone, whatever a line claims.
class CheckpointKeys {
 public:
  void add(base::crypto::VerifyKey key) { keys_.push_back(std::move(key)); }
  void add(const base::Secret& secret);
  /// What `signer` signs with.
  void add(const CheckpointSigner& signer);
  [[nodiscard]] bool empty() const { return keys_.empty() && secrets_.empty(); }

  [[nodiscard]] CheckedLine check(const base::json::Object& line) const;
  /// Whether one of the keys signed the receipt.
  [[nodiscard]] bool is_signed(const AuditReceipt& receipt) const;

 private:
  [[nodiscard]] bool is_signed(std::string_view signed_text, std::string_view kid,
                               std::string_view signature) const;
  std::vector<base::crypto::VerifyKey> keys_;
  std::vector<std::shared_ptr<const base::crypto::HmacKey>> secrets_;
};

}  // namespace tool::audit
