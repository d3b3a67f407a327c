#pragma once

// A private key that signs: read once, used by all threads. The private part
// leaves only as PEM in wiped bytes, for the key generator.
// Sources: as verify_key.h; RFC 5958 (PKCS#8); RFC 8017, appendix A.1.2 (PKCS#1).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/crypto/secret_bytes.h"
#include "base/crypto/verify_key.h"

namespace base::crypto {

/// Whether a private key of P-256 is read. Keys of our own are RSA or Ed25519; servers of others
/// may take no other signature than ES256.
enum class P256 : std::uint8_t { kRefused, kAccepted };

/// Copies share the key. Thread-safe after construction.
class SigningKey {
 public:
  /// A PEM text with one private key: "PRIVATE KEY" (PKCS#8) or
  /// "RSA PRIVATE KEY" (PKCS#1), not encrypted.
  /// Errors: kInvalid  not such a text, another kind of key, a size that
  /// VerifyKey refuses, or a private part that does not fit the public one.
  [[nodiscard]] static Result<SigningKey> from_pem(std::string_view pem,
                                                   P256 p256 = P256::kRefused);
  /// A new key: RSA of 3072 bits (takes up to a second), Ed25519 or P-256. The library's
  /// own generator makes it, since a chosen source of chance cannot be handed in.
  [[nodiscard]] static SigningKey generate(KeyType type);

  [[nodiscard]] KeyType type() const;
  /// The signature: as long as the modulus, or 64 bytes.
  /// Errors: kInvalid  the key is not of the algorithm's type.
  [[nodiscard]] Result<std::string> sign(SignatureAlgorithm algorithm, std::string_view data) const;
  /// The public part.
  [[nodiscard]] const VerifyKey& verify_key() const;
  [[nodiscard]] const std::string& thumbprint() const { return verify_key().thumbprint(); }
  /// PKCS#8 in PEM.
  [[nodiscard]] SecretBytes to_pem() const;

 private:
  struct State;
  explicit SigningKey(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace base::crypto
