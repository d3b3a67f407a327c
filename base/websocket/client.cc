#include "base/websocket/client.h"

#include <algorithm>
#include <array>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/http/client_connection.h"
#include "base/http/dial.h"
#include "base/websocket/client_stream.h"
#include "base/websocket/core.h"
#include "base/websocket/handshake.h"

namespace base::ws {
namespace {

namespace asio = boost::asio;

struct Target {
  http::Origin origin;
  std::string path;  ///< With the query.
};

// Source: RFC 6455, section 3.
Result<Target> parse_url(std::string_view url) {
  bool encrypted = url.starts_with("wss://");
  if (!encrypted && !url.starts_with("ws://")) {
    return fail(ErrorKind::kInvalid, "must be ws://host[:port]/path or wss://host[:port]/path");
  }
  std::string_view rest = url.substr(encrypted ? 6 : 5);
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string as_http = encrypted ? "https://" : "http://";
  ASSIGN_OR_RETURN(http::Origin origin, http::Origin::parse(as_http.append(rest.substr(0, end))));
  std::string path(rest.substr(end));
  if (!path.starts_with('/')) path.insert(path.begin(), '/');
  return Target{std::move(origin), std::move(path)};
}

bool is_ours(std::string_view name) {
  return equals_ignoring_case(name, "Connection") ||
         equals_ignoring_case(name.substr(0, 14), "Sec-WebSocket-");
}

bool is_subprotocol(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != ','; });
}

// Source: RFC 6455, section 4.1.
Result<std::string> request_head(const Target& target, const ConnectOptions& options,
                                 std::string_view key) {
  for (const auto& field : options.headers.fields()) {
    if (is_ours(field.name)) {
      return fail(ErrorKind::kInvalid, "a header field belongs to the handshake");
    }
  }
  if (!is_subprotocol(options.subprotocol)) {
    return fail(ErrorKind::kInvalid, "not the name of a sub-protocol");
  }
  http::ClientRequest request{.target = target.path, .headers = options.headers, .body = {}};
  ASSIGN_OR_RETURN(http::WireRequest wire, http::WireRequest::make(target.origin, request));
  std::string head(wire.head.view());
  head.resize(head.size() - 2);  // The empty line comes after our fields.
  head.append("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
  head.append("Sec-WebSocket-Key: ").append(key).append("\r\n");
  if (!options.subprotocol.empty()) {
    head.append("Sec-WebSocket-Protocol: ").append(options.subprotocol).append("\r\n");
  }
  return head.append("\r\n");
}

Error not_a_websocket(std::string detail) {
  return fail(ErrorKind::kUnsupported, "the server does not speak WebSocket there")
      .with_detail(std::move(detail));
}

Error refused_by_status(unsigned status) {
  std::string detail = "status " + std::to_string(status);
  if (status == 401 || status == 403) {
    return fail(ErrorKind::kForbidden, "the server refused the connection")
        .with_reason("status")
        .with_detail(std::move(detail));
  }
  if (status >= 500) return http::unavailable(std::move(detail));
  return not_a_websocket(std::move(detail));
}

Status check_answer(const Answer& answer, std::string_view key, std::string_view subprotocol) {
  if (answer.status != 101) return refused_by_status(answer.status);
  const http::Headers& headers = answer.headers;
  if (!has_token(headers, "Upgrade", "websocket") || !has_token(headers, "Connection", "upgrade")) {
    return not_a_websocket("upgraded to something else");
  }
  if (only(headers, "Sec-WebSocket-Accept") != accept_for(key)) {
    return not_a_websocket("wrong Sec-WebSocket-Accept");
  }
  if (headers.get("Sec-WebSocket-Extensions")) return not_a_websocket("an extension not offered");
  if (subprotocol.empty() ? headers.get("Sec-WebSocket-Protocol").has_value()
                          : only(headers, "Sec-WebSocket-Protocol") != subprotocol) {
    return fail(ErrorKind::kUnsupported, "the server does not speak this sub-protocol");
  }
  return {};
}

// Why nothing more could be read or written.
Task<Error> broken(ClientStream& stream) {
  if (co_await http::was_cancelled()) co_return http::cancelled();
  if (stream.expired()) co_return http::timed_out("during the WebSocket handshake");
  if (stream.refused()) {
    co_return fail(ErrorKind::kForbidden, "the TLS handshake was refused").with_reason("tls");
  }
  co_return http::unavailable("the connection ended during the WebSocket handshake");
}

// A server that refuses our certificate says so when it has ended the
// connection already: its alert is still to be read when our write fails.
// Source: RFC 8446, section 4.4.2.4.
Task<Error> broken_while_writing(ClientStream& stream) {
  std::array<char, 1> unused;
  if (!co_await http::was_cancelled()) (void)co_await stream.read(unused);
  co_return co_await broken(stream);
}

struct Head {
  std::string head;
  std::string received;  ///< What came after it.
};

Task<Result<Head>> read_head(ClientStream& stream, std::size_t limit) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  std::string bytes;
  std::array<char, 2048> chunk;
  for (;;) {
    std::size_t n = co_await stream.read(chunk);
    if (n == 0) co_return co_await broken(stream);
    std::size_t from = bytes.size() < kEnd.size() ? 0 : bytes.size() - kEnd.size();
    bytes.append(chunk.data(), n);
    std::size_t end = bytes.find(kEnd, from);
    if (end != std::string::npos && end + kEnd.size() <= limit) {
      co_return Head{bytes.substr(0, end + kEnd.size()), bytes.substr(end + kEnd.size())};
    }
    if (bytes.size() >= limit) {
      co_return fail(ErrorKind::kTooLarge, "the server's answer is too large");
    }
  }
}

