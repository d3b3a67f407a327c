#include "base/http/client_connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>

#include "base/http/chunk_decoder.h"
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
  Task<Begun> begin(WireRequest request, BodyStream body, StreamLimits limits) override;
  Task<Result<std::size_t>> read_body(std::span<char> into) override;
  Task<Result<std::optional<std::size_t>>> splice_body(int pipe, std::size_t most) override;
  bool reusable() override;
  auto& stream() { return stream_; }
  Watchdog& watchdog() { return watchdog_; }

 private:
  using Parser = beast::http::response_parser<beast::http::string_body>;

  using HeadParser = beast::http::response_parser<beast::http::empty_body>;

  Task<error_code> read_answer(std::optional<Parser>& parser, Method method, AnswerLimits limits);

  // Of an exchange whose bodies stream.
  struct Sent {
    error_code error;             // Of the connection.
    std::optional<Error> source;  // Of the body's source.
  };
  Task<Sent> send_streamed(WireRequest request, BodyStream body);
  Task<Sent> send_pieces(std::string_view head, BodyStream body);
  Task<Result<std::size_t>> next_piece(BodyStream body, std::uint64_t sent, std::span<char> into);
  Task<error_code> read_head(std::optional<HeadParser>& parser);
  Status begin_body(const HeadParser& parser, Method method);
  Task<std::size_t> receive(std::span<char> into);
  Task<Result<std::size_t>> read_chunks(std::span<char> into);
  void arm_step();
  [[nodiscard]] Error broken_off();
  [[nodiscard]] Error failure(error_code error, Stage stage, Method method) const;

  Stream stream_;
  Watchdog watchdog_;
  beast::flat_buffer buffer_;
  bool keep_ = true;

  // Of the answer whose body is read in pieces.
  enum class Ends { kNow, kByLength, kByChunks, kWithConnection };
  StreamLimits limits_;
  Ends ends_ = Ends::kNow;
  std::uint64_t left_ = 0;   // Of its length; where it has none, of what is taken.
  bool kept_after_ = false;  // The server keeps the connection.
  std::optional<ChunkDecoder> decoder_;
  std::string decoded_;
  std::size_t used_ = 0;
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

template <class Fields>
Response to_head(const beast::http::header<false, Fields>& message) {
  Response response;
  response.status = message.result_int();
  for (const auto& field : message) {
    auto name = field.name_string();
    auto value = field.value();
    response.headers.add(std::string(name.data(), name.size()),
                         std::string(value.data(), value.size()));
  }
  return response;
}

