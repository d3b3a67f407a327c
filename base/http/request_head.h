#pragma once

// Decides where one request ends and the next begins. Two servers that disagree
// about that can be made to see different requests in the same bytes, so a head
// that can be read in two ways is refused, never guessed at.
// Sources: RFC 9112, sections 2, 3 and 6; RFC 9110, sections 7.2 and 10.1.1.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "base/http/message.h"

namespace base::http {

/// Why a request never reaches the handler. `message` is a literal.
struct Refused {
  unsigned status;
  std::string_view message;
};

enum class Framing : std::uint8_t { kLength, kChunked };

struct RequestHead {
  Request request;  ///< Without body and peer.
  Framing framing = Framing::kLength;
  std::uint64_t length = 0;  ///< Of the body, when framed by length.
  bool keep_alive = false;
  bool expects_continue = false;
  bool http_1_0 = false;
};

/// Bytes of the head at the start of `bytes`, empty line included; nothing
/// while it is incomplete. The first `scanned` bytes are known to hold no end.
[[nodiscard]] std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t scanned);

/// Looks at a head that is still incomplete: what cannot become a request is
/// refused now rather than when the time for the head is over.
[[nodiscard]] std::optional<Refused> check_partial_head(std::string_view bytes);

/// Parses one whole head, as find_head_end() delimits it. A target in absolute
/// form becomes origin form.
/// Refusals: 400  malformed, ambiguous framing, no or several Host fields;
///           417  an expectation other than 100-continue;
///           501  a transfer coding other than chunked;
///           505  a version other than 1.0 and 1.1.
[[nodiscard]] std::expected<RequestHead, Refused> parse_head(std::string_view head);

}  // namespace base::http
