#pragma once

// For this folder's own sources: what the copies of a key share.

#include <memory>
#include <string>

#include "base/crypto/openssl.h"
#include "base/crypto/rsa_signature.h"
#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"

namespace base::crypto {

/// The contexts of an RSA key; absent for Ed25519.
struct RsaContexts {
  RsaContexts(EVP_PKEY* key, RsaUse use)
      : pkcs1(key, RsaPadding::kPkcs1, use), pss(key, RsaPadding::kPss, use) {}
  [[nodiscard]] const RsaSignature& of(SignatureAlgorithm algorithm) const {
    return algorithm == SignatureAlgorithm::kPs256 ? pss : pkcs1;
  }
  RsaSignature pkcs1;
  RsaSignature pss;
};

struct VerifyKey::State {
  /// Takes a key that passed pem::check_key.
  State(openssl::Owned<EVP_PKEY> checked, KeyType its_type);

  openssl::Owned<EVP_PKEY> key;
  KeyType type;
  std::string jwk;
  std::string thumbprint;
  std::unique_ptr<const RsaContexts> rsa;
};

}  // namespace base::crypto
