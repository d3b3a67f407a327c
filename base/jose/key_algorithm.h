#pragma once

// Which algorithm a key signs with where both sides are free to choose: one for each kind of key,
// so that nothing has to be said about it. Source: RFC 8725, section 3.2.

#include "base/crypto/verify_key.h"
#include "base/jose/jws.h"

namespace base::jose {

/// EdDSA for Ed25519, ES256 for P-256, PS256 for RSA.
[[nodiscard]] constexpr Algorithm algorithm_for(crypto::KeyType type) {
  switch (type) {
    case crypto::KeyType::kEd25519: return Algorithm::kEdDsa;
    case crypto::KeyType::kP256: return Algorithm::kEs256;
    case crypto::KeyType::kRsa: break;
  }
  return Algorithm::kPs256;
}

}  // namespace base::jose
