#include "base/http/client_connection.h"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/http/dial.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr auto kToTuple = asio::as_tuple(asio::use_awaitable);
// Beast reads as much at once as its buffer holds, and only 512 bytes where it
// holds nothing yet.
constexpr std::size_t kReadAtOnce = 16 * 1024;
constexpr int kMaxInterimAnswers = 8;

bool is_safe(Method method) { return method == Method::kGet || method == Method::kHead; }

Error outcome_unknown(std::string detail) {
  return fail(ErrorKind::kOutcomeUnknown, "a server this request needs gave no whole answer")
      .with_detail(std::move(detail));
}

// ---- One request on an open stream ----

// How far a request came, which decides what its failure means.
enum class Stage { kSending, kWaiting, kReading };

template <class Stream>
class StreamConnection final : public ClientConnection {
 public:
  template <class... Args>
  explicit StreamConnection(Args&&... args)
      : stream_(std::forward<Args>(args)...), watchdog_(stream_.lowest_layer_socket()) {}

  Task<Exchange> exchange(WireRequest request, AnswerLimits limits, Deadline until) override;
  bool reusable() override;
  auto& stream() { return stream_; }
  Watchdog& watchdog() { return watchdog_; }

 private:
  using Parser = beast::http::response_parser<beast::http::string_body>;

  Task<error_code> read_answer(std::optional<Parser>& parser, Method method, AnswerLimits limits);
  [[nodiscard]] Error failure(error_code error, Stage stage, Method method) const;

  Stream stream_;
  Watchdog watchdog_;
  beast::flat_buffer buffer_;
  bool keep_ = true;
};

// The two kinds of stream, each with its socket under one name.
struct PlainLayer : tcp::socket {
  using tcp::socket::socket;
  tcp::socket& lowest_layer_socket() { return *this; }
};
struct TlsLayer : TlsStream {
  using TlsStream::TlsStream;
  tcp::socket& lowest_layer_socket() { return next_layer(); }
};

Response to_response(beast::http::response<beast::http::string_body> message) {
  Response response;
  response.status = message.result_int();
  for (const auto& field : message) {
    auto name = field.name_string();
    auto value = field.value();
    response.headers.add(std::string(name.data(), name.size()),
                         std::string(value.data(), value.size()));
  }
  response.body = Body(std::move(message.body()));
  return response;
}

bool is_too_large(error_code error) {
  return error == beast::http::error::body_limit || error == beast::http::error::header_limit ||
         error == beast::http::error::buffer_overflow;
}

template <class Stream>
Error StreamConnection<Stream>::failure(error_code error, Stage stage, Method method) const {
  if (is_too_large(error)) {
    return fail(ErrorKind::kTooLarge, "the answer of a server this request needs is too large")
        .with_detail(error.message());
  }
  if (stage == Stage::kSending) {
    // What was not sent whole is not carried out.
    return watchdog_.expired() ? timed_out("while sending") : unavailable(error.message());
  }
  if (watchdog_.expired() && is_safe(method)) return timed_out("while waiting for the answer");
  return outcome_unknown(watchdog_.expired() ? "timed out" : error.message());
}

// Reads past interim answers (1xx) to the final one.
// Source: RFC 9110, section 15.2.
template <class Stream>
Task<error_code> StreamConnection<Stream>::read_answer(std::optional<Parser>& parser, Method method,
                                                       AnswerLimits limits) {
  for (int i = 0; i < kMaxInterimAnswers; ++i) {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser->body_limit(limits.body_bytes);
    parser->skip(method == Method::kHead);
    auto [error, size] = co_await beast::http::async_read(stream_, buffer_, *parser, kToTuple);
    if (error) co_return error;
    unsigned status = parser->get().result_int();
    if (status == 101) break;  // Nobody asked for another protocol.
    if (status >= 200) co_return error_code{};
  }
  co_return beast::http::error::bad_status;
}

