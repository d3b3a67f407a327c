#include "base/websocket/accept.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <utility>

#include "base/websocket/core.h"
#include "base/websocket/handshake.h"

namespace base::ws {
namespace {

namespace asio = boost::asio;

http::Response refusal(unsigned status, std::string_view why) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = http::Body(std::string(why) + "\n");
  return response;
}

http::Response upgrade_required(std::string_view why) {
  http::Response response = refusal(426, why);
  response.headers.add("Upgrade", "websocket");
  response.headers.add("Sec-WebSocket-Version", "13");
  return response;
}

bool is_digits_and_dots(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

// The port says nothing about whose name it is.
bool is_loopback(std::string_view host) {
  if (host.starts_with("[::1]")) return host.size() == 5 || host[5] == ':';
  std::string_view name = host.substr(0, host.find(':'));
  return equals_ignoring_case(name, "localhost") ||
         (name.starts_with("127.") && is_digits_and_dots(name));
}

// Source: RFC 6455, section 4.2.1.
std::optional<http::Response> check_handshake(const http::Request& request) {
  if (request.method != http::Method::kGet) {
    http::Response response = refusal(405, "a WebSocket is opened with GET");
    response.headers.add("Allow", "GET");
    return response;
  }
  const http::Headers& headers = request.headers;
  if (!has_token(headers, "Upgrade", "websocket") || !has_token(headers, "Connection", "upgrade")) {
    return upgrade_required("this address speaks WebSocket");
  }
  if (only(headers, "Sec-WebSocket-Version") != "13") {
    return upgrade_required("the WebSocket version is 13");
  }
  if (!is_key(only(headers, "Sec-WebSocket-Key").value_or(""))) {
    return refusal(400, "Sec-WebSocket-Key is missing or malformed");
  }
  if (!request.body.empty()) return refusal(400, "the opening handshake has no body");
  return std::nullopt;
}

bool offers(const http::Headers& headers, std::string_view subprotocol) {
  std::vector<std::string_view> offered = list_of(headers, "Sec-WebSocket-Protocol");
  return std::ranges::find(offered, subprotocol) != offered.end();
}

Task<void> serve(http::ByteStream& stream, std::string received, ConnectionOptions options,
                 std::string subprotocol, Session session) {
  auto core = Core::borrow(stream, {.self = Sender::kServer,
                                    .executor = co_await asio::this_coro::executor,
                                    .options = options,
                                    .random = nullptr,  // A server masks nothing.
                                    .received = std::move(received),
                                    .subprotocol = std::move(subprotocol)});
  bool ended = false;
  try {
    co_await session(std::make_unique<Connection>(core));
    ended = true;
  } catch (...) {
    // Cancelled at the end of the grace, or a defect: nothing is owed to the peer.
  }
  if (!ended) core->abort();
  // Tasks of the connection still use the stream, which ends with this one.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await Core::finish(core);
}

}  // namespace

std::optional<http::Response> check_who_asks(const http::Headers& headers,
                                             const AcceptOptions& options) {
  if (options.host_check == HostCheck::kLoopback &&
      !is_loopback(only(headers, "Host").value_or(""))) {
    return refusal(421, "this host name is not served here");
  }
  for (const auto& field : headers.fields()) {
    if (equals_ignoring_case(field.name, "Origin") &&
        std::ranges::find(options.origins, field.value) == options.origins.end()) {
      return refusal(403, "the origin is not allowed");
    }
  }
  return std::nullopt;
}

http::Response accept(const http::Request& request, const AcceptOptions& options, Session session) {
  if (auto refused = check_handshake(request)) return std::move(*refused);
  if (auto refused = check_who_asks(request.headers, options)) return std::move(*refused);
  if (!options.subprotocol.empty() && !offers(request.headers, options.subprotocol)) {
    return refusal(400, "the sub-protocol of this address must be offered");
  }
  http::Response response;
  response.status = 101;
  response.headers.add("Upgrade", "websocket");
  response.headers.add("Sec-WebSocket-Accept",
                       accept_for(*only(request.headers, "Sec-WebSocket-Key")));
  if (!options.subprotocol.empty()) {
    response.headers.add("Sec-WebSocket-Protocol", options.subprotocol);
  }
  response.upgrade = [connection = options.connection, subprotocol = options.subprotocol,
                      session = std::move(session)](http::ByteStream& stream,
                                                    std::string_view received) {
    return serve(stream, std::string(received), connection, subprotocol, session);
  };
  return response;
}

}  // namespace base::ws