Response to_response(beast::http::response<beast::http::string_body> message) {
  Response response = to_head(message);
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

// ---- Bodies that stream ----

template <class Stream>
void StreamConnection<Stream>::arm_step() {
  auto now = std::chrono::steady_clock::now();
  watchdog_.arm(limits_.until - now > limits_.step ? now + limits_.step : limits_.until);
}

// 0 at the end of the body, which is where it was said to be.
template <class Stream>
Task<Result<std::size_t>> StreamConnection<Stream>::next_piece(BodyStream body, std::uint64_t sent,
                                                               std::span<char> into) {
  if (body.length && sent > 0 && sent == *body.length) co_return std::size_t{0};
  CO_ASSIGN_OR_RETURN(const std::size_t n, co_await body.source->read(into));
  auto wrong = [](const char* what) { return fail(ErrorKind::kInvalid, what); };
  if (!body.length) co_return n;
  const std::uint64_t left = *body.length - sent;
  if (n == 0 && left > 0) co_return wrong("the body is shorter than its length");
  if (n > left) co_return wrong("the body is longer than its length");
  if (n == left && n > 0) {
    // What the source says at its end comes before the server has a whole request.
    std::array<char, 1> beyond;
    CO_ASSIGN_OR_RETURN(const std::size_t more, co_await body.source->read(beyond));
    if (more > 0) co_return wrong("the body is longer than its length");
  }
  co_return n;
}

template <class Stream>
auto StreamConnection<Stream>::send_pieces(std::string_view head, BodyStream body) -> Task<Sent> {
  auto buffer = std::make_unique_for_overwrite<char[]>(kStreamStep);
  std::uint64_t sent = 0;
  std::string size;
  for (;;) {
    watchdog_.disarm();  // What the source waits for is its own affair.
    auto n = co_await next_piece(body, sent, {buffer.get(), kStreamStep});
    if (!n) co_return Sent{.error = {}, .source = std::move(n).error()};
    const bool chunked = !body.length;
    if (chunked) size = fmt::format("{:x}\r\n", *n);
    const std::string_view end = chunked ? "\r\n" : "";
    std::array<asio::const_buffer, 4> bytes{asio::buffer(head), asio::buffer(size),
                                            asio::buffer(buffer.get(), *n), asio::buffer(end)};
    arm_step();
    auto [error, written] = co_await asio::async_write(stream_, bytes, kToTuple);
    if (error || *n == 0) co_return Sent{error, std::nullopt};
    head = {};
    sent += *n;
  }
}

template <class Stream>
auto StreamConnection<Stream>::send_streamed(WireRequest request, BodyStream body) -> Task<Sent> {
  if (body.source) co_return co_await send_pieces(request.head.view(), body);
  std::array<asio::const_buffer, 2> bytes{asio::buffer(request.head.view()),
                                          asio::buffer(request.body.view())};
  arm_step();
  auto [error, written] = co_await asio::async_write(stream_, bytes, kToTuple);
  co_return Sent{error, std::nullopt};
}

// As read_answer(), without the body.
template <class Stream>
Task<error_code> StreamConnection<Stream>::read_head(std::optional<HeadParser>& parser) {
  for (int i = 0; i < kMaxInterimAnswers; ++i) {
    parser.emplace();
    parser->header_limit(static_cast<std::uint32_t>(limits_.answer.header_bytes));
    parser->body_limit(boost::none);
    auto [error, size] =
        co_await beast::http::async_read_header(stream_, buffer_, *parser, kToTuple);
    if (error) co_return error;
    unsigned status = parser->get().result_int();
    if (status == 101) break;  // Nobody asked for another protocol.
    if (status >= 200) co_return error_code{};
  }
  co_return beast::http::error::bad_status;
}

// Source: RFC 9112, section 6.3.
template <class Stream>
Status StreamConnection<Stream>::begin_body(const HeadParser& parser, Method method) {
  const unsigned status = parser.get().result_int();
  const std::uint64_t most = limits_.answer.body_bytes;
  kept_after_ = parser.get().keep_alive();
  decoder_.reset();
  decoded_.clear();
  used_ = 0;
  left_ = most;
  if (method == Method::kHead || status == 204 || status == 304) {
    ends_ = Ends::kNow;
  } else if (parser.chunked()) {
    ends_ = Ends::kByChunks;
    decoder_.emplace(limits_.answer.body_bytes, limits_.answer.header_bytes);
  } else if (parser.content_length()) {
    ends_ = Ends::kByLength;
    left_ = *parser.content_length();
    if (left_ > most) {
      return fail(ErrorKind::kTooLarge, "the answer of a server this request needs is too large");
    }
    if (left_ == 0) ends_ = Ends::kNow;
  } else {
    ends_ = Ends::kWithConnection;
    kept_after_ = false;
  }
  keep_ = ends_ == Ends::kNow && kept_after_ && buffer_.size() == 0;
  return {};
}

template <class Stream>
Task<Begun> StreamConnection<Stream>::begin(WireRequest request, BodyStream body,
                                            StreamLimits limits) {
  keep_ = false;
  limits_ = limits;
  buffer_.max_size(limits.answer.header_bytes + 65'536);
  buffer_.reserve(kReadAtOnce);
  Sent sent = co_await send_streamed(request, std::move(body));
  if (co_await was_cancelled()) co_return Begun{.head = cancelled()};
  if (sent.source) co_return Begun{.head = std::move(*sent.source)};
  // As in exchange(): the answer to a body that was refused may be there.
  Stage stage = sent.error ? Stage::kSending : Stage::kWaiting;
  std::optional<HeadParser> parser;
  error_code read_error = sent.error ? sent.error : error_code(asio::error::timed_out);
  if (!watchdog_.expired()) {
    arm_step();
    read_error = co_await read_head(parser);
    if (co_await was_cancelled()) co_return Begun{.head = cancelled()};
  }
  watchdog_.disarm();
  const bool unanswered = !parser || !(parser->got_some() || buffer_.size() > 0);
  if (read_error) {
    if (stage == Stage::kWaiting && !unanswered) stage = Stage::kReading;
    const bool ours = sent.error && !is_too_large(read_error);
    co_return Begun{.head = failure(ours ? sent.error : read_error, stage, request.method),
                    .closed_unanswered = unanswered && !watchdog_.expired()};
  }
  if (auto fits = begin_body(*parser, request.method); !fits) {
    co_return Begun{.head = std::move(fits).error()};
  }
  if (sent.error) kept_after_ = keep_ = false;
  Begun begun{.head = to_head(parser->get()), .has_body = ends_ != Ends::kNow};
  if (parser->content_length() && !parser->chunked()) begun.length = *parser->content_length();
  co_return begun;
}

template <class Stream>
Error StreamConnection<Stream>::broken_off() {
  ends_ = Ends::kNow;
  if (watchdog_.expired()) return timed_out("in the middle of an answer");
  return fail(ErrorKind::kUnavailable, "a server this request needs gave no whole answer");
}

// What the server has sent beyond the head, then what comes; 0 when nothing will.
template <class Stream>
Task<std::size_t> StreamConnection<Stream>::receive(std::span<char> into) {
  if (buffer_.size() > 0) {
    const std::size_t n = asio::buffer_copy(asio::buffer(into.data(), into.size()), buffer_.data());
    buffer_.consume(n);
    co_return n;
  }
  arm_step();
  auto [error, n] =
      co_await stream_.async_read_some(asio::buffer(into.data(), into.size()), kToTuple);
  watchdog_.disarm();
  if (error == asio::error::eof && ends_ == Ends::kWithConnection) {
    ends_ = Ends::kNow;
    co_return 0;
  }
  co_return error ? 0 : n;
}

template <class Stream>
Task<Result<std::size_t>> StreamConnection<Stream>::read_chunks(std::span<char> into) {
  while (used_ == decoded_.size()) {
    if (ends_ == Ends::kNow) {
      keep_ = kept_after_;
      co_return std::size_t{0};
    }
    decoded_.clear();
    used_ = 0;
    const std::size_t n = co_await receive(into);
    if (co_await was_cancelled()) co_return cancelled();
    if (n == 0) co_return broken_off();
    auto [used, state] = decoder_->feed({into.data(), n}, decoded_);
    using enum ChunkDecoder::State;
    if (state == kMalformed) co_return broken_off();
    if (state == kTooLarge) {
      co_return fail(ErrorKind::kTooLarge,
                     "the answer of a server this request needs is too large");
    }
    if (state == kDone) {
      ends_ = Ends::kNow;
      kept_after_ = kept_after_ && used == n && buffer_.size() == 0;
    }
  }
  const std::size_t n = std::min(into.size(), decoded_.size() - used_);
  std::memcpy(into.data(), decoded_.data() + used_, n);
  used_ += n;
  keep_ = kept_after_ && ends_ == Ends::kNow && used_ == decoded_.size();
  co_return n;
}

template <class Stream>
Task<Result<std::size_t>> StreamConnection<Stream>::read_body(std::span<char> into) {
  if (decoder_) co_return co_await read_chunks(into);
  if (ends_ == Ends::kNow) co_return std::size_t{0};
  if (left_ == 0) {
    co_return fail(ErrorKind::kTooLarge, "the answer of a server this request needs is too large");
  }
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_)));
  const std::size_t n = co_await receive(into);
  if (co_await was_cancelled()) co_return cancelled();
  if (n == 0 && ends_ != Ends::kNow) co_return broken_off();
  left_ -= n;
  if (ends_ == Ends::kByLength && left_ == 0) {
    ends_ = Ends::kNow;
    keep_ = kept_after_ && buffer_.size() == 0;
  }
  co_return n;
}

