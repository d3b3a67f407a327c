#pragma once

// Whether plaintext is allowed hangs on one question: does this text name our
// own machine? Everything that only looks like it (other writings of an
// address, names that begin with one, a user part) must say no.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tool::settings {

struct Endpoint {
  std::string scheme;  ///< In small letters.
  std::string host;    ///< As written, without the brackets of IPv6.
  std::optional<std::uint16_t> port;
  std::string path;  ///< Empty or beginning with '/'.
};

/// "scheme://host[:port][/path]" and nothing else: no user part, no query, no
/// fragment, no escapes in the host.
[[nodiscard]] std::optional<Endpoint> parse_endpoint(std::string_view url);

/// 127.0.0.0/8 in four decimal parts, ::1 in any writing, "localhost" in any
/// case. An IPv4 address inside an IPv6 one is not, nor a name with a dot at
/// its end.
[[nodiscard]] bool is_loopback(std::string_view host);

/// ws or http.
[[nodiscard]] bool is_plaintext(const Endpoint& endpoint);

}  // namespace tool::settings
