#pragma once

// What both halves of the opening handshake have in common: the key and its
// answer, and header fields that hold lists. Pure.
// Source: RFC 6455, sections 1.3 and 4; RFC 9110, section 5.6.1.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/http/message.h"

namespace base::ws {

/// Sixteen random bytes in base64: a client's Sec-WebSocket-Key.
[[nodiscard]] std::string make_key(Random& random);
[[nodiscard]] bool is_key(std::string_view text);
/// The Sec-WebSocket-Accept that answers `key`: it shows that the server knows
/// the protocol and did not answer by accident.
[[nodiscard]] std::string accept_for(std::string_view key);

[[nodiscard]] bool equals_ignoring_case(std::string_view a, std::string_view b);
/// Every value of every field of that name, split at commas.
[[nodiscard]] std::vector<std::string_view> list_of(const http::Headers& headers,
                                                    std::string_view name);
[[nodiscard]] bool has_token(const http::Headers& headers, std::string_view name,
                             std::string_view token);
/// The value of a field that stands there exactly once.
[[nodiscard]] std::optional<std::string_view> only(const http::Headers& headers,
                                                   std::string_view name);

/// The head of a server's answer.
struct Answer {
  unsigned status = 0;
  http::Headers headers;
};

/// Parses one whole head, final empty line included; nothing when malformed.
/// Source: RFC 9112, sections 4 and 5.
[[nodiscard]] std::optional<Answer> parse_answer(std::string_view head);

}  // namespace base::ws
