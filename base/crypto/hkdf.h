#pragma once

// Keys from a shared secret, one for each use, told apart by their labels.
// Source: RFC 5869, with SHA-256.

#include <cstddef>
#include <string_view>

#include "base/crypto/secret_bytes.h"

namespace base::crypto {

/// The pseudo-random key of 32 bytes. An empty salt stands for 32 zero bytes.
/// Source: RFC 5869, section 2.2.
[[nodiscard]] SecretBytes hkdf_extract(std::string_view salt, std::string_view key_material);

/// `length` bytes for the use that `info` names. `length` must be 1 to 8160
/// (255 hashes): it is a constant of the caller, and any other one aborts.
/// Source: RFC 5869, section 2.3.
[[nodiscard]] SecretBytes hkdf_expand(std::string_view pseudo_random_key, std::string_view info,
                                      std::size_t length);

}  // namespace base::crypto
