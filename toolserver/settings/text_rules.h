#pragma once

// What the texts of settings may be made of. Each rule answers the broken rule
// or nothing.

#include <optional>
#include <string_view>

#include "toolserver/settings/settings.h"

namespace tool::settings {

/// Of a node or a cluster.
inline constexpr std::string_view kNameRule =
    "1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or digit";
[[nodiscard]] std::string_view name_rule(std::string_view text);
/// The same, or empty.
[[nodiscard]] std::string_view node_rule(std::string_view text);

/// An address or host name to listen on.
[[nodiscard]] std::string_view host_rule(std::string_view text);

inline constexpr std::string_view kPathRule =
    "segments of letters, digits, '.', '_' or '-', each after a '/', none '.' or '..'";
[[nodiscard]] std::string_view url_path_rule(std::string_view text);

/// Source: RFC 6454, section 6.2, without "null".
inline constexpr std::string_view kOriginRule = "scheme://host or scheme://host:port";
[[nodiscard]] std::string_view origin_rule(std::string_view text);

/// Source: docs/wire-3.0.md, "Suites".
inline constexpr std::string_view kSuiteRule =
    "X25519_A256GCM_S256, P256_A256GCM_S256 or X25519_C20P_S256";
[[nodiscard]] std::string_view suite_rule(std::string_view text);

/// Source: docs/wire-3.0.md, "Scopes".
inline constexpr std::string_view kScopeRule =
    "cap:list, flow:run, fed:forward, mcp:resources, mcp:prompts, admin:<area>, "
    "tool:invoke:<tool>, tool:describe:<tool>, prompt:get:<prompt> or resource:read:<resource>";
[[nodiscard]] std::string_view scope_rule(std::string_view text);

/// A node key: its RFC 7638 thumbprint, or a file with it.
inline constexpr std::string_view kServerKeyRule =
    "the thumbprint that `securetool keygen ed25519` prints, or a PEM file with the public key";
[[nodiscard]] std::string_view server_key_rule(std::string_view text);
[[nodiscard]] bool is_thumbprint(std::string_view text);
inline constexpr std::string_view kTableRule = "NAMESPACE.TABLE";
[[nodiscard]] std::string_view table_rule(std::string_view text);

inline constexpr std::string_view kExtensionRule = "a dot and 1 to 16 of a-z and 0-9";
[[nodiscard]] std::string_view extension_rule(std::string_view text);

/// Names of toolserver/guard/rules.
inline constexpr std::string_view kShippedRulesRule = "injection, personal_data or secrets";
[[nodiscard]] std::string_view shipped_rules_rule(std::string_view text);

/// A DNS name, of a service with '_' labels or of one in a registry.
/// Empty is allowed.
[[nodiscard]] std::string_view service_name_rule(std::string_view text);

/// A key prefix of a registry. Empty is allowed.
[[nodiscard]] std::string_view key_prefix_rule(std::string_view text);

inline constexpr std::string_view kPeerRule =
    "\"node_id wss://host:port\" or \"node_id wss://host:port public_key_file\"";
[[nodiscard]] std::string_view peer_rule(std::string_view text);
/// Nothing when the text breaks peer_rule.
[[nodiscard]] std::optional<Peer> parse_peer(std::string_view text);

}  // namespace tool::settings
