#pragma once

// Opens a WebSocket as a client. With wss only TLS 1.3 is spoken, and the
// server's certificate must be valid for the name in the URL.
// Source: RFC 6455, section 4.1; RFC 8446; RFC 9525.

#include <chrono>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/websocket/connection.h"

namespace base::ws {

struct ConnectOptions {
  std::string url;  ///< "ws://host[:port]/path" or "wss://...".
  /// Where to connect in place of what the host's name stands for; the certificate
  /// must be for the name all the same. Empty: the name is looked up.
  std::string address;
  std::string subprotocol;       ///< Offered, and required of the answer; empty: none.
  http::Headers headers;         ///< Sent along, e.g. Authorization.
  std::string ca_file;           ///< PEM; the only roots trusted. The system's when empty.
  std::string certificate_file;  ///< PEM chain for a server that asks; empty: none.
  std::string key_file;          ///< PEM key of it.
  std::chrono::milliseconds connect_time{10'000};  ///< Up to the open WebSocket.
  std::size_t header_bytes = 16 * 1024;            ///< Of the server's answer.
  ConnectionOptions connection{.message_bytes = 4 * 1024 * 1024};
  Random* random = nullptr;  ///< Outlives the connection; the system's when null.
};

/// Connects, shakes hands and gives the open connection, which belongs to the
/// loop that runs this.
/// Errors: kInvalid  not such a URL, a header that would break its line, or a
///                   file that cannot be used;
///         kUnavailable  no connection, or it ended during the handshake;
///         kTimeout  connect_time or the context's deadline passed;
///         kForbidden  TLS refused: a certificate that is not trusted or not
///                     for this name, a client certificate that is missing or
///                     refused, a version under 1.3; or the answer was 401 or
///                     403 (reason "status");
///         kUnsupported  the server does not speak WebSocket there, or not
///                       the sub-protocol;
///         kTooLarge  the server's answer is over header_bytes;
///         kCancelled  the caller was cancelled.
[[nodiscard]] Task<Result<std::unique_ptr<Connection>>> connect(RequestContext context,
                                                                ConnectOptions options);

}  // namespace base::ws
