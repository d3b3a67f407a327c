#pragma once

// Plaintext, and trust without a certificate, are for this machine alone. What
// counts as its address stands here, so that no listener has a wider rule.

#include <string_view>

namespace base {

/// Whether `text` is a literal loopback address: 127.0.0.0/8 in four decimal
/// parts, or ::1 in any writing, without brackets. No name is one, since a name
/// could come to stand for another machine; nor is an IPv4 address inside an
/// IPv6 one.
/// Sources: RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3.
[[nodiscard]] bool is_loopback_address(std::string_view text);

}  // namespace base
