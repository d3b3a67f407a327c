#pragma once

// The streams of HTTP that carry what no request asked for: a `subscriptions/
// listen`, and the GET of a session. They live until their client, their
// credential or the server ends them, and count as connections do.
// Sources: Model Context Protocol 2026-07-28, "Subscriptions"; 2025-11-25,
// "Listening for messages from the server".

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "base/http/message.h"
#include "toolserver/mcp_ingress/http_endpoint.h"

namespace tool::mcp_ingress {

/// Who opens a stream, and where.
struct StreamOpener {
  boost::asio::any_io_executor loop;
  Caller caller;
  std::string peer;
};

/// Answers a `subscriptions/listen` whose filter has been read.
/// Errors (a response): 429  the principal has as many streams as it may.
[[nodiscard]] base::http::Response open_listening(const HttpServices& services, StreamOpener opener,
                                                  mcp::RequestId id, ListenFilter filter);
/// Answers the GET of a session. Errors: likewise.
[[nodiscard]] base::http::Response open_session_stream(const HttpServices& services,
                                                       StreamOpener opener,
                                                       std::shared_ptr<ClientSession> session);

/// The head of an answer by events.
[[nodiscard]] base::http::Response events_response();

}  // namespace tool::mcp_ingress
