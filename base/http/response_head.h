#pragma once

// The bytes before a response's body. They are made in a buffer that the
// connection keeps, so that an answer costs no allocation here.
// Source: RFC 9112, section 4; RFC 9110, sections 6.6.1 and 8.6.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/http/message.h"

namespace base::http {

enum class Persistence : std::uint8_t { kKeepAlive, kKeepAliveHttp10, kClose, kUpgrade };

/// Makes the Date field once a second. For one thread.
class DateCache {
 public:
  /// An IMF-fixdate, valid until the next call.
  [[nodiscard]] std::string_view at(std::chrono::steady_clock::time_point now);

 private:
  std::chrono::steady_clock::time_point valid_until_{};
  std::string text_;
};

/// How a body that is not in the response is told from what follows it: by its length, by chunks,
/// or, with neither, by the end of the connection.
struct StreamFraming {
  std::optional<std::uint64_t> length;
  bool chunked = false;
};

/// What the server adds to the fields of the handler.
struct HeadContext {
  Persistence persistence;
  std::uint64_t request_id;
  std::string_view date;
  std::optional<StreamFraming> stream = std::nullopt;  ///< Nothing: the body is the response's.
};

/// False for the statuses whose responses end with the head.
[[nodiscard]] bool may_have_body(unsigned status);

/// Appends status line, fields and the empty line. Content-Length, Connection,
/// Transfer-Encoding, Date and X-Request-Id are the server's: the handler's own
/// are left out. A control character in a value becomes a space, and a field
/// whose name is no token is left out, so no value can start a new field.
void append_head(std::string& out, const Response& response, const HeadContext& context);

}  // namespace base::http