template <class Stream>
Task<Exchange> StreamConnection<Stream>::exchange(WireRequest request, AnswerLimits limits,
                                                  Deadline until) {
  keep_ = false;
  buffer_.max_size(limits.header_bytes + 65'536);
  buffer_.reserve(kReadAtOnce);
  watchdog_.arm(until);
  Stage stage = Stage::kSending;
  std::array<asio::const_buffer, 2> bytes{asio::buffer(request.head.view()),
                                          asio::buffer(request.body.view())};
  auto [error, sent] = co_await asio::async_write(stream_, bytes, kToTuple);
  if (co_await was_cancelled()) co_return Exchange{.answer = cancelled()};
  if (!error) stage = Stage::kWaiting;
  // A server may refuse a body before it has read it and close; its answer
  // is then there to be read although the sending failed.
  std::optional<Parser> parser;
  // The time may be up although all was sent: the answer is not waited for.
  error_code read_error = error ? error : error_code(asio::error::timed_out);
  if (!watchdog_.expired()) {
    read_error = co_await read_answer(parser, request.method, limits);
    if (co_await was_cancelled()) co_return Exchange{.answer = cancelled()};
  }
  watchdog_.disarm();
  bool unanswered = !parser || !(parser->got_some() || buffer_.size() > 0);
  if (read_error) {
    if (stage == Stage::kWaiting && !unanswered) stage = Stage::kReading;
    co_return Exchange{.answer = failure(error && !is_too_large(read_error) ? error : read_error,
                                         stage, request.method),
                       .closed_unanswered = unanswered && !watchdog_.expired()};
  }
  keep_ = !error && !watchdog_.expired() && parser->get().keep_alive() && buffer_.size() == 0;
  co_return Exchange{.answer = to_response(parser->release())};
}

template <class Stream>
bool StreamConnection<Stream>::reusable() {
  if (!keep_) return false;
  char byte = 0;
  auto got =
      ::recv(stream_.lowest_layer_socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  // End of stream, an error, or bytes nobody asked for: they would be taken
  // for the next answer.
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

// ---- Opening ----

Task<Status> shake_hands(TlsStream& stream, Watchdog& watchdog, std::string host) {
  error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  // An address has no place in the server name. Source: RFC 6066, section 3.
  if (not_an_address && SSL_set_tlsext_host_name(stream.native_handle(), host.c_str()) != 1) {
    co_return fail(ErrorKind::kInternal, "cannot name the host for TLS");
  }
  error_code error;
  stream.set_verify_mode(asio::ssl::verify_peer, error);
  if (!error) stream.set_verify_callback(asio::ssl::host_name_verification(host), error);
  if (error) co_return fail(ErrorKind::kInternal, "cannot set up TLS").with_detail(error.message());
  auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::client, kToTuple);
  if (co_await was_cancelled()) co_return cancelled();
  if (watchdog.expired()) co_return timed_out("during the TLS handshake");
  if (failed) co_return unavailable("TLS handshake failed: " + failed.message());
  co_return Status{};
}

using Opened = Result<std::unique_ptr<ClientConnection>>;

}  // namespace

Result<std::shared_ptr<asio::ssl::context>> make_tls_context(const std::string& ca_file) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  if (ca_file.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(ca_file, error);
  }
  if (error || SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION) != 1) {
    return fail(ErrorKind::kInvalid, "the file of trusted certificates cannot be read")
        .with_detail(error.message());
  }
  return context;
}

Task<Opened> open_connection(Origin origin, std::shared_ptr<asio::ssl::context> tls,
                             Deadline until) {
  auto executor = co_await asio::this_coro::executor;
  if (tls == nullptr) {
    auto plain = std::make_unique<StreamConnection<PlainLayer>>(executor);
    CO_RETURN_IF_ERROR(co_await dial(plain->stream(), plain->watchdog(), std::move(origin), until));
    plain->watchdog().disarm();
    co_return Opened(std::move(plain));
  }
  auto encrypted = std::make_unique<StreamConnection<TlsLayer>>(executor, *tls);
  CO_RETURN_IF_ERROR(
      co_await dial(encrypted->stream().next_layer(), encrypted->watchdog(), origin, until));
  CO_RETURN_IF_ERROR(co_await shake_hands(encrypted->stream(), encrypted->watchdog(), origin.host));
  encrypted->watchdog().disarm();
  co_return Opened(std::move(encrypted));
}

}  // namespace base::http
