#pragma once

// What the names of a catalog may be made of, wherever they come from: its
// settings or a request. Each rule answers the broken rule or nothing.

#include <string_view>

namespace lake::model {

/// 1 to 63 letters, digits, '_' or '-', the first a letter or '_'. Such a name
/// is the same in a URL, in an object key and as an SQL identifier in quotes.
inline constexpr std::string_view kIdentifierRule =
    "1 to 63 letters, digits, '_' or '-', beginning with a letter or '_'";
[[nodiscard]] std::string_view identifier_rule(std::string_view text);

/// 1 to 512 bytes of path segments without "." and "..", each followed by '/'.
inline constexpr std::string_view kPrefixRule =
    "segments of letters, digits, '_', '-', '.' or '=', each followed by '/', none '.' or '..'";
[[nodiscard]] std::string_view prefix_rule(std::string_view text);

}  // namespace lake::model
