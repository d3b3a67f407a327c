#pragma once

// For this folder's own sources: keys out of PEM texts. Which kinds of text are
// taken is decided here by their label, not by what a decoder can make of them.
// Source: RFC 7468.

#include <openssl/evp.h>

#include <string_view>

#include "base/core/result.h"
#include "base/crypto/openssl.h"
#include "base/crypto/verify_key.h"

namespace base::crypto::pem {

enum class Part : std::uint8_t { kPublic, kPrivate };

/// The one key in `text`.
/// Errors: kInvalid  over 64 KiB, none or several PEM blocks, another label
/// than the part's two, encrypted, or not decodable.
[[nodiscard]] Result<openssl::Owned<EVP_PKEY>> read_key(std::string_view text, Part part);

/// The kind of the key, if this folder knows it.
/// Errors: kInvalid  another kind, or RSA numbers that VerifyKey refuses.
[[nodiscard]] Result<KeyType> check_key(const EVP_PKEY* key);

}  // namespace base::crypto::pem