template <class Stream>
Task<Result<std::optional<std::size_t>>> StreamConnection<Stream>::splice_body(int pipe,
                                                                               std::size_t most) {
  using Spliced = std::optional<std::size_t>;
  constexpr bool kPlain = std::is_same_v<Stream, PlainLayer>;
  if (!kPlain || ends_ != Ends::kByLength || buffer_.size() > 0) co_return Spliced();
  tcp::socket& socket = stream_.lowest_layer_socket();
  for (;;) {
    const ssize_t n = ::splice(socket.native_handle(), nullptr, pipe, nullptr,
                               std::min<std::uint64_t>(most, left_), SPLICE_F_NONBLOCK);
    if (n > 0) {
      left_ -= static_cast<std::uint64_t>(n);
      if (left_ == 0) {
        ends_ = Ends::kNow;
        keep_ = kept_after_;
      }
      co_return Spliced(static_cast<std::size_t>(n));
    }
    if (n == 0) co_return broken_off();
    if (errno != EAGAIN && errno != EINTR) co_return Spliced();  // read() tells what is wrong.
    arm_step();
    auto [error] = co_await socket.async_wait(asio::socket_base::wait_read, kToTuple);
    watchdog_.disarm();
    if (co_await was_cancelled()) co_return cancelled();
    if (error) co_return broken_off();
  }
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

Task<Opened> open_connection(Origin origin, std::shared_ptr<asio::ssl::context> tls, Deadline until,
                             AddressFilter filter) {
  auto executor = co_await asio::this_coro::executor;
  if (tls == nullptr) {
    auto plain = std::make_unique<StreamConnection<PlainLayer>>(executor);
    CO_RETURN_IF_ERROR(co_await dial(plain->stream(), plain->watchdog(), std::move(origin), until,
                                     std::move(filter)));
    plain->watchdog().disarm();
    co_return Opened(std::move(plain));
  }
  auto encrypted = std::make_unique<StreamConnection<TlsLayer>>(executor, *tls);
  CO_RETURN_IF_ERROR(co_await dial(encrypted->stream().next_layer(), encrypted->watchdog(), origin,
                                   until, std::move(filter)));
  CO_RETURN_IF_ERROR(co_await shake_hands(encrypted->stream(), encrypted->watchdog(), origin.host));
  encrypted->watchdog().disarm();
  co_return Opened(std::move(encrypted));
}

}  // namespace base::http
