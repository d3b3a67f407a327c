#pragma once

// A public key that checks signatures: read once, used by all threads. What a
// key can be used for follows from the key and the caller, never from the
// message that is checked.
// Sources: RFC 8017 (RSA); RFC 8032 (Ed25519); RFC 7518, sections 3.3 to 3.5;
// RFC 8037; RFC 7638.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::crypto {

enum class KeyType : std::uint8_t { kRsa, kEd25519, kP256 };

enum class SignatureAlgorithm : std::uint8_t {
  kRs256,    ///< RSASSA-PKCS1-v1_5 with SHA-256.
  kPs256,    ///< RSASSA-PSS with SHA-256, MGF1-SHA-256 and a salt of 32 bytes.
  kEd25519,  ///< Pure Ed25519.
  kEs256,    ///< ECDSA with P-256 and SHA-256; the signature is r and s, 32 bytes each.
};
/// The kind of key an algorithm needs.
[[nodiscard]] KeyType key_type(SignatureAlgorithm algorithm);

/// Copies share the key. Thread-safe after construction.
class VerifyKey {
 public:
  /// A PEM text with one public key: "PUBLIC KEY" (SubjectPublicKeyInfo) or
  /// "RSA PUBLIC KEY".
  /// Errors: kInvalid  not such a text, another kind of key, an RSA modulus
  /// under 2048 or over 8192 bits, or an exponent that is even, under 3 or over
  /// 64 bits.
  [[nodiscard]] static Result<VerifyKey> from_pem(std::string_view pem);
  /// RSA numbers, big-endian without leading zeros (a JWK's n and e).
  /// Errors: as from_pem.
  [[nodiscard]] static Result<VerifyKey> from_rsa(std::string_view modulus,
                                                  std::string_view exponent);
  /// A point of P-256 by its coordinates (a JWK's x and y).
  /// Errors: kInvalid  not 32 bytes each, or no point of the curve.
  [[nodiscard]] static Result<VerifyKey> from_p256(std::string_view x, std::string_view y);
  /// An Ed25519 public key. Errors: kInvalid  not 32 bytes.
  [[nodiscard]] static Result<VerifyKey> from_ed25519(std::string_view bytes);

  [[nodiscard]] KeyType type() const;
  /// Whether `signature` is one of `data`. False too when the key is not of the
  /// algorithm's type.
  [[nodiscard]] bool verify(SignatureAlgorithm algorithm, std::string_view data,
                            std::string_view signature) const;
  /// base64url of the SHA-256 of the key's canonical JWK, 43 characters.
  /// Source: RFC 7638, section 3; RFC 8037, section 2.
  [[nodiscard]] const std::string& thumbprint() const;
  /// The canonical JWK itself, a JSON object without a kid. RFC 7638, section 3.
  [[nodiscard]] const std::string& canonical_jwk() const;
  /// SubjectPublicKeyInfo in PEM.
  [[nodiscard]] std::string to_pem() const;

 private:
  friend class SigningKey;
  struct State;
  explicit VerifyKey(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace base::crypto