using Connected = Result<std::unique_ptr<Connection>>;

Task<Connected> shake_hands(std::unique_ptr<ClientStream> stream, Target target,
                            ConnectOptions options) {
  SystemRandom system;
  std::string key = make_key(options.random ? *options.random : system);
  CO_ASSIGN_OR_RETURN(std::string request, request_head(target, options, key));
  if (!co_await stream->write(request, {})) co_return co_await broken_while_writing(*stream);
  CO_ASSIGN_OR_RETURN(Head head, co_await read_head(*stream, options.header_bytes));
  std::optional<Answer> answer = parse_answer(head.head);
  if (!answer) co_return not_a_websocket("not HTTP");
  CO_RETURN_IF_ERROR(check_answer(*answer, key, options.subprotocol));
  if (stream->expired()) co_return co_await broken(*stream);
  stream->disarm();
  auto core = Core::own(std::move(stream), {.self = Sender::kClient,
                                            .executor = co_await asio::this_coro::executor,
                                            .options = options.connection,
                                            .random = options.random,
                                            .received = std::move(head.received),
                                            .subprotocol = options.subprotocol});
  co_return Connected(std::make_unique<Connection>(std::move(core)));
}

Task<Connected> open(Deadline until, Target target, ConnectOptions options) {
  std::shared_ptr<asio::ssl::context> tls;
  if (target.origin.encrypted) {
    ClientTlsFiles files{options.ca_file, options.certificate_file, options.key_file};
    CO_ASSIGN_OR_RETURN(tls, make_client_tls(files));
  }
  CO_ASSIGN_OR_RETURN(auto stream,
                      co_await open_stream(target.origin, options.address, tls, until));
  co_return co_await shake_hands(std::move(stream), std::move(target), std::move(options));
}

}  // namespace

Task<Connected> connect(RequestContext context, ConnectOptions options) {
  CO_ASSIGN_OR_RETURN(Target target, parse_url(options.url));
  CO_RETURN_IF_ERROR(request_head(target, options, ""));  // Before anything is opened.
  Deadline until =
      std::min(context.deadline, std::chrono::steady_clock::now() + options.connect_time);
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Connected connected = co_await open(until, std::move(target), std::move(options));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return connected;
}

}  // namespace base::ws
