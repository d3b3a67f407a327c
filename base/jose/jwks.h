#pragma once

// The published keys of an issuer. A set may hold keys for other uses and of
// kinds from the future: those are passed over, and a broken one does not take
// the others with it.
// Sources: RFC 7517, section 5; RFC 7518, sections 6.2.1 and 6.3.1.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/crypto/verify_key.h"
#include "base/jose/jws.h"
#include "base/jose/key_set.h"

namespace base::jose {

inline constexpr std::size_t kMaxJwksBytes = 256 * 1024;
inline constexpr std::size_t kMaxJwksKeys = 64;

/// The RS256 and ES256 keys of a JWK set. Taken are RSA keys and points of P-256
/// that VerifyKey accepts, with
/// a kid that is a key id, use absent or "sig", key_ops absent or with
/// "verify", alg absent or the one named, and no private part: a published private
/// key is nobody's. Of two with one kid neither is taken. A set without such
/// keys gives an empty one, which accepts no token.
/// Errors: kInvalid  not a JWK set;
///         kTooLarge  over kMaxJwksBytes or kMaxJwksKeys.
[[nodiscard]] Result<KeySet> parse_jwks(std::string_view text);

/// A JWK set with these keys, all for signatures, each under its kid (the
/// thumbprint when the verifier has none): what an issuer of ours publishes.
/// HS256 keys are left out: they are secrets.
[[nodiscard]] std::string write_jwks(const std::vector<Verifier>& keys);

}  // namespace base::jose
