#pragma once

// The server's half of the opening handshake. A browser lets any page open a
// WebSocket to any host and sends the user's cookies along, so a request that
// names an origin is refused unless that origin is listed; and on a loopback
// address the Host must be a loopback name, since a page can point its own
// name there (DNS rebinding).
// Source: RFC 6455, sections 4.2 and 10.2.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/http/message.h"
#include "base/websocket/connection.h"

namespace base::ws {

/// Serves one connection for its life: when the task ends, the connection is
/// closed as if dropped. Cancelled when the server's grace is over.
using Session = std::function<Task<void>(std::unique_ptr<Connection>)>;

enum class HostCheck : std::uint8_t {
  kAny,       ///< For a server that others reach by names it does not know.
  kLoopback,  ///< Only localhost, 127.0.0.0/8 and [::1], with any port.
};

struct AcceptOptions {
  std::string subprotocol;           ///< The client must offer it; empty: none is agreed on.
  std::vector<std::string> origins;  ///< Allowed, compared whole, e.g. "https://a.example".
  HostCheck host_check = HostCheck::kLoopback;
  ConnectionOptions connection;
};

/// The refusal of one who must not ask at all, by origin or host: 403 and 421 as
/// below. For the other paths of the same port; accept() asks it by itself.
[[nodiscard]] std::optional<http::Response> check_who_asks(const http::Headers& headers,
                                                           const AcceptOptions& options);

/// Answers `request`, whose path the caller has checked: with a 101 that
/// upgrades to a WebSocket and runs `session` on it, or with a refusal.
/// `response.upgrade` tells the two apart.
/// Refusals: 405  not GET;
///           426  no upgrade to websocket asked for, or version other than 13;
///           400  bad or missing key, a body, sub-protocol not offered;
///           403  origin not listed;
///           421  Host is not a loopback name.
[[nodiscard]] http::Response accept(const http::Request& request, const AcceptOptions& options,
                                    Session session);

}  // namespace base::ws
