#pragma once

// What the text of a setting may be made of. Each rule answers the broken rule or nothing.

#include <string_view>

namespace lake::settings {

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

/// A folder of the object store, free of every spelling that two readers take for two places.
inline constexpr std::string_view kFolderRule = "s3://bucket/folder/";
[[nodiscard]] std::string_view folder_rule(std::string_view text);

/// Letters, digits and '-'.
[[nodiscard]] std::string_view region_rule(std::string_view text);

/// Empty, a word, or an address.
inline constexpr std::string_view kStsRule = "aws, none, or an address such as https://host:port";
[[nodiscard]] std::string_view sts_rule(std::string_view text);

/// A role of PostgreSQL that leaves room for an ending, and needs no quotes.
[[nodiscard]] std::string_view role_rule(std::string_view text);

[[nodiscard]] std::string_view not_empty_rule(std::string_view text);

/// Empty or 32 bytes and more. Source: RFC 7518, section 3.2.
[[nodiscard]] std::string_view token_secret_rule(std::string_view text);

/// Empty or an absolute path.
[[nodiscard]] std::string_view absolute_path_rule(std::string_view text);

}  // namespace lake::settings
