#pragma once

// Text forms that several folders need, each parsed strictly: the whole input
// must match, or the answer is nothing.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"

namespace base {

/// A whole decimal number, optional leading '-', no other characters.
[[nodiscard]] std::optional<std::int64_t> parse_int64(std::string_view text);

/// Lower-case hexadecimal.
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::optional<std::string> from_hex(std::string_view text);

/// 8-4-4-4-12 lower-case hexadecimal. Source: RFC 9562, section 4.
[[nodiscard]] std::string to_string(const Uuid& uuid);
[[nodiscard]] std::optional<Uuid> parse_uuid(std::string_view text);

/// Percent-encodes all but unreserved characters, and '/' when `keep_slash`.
/// Source: RFC 3986, section 2.3.
enum class Slash { kEncode, kKeep };
[[nodiscard]] std::string percent_encode(std::string_view text, Slash slash);
/// Nothing on a broken escape. '+' stays '+'.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// A text of foreign origin, fit for a terminal: control characters (C0 but '\n'
/// and '\t', DEL, C1), those that reorder text, and bytes that are not UTF-8
/// become escapes such as \x1b and \u202e.
[[nodiscard]] std::string for_terminal(std::string_view text);

/// Well-formed UTF-8 without surrogates or overlong forms. Source: RFC 3629.
[[nodiscard]] bool is_utf8(std::string_view text);

/// `text` where it has at most `most` bytes, else three quarters of as many from
/// its front, how many it has, and a quarter from its end. Characters stay whole.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t most);

}  // namespace base
