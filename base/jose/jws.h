#pragma once

// Signed objects in the compact form of JWS. What a token says of itself is
// never believed: the verifier holds a key that is bound to one algorithm, and
// the token's header either agrees with it or is refused.
// Sources: RFC 7515; RFC 7518, section 3; RFC 8725 (best current practices).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/result.h"
#include "base/crypto/digest.h"
#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"

namespace base::jose {

/// Longest token that is read or made, in bytes.
inline constexpr std::size_t kMaxTokenBytes = 8 * 1024;

enum class Algorithm : std::uint8_t { kHs256, kRs256, kPs256, kEdDsa, kEs256 };
/// "HS256". Source: RFC 7518, section 3.1; RFC 8037, section 3.1.
[[nodiscard]] std::string_view name(Algorithm algorithm);

/// The reason() of an Error tells refusals of tokens apart; for logs, metrics
/// and tests. What a caller is told beyond kExpired should not depend on it.
namespace reason {
inline constexpr std::string_view kMalformed = "malformed";  ///< Not a compact JWS of ours.
inline constexpr std::string_view kHeader = "header";        ///< A header that is not allowed.
inline constexpr std::string_view kAlgorithm = "algorithm";  ///< Not the pinned one.
inline constexpr std::string_view kType = "type";            ///< Not the wanted typ.
inline constexpr std::string_view kKey = "key";              ///< No kid, or no key of that kid.
inline constexpr std::string_view kSignature = "signature";
inline constexpr std::string_view kExpired = "expired";
inline constexpr std::string_view kNotYetValid = "not_yet_valid";
inline constexpr std::string_view kLifetime = "lifetime";  ///< Made to last too long.
inline constexpr std::string_view kIssuer = "issuer";
inline constexpr std::string_view kAudience = "audience";
inline constexpr std::string_view kClaims = "claims";  ///< Missing, or of the wrong shape.
}  // namespace reason

/// 1 to 64 characters of [A-Za-z0-9._-]; RFC 7638 thumbprints fit.
[[nodiscard]] bool is_key_id(std::string_view text);

/// A key that checks tokens of one algorithm. Copies share the key;
/// thread-safe after construction.
class Verifier {
 public:
  /// Errors: kInvalid  a secret under 32 bytes (RFC 7518, section 3.2), or a
  /// kid that is neither empty nor a key id.
  [[nodiscard]] static Result<Verifier> hs256(std::string_view secret, std::string kid = {});
  /// Errors: kInvalid  the key is not of the algorithm's type, or `algorithm` is
  /// kHs256, or a kid as above.
  [[nodiscard]] static Result<Verifier> with_key(Algorithm algorithm, crypto::VerifyKey key,
                                                 std::string kid = {});

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  /// Empty when the key has no name.
  [[nodiscard]] const std::string& kid() const { return kid_; }
  /// Null for HS256, whose key is a secret.
  [[nodiscard]] const crypto::VerifyKey* public_key() const;
  [[nodiscard]] bool verify(std::string_view data, std::string_view signature) const;

 private:
  friend class Signer;
  using Key = std::variant<std::shared_ptr<const crypto::HmacKey>, crypto::VerifyKey>;
  Verifier(Algorithm algorithm, Key key, std::string kid)
      : algorithm_(algorithm), key_(std::move(key)), kid_(std::move(kid)) {}

  Algorithm algorithm_;
  Key key_;
  std::string kid_;
};

/// A key that makes tokens of one algorithm. Copies share the key; thread-safe
/// after construction.
class Signer {
 public:
  /// Errors: as Verifier::hs256 and Verifier::with_key.
  [[nodiscard]] static Result<Signer> hs256(std::string_view secret, std::string kid = {});
  [[nodiscard]] static Result<Signer> with_key(Algorithm algorithm, crypto::SigningKey key,
                                               std::string kid = {});

  [[nodiscard]] Algorithm algorithm() const { return algorithm_; }
  [[nodiscard]] const std::string& kid() const { return kid_; }
  /// The signature or MAC itself, not encoded.
  [[nodiscard]] std::string sign(std::string_view data) const;
  /// What checks this signer's tokens.
  [[nodiscard]] Verifier verifier() const;

 private:
  using Key = std::variant<std::shared_ptr<const crypto::HmacKey>, crypto::SigningKey>;
  Signer(Algorithm algorithm, Key key, std::string kid)
      : algorithm_(algorithm), key_(std::move(key)), kid_(std::move(kid)) {}

  Algorithm algorithm_;
  Key key_;
  std::string kid_;
};

/// A compact JWS whose header is {"alg","typ"} and, when the signer has one,
/// "kid". `typ` is a media type without "application/", such as "scp-fwd+jws".
/// Errors: kInvalid  an empty typ or one with other characters than
/// [A-Za-z0-9.+-]; kTooLarge  the token would be over kMaxTokenBytes.
[[nodiscard]] Result<std::string> sign_compact(const Signer& signer, std::string_view typ,
                                               std::string_view payload);

/// Whether a token may leave typ out. Only for issuers that do not set it, and
/// only where a key is used for one kind of token.
enum class Untyped : std::uint8_t { kRefused, kAccepted };

/// What the header of a token must say.
struct HeaderRules {
  Algorithm algorithm = Algorithm::kRs256;  ///< The only one that is accepted.
  /// Accepted values of typ, at least one.
  /// Compared without case, and "application/" before it may be left out.
  /// Source: RFC 7515, section 4.1.9.
  std::vector<std::string> types;
  Untyped untyped = Untyped::kRefused;
};

/// A token taken apart, its header checked, its signature not yet: all it
/// gives away is the name of the key to look for.
class UnverifiedJws {
 public:
  /// Errors: kUnauthenticated  with one of the reasons kMalformed, kHeader,
  /// kAlgorithm, kType. Refused are: any but three parts, base64url that is not
  /// canonical, JSON with duplicate keys, the headers crit, jku, jwk, x5u, x5c
  /// and b64, a kid that is not a key id, more than kMaxTokenBytes. A message
  /// never repeats a part of the token.
  [[nodiscard]] static Result<UnverifiedJws> parse(std::string_view token,
                                                   const HeaderRules& rules);

  /// Empty when the token names none.
  [[nodiscard]] const std::string& kid() const { return kid_; }
  /// The payload, if the signature is right.
  /// A key with a name takes only tokens that carry that kid or none.
  /// Errors: kUnauthenticated  kAlgorithm  the key is of another algorithm;
  ///         kKey  the token names another key; kSignature.
  [[nodiscard]] Result<std::string> verify(const Verifier& verifier) const;

 private:
  UnverifiedJws() = default;

  Algorithm algorithm_ = Algorithm::kRs256;
  std::string kid_;
  std::string signed_part_;  ///< header.payload, as they came.
  std::string payload_;
  std::string signature_;
};

}  // namespace base::jose
