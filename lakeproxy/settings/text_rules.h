#pragma once

// What a name may be made of. Each rule answers the broken rule or nothing.

#include <string_view>

namespace lake::settings {

/// 1 to 63 letters, digits, '_' or '-', the first a letter or '_'. Such a name
/// is the same in a URL, in an object key and as an SQL identifier in quotes.
inline constexpr std::string_view kIdentifierRule =
    "1 to 63 letters, digits, '_' or '-', beginning with a letter or '_'";
[[nodiscard]] std::string_view identifier_rule(std::string_view text);

/// An address, a host name, a socket folder or nothing.
[[nodiscard]] std::string_view postgres_host_rule(std::string_view text);

/// An address or a host name.
[[nodiscard]] std::string_view listen_host_rule(std::string_view text);

/// Free of what would need quoting in a connection string.
[[nodiscard]] std::string_view password_rule(std::string_view text);

/// Source: Amazon S3 User Guide, "General purpose bucket naming rules".
inline constexpr std::string_view kBucketRule =
    "3 to 63 lower-case letters, digits, '-' or '.', a letter or digit at both ends";
[[nodiscard]] std::string_view bucket_rule(std::string_view text);

/// Letters, digits and '-'.
[[nodiscard]] std::string_view region_rule(std::string_view text);

/// Path segments without "." and "..", ending with '/'.
inline constexpr std::string_view kPrefixRule =
    "segments of letters, digits, '_', '-', '.' or '=', each followed by '/', none '.' or '..'";
[[nodiscard]] std::string_view prefix_rule(std::string_view text);

[[nodiscard]] std::string_view not_empty_rule(std::string_view text);

/// Empty or an absolute path.
[[nodiscard]] std::string_view absolute_path_rule(std::string_view text);

}  // namespace lake::settings
