#pragma once

// A certificate is named by the hash of its bytes.

#include <string_view>

#include "base/core/result.h"
#include "base/crypto/digest.h"

namespace base::crypto {

/// SHA-256 of the first certificate of a PEM text, in DER: what the channel
/// binding tls-server-end-point is for certificates that are signed with
/// SHA-256.
/// Errors: kInvalid  no certificate.
/// Source: RFC 5929, section 4.1.
[[nodiscard]] Result<Digest> certificate_hash(std::string_view pem);

}  // namespace base::crypto
