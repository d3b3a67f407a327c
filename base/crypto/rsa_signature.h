#pragma once

// For this folder's own sources: RSA signatures with contexts made ready once.
// Naming algorithms anew for each message costs as much as a tenth of a
// verification; a prepared context is copied instead.
// Source: RFC 8017, sections 8.1 and 8.2.

#include <openssl/evp.h>

#include <string>
#include <string_view>

#include "base/crypto/openssl.h"

namespace base::crypto {

enum class RsaPadding : std::uint8_t { kPkcs1, kPss };
enum class RsaUse : std::uint8_t { kSign, kVerify };

/// Thread-safe after construction: each call works on a copy.
class RsaSignature {
 public:
  /// `key` is an RSA key, with its private part for kSign.
  RsaSignature(EVP_PKEY* key, RsaPadding padding, RsaUse use);

  [[nodiscard]] std::string sign(std::string_view data) const;
  [[nodiscard]] bool verify(std::string_view data, std::string_view signature) const;

 private:
  openssl::Owned<EVP_PKEY_CTX> prepared_;
};

}  // namespace base::crypto
