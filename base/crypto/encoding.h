#pragma once

// Text forms of bytes, read strictly: each byte string has exactly one text,
// so that two texts can never stand for one token, key or signature.
// Sources: RFC 4648, sections 3.5, 4, 5 and 8; RFC 7515, appendix C.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::crypto {

/// Without padding.
[[nodiscard]] std::string to_base64url(std::string_view bytes);
/// Errors: kInvalid  a character outside the alphabet (padding and white space
///                   included), an impossible length, or trailing bits not zero;
///         kTooLarge  more than `max_bytes` bytes.
[[nodiscard]] Result<std::string> from_base64url(std::string_view text, std::size_t max_bytes);

/// With padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Padding must be there. Errors: as from_base64url.
[[nodiscard]] Result<std::string> from_base64(std::string_view text, std::size_t max_bytes);

/// Lower case.
[[nodiscard]] std::string to_hex(std::string_view bytes);
/// Lower case only. Errors: kInvalid  another character or an odd length;
///                          kTooLarge  more than `max_bytes` bytes.
[[nodiscard]] Result<std::string> from_hex(std::string_view text, std::size_t max_bytes);

}  // namespace base::crypto
