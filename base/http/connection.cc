#include "base/http/connection.h"

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <memory>

#include "base/core/text.h"
#include "base/http/chunk_decoder.h"
#include "base/http/request_body.h"
#include "base/http/request_head.h"
#include "base/http/response_body.h"
#include "base/http/transport.h"
#include "base/http/upgraded_stream.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t kBodyStep = 64 * 1024;
// A body up to this size is sent in one piece with its head: a copy of it is
// cheaper than a second buffer, and over TLS than a second record.
constexpr std::size_t kSmallBody = 8 * 1024;
// Answers held back for their successors are sent at this size.
constexpr std::size_t kBatch = 32 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::uint64_t request_id_of(const Request& request, Lane& lane) {
  std::optional<std::string_view> sent = request.headers.get("x-request-id");
  if (sent && sent->size() == 16) {
    if (std::optional<std::string> bytes = from_hex(*sent)) {
      std::uint64_t id = 0;
      for (char c : *bytes) id = id << 8 | static_cast<unsigned char>(c);
      return id;
    }
  }
  return lane.random_id();
}

template <class Stream>
class Connection {
 public:
  Connection(Lane& lane, Stream stream, AdmittedPlace place)
      : lane_(lane), transport_(std::move(stream)), place_(std::move(place)) {}
  ~Connection() {
    if (place_) place_->hold(nullptr);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Task<void> run();
  asio::cancellation_slot slot() { return transport_.slot(); }

 private:
  static constexpr bool kTls = Transport<Stream>::kTls;

  [[nodiscard]] const ServerLimits& limits() const { return lane_.limits(); }

  // Each returns false when there is nothing more to do for the client.
  Task<bool> open();
  Task<bool> serve_next();
  Task<bool> await_head();
  Task<bool> serve_request(RequestHead head);
  Task<bool> read_body(RequestHead& head);
  Task<bool> read_sized_body(RequestHead& head);
  Task<bool> read_chunked_body(RequestHead& head, std::size_t most);
  [[nodiscard]] std::size_t body_bytes_for(const Request& head) const {
    const ServerLimits& of = limits();
    return of.body_bytes_of ? std::min(of.body_bytes_of(head), of.body_bytes) : of.body_bytes;
  }
  Task<bool> refuse(Refused refused);
  Task<bool> answer(Response response, HeadContext context, Method method);
  Task<bool> upgrade(Response response, std::uint64_t request_id);
  Task<bool> stream(Response response, std::uint64_t request_id);
  /// False when the task did not come to its end.
  Task<bool> hand_over(Upgrade task, ByteStream& stream, std::string received);
  Task<bool> flush();
  Task<bool> write(std::span<std::string_view> pieces);

  Task<Response> handle(RequestContext context, Request request);

  // The same for bodies that stream.
  Task<bool> serve_stream(RequestHead head);
  Task<StreamedResponse> handle_stream(RequestContext context, StreamedRequest request);
  Task<bool> answer_stream(StreamedResponse response, HeadContext context, Method method,
                           bool http_1_0);

  [[nodiscard]] Persistence persistence_of(const RequestHead& head) const;
  [[nodiscard]] bool may_hold_back(const HeadContext& context) const;
  void hold_back();

  Lane& lane_;
  Transport<Stream> transport_;
  AdmittedPlace place_;
  std::string peer_;
  Deadline head_by_ = Deadline::max();  ///< Of the first request; max after it.

  ReadBuffer in_;
  std::size_t scanned_ = 0;         ///< Bytes of in_ that hold no end of a head.
  bool empty_line_passed_ = false;  ///< Before the head that is being read.

  std::string out_;       ///< Answers not yet written.
  std::size_t held_ = 0;  ///< How many of them were held back.
  bool send_posted_ = false;
  bool handling_ = false;
  bool refused_ = false;
  Linger linger_ = Linger::kNo;  ///< Whether the client may still be sending.
};

template <class Stream>
Task<void> Connection<Stream>::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  lane_.join(transport_);
  if (place_) place_->hold(&transport_);
  if (co_await open()) {
    while (co_await serve_next()) {
    }
  }
  co_await transport_.close(linger_);
}

template <class Stream>
Task<bool> Connection<Stream>::open() {
  peer_ = transport_.set_up();
  if (peer_.empty()) co_return false;  // Gone before it was served.
  if (place_ && place_->closed()) co_return false;
  head_by_ = steady_clock::now() + limits().header_time;
  if constexpr (kTls) {
    if (!place_) co_return false;
    transport_.resting = true;
    transport_.deadline = head_by_;
    bool secured = co_await transport_.handshake();
    transport_.resting = false;
    co_return secured;
  }
  if (!place_) co_return co_await refuse({503, "too many connections"});
  co_return true;
}

// One step: serves the request whose head is complete, or reads more of it.
template <class Stream>
Task<bool> Connection<Stream>::serve_next() {
  if (!empty_line_passed_ && in_.view().starts_with("\r\n")) {
    in_.consume(2);  // One is allowed before a request: RFC 9112, section 2.2.
    empty_line_passed_ = true;
  }
  std::optional<std::size_t> end = find_head_end(in_.view(), scanned_);
  std::size_t size = end.value_or(in_.size());
  if (size > limits().header_bytes || (!end && size == limits().header_bytes)) {
    co_return co_await refuse({431, "request head too large"});
  }
  if (!end) co_return co_await await_head();
  std::expected<RequestHead, Refused> head = parse_head(in_.view().substr(0, *end));
  in_.consume(*end);
  scanned_ = 0;
  empty_line_passed_ = false;
  head_by_ = Deadline::max();
  if (!head) co_return co_await refuse(head.error());
  co_return co_await serve_request(std::move(*head));
}

// Waits for more of a head. The time for it runs from its first byte, or has
// run since the connection was accepted; until that byte the connection rests.
template <class Stream>
Task<bool> Connection<Stream>::await_head() {
  if (!out_.empty() && !co_await flush()) co_return false;
  if (in_.empty()) {
    if (lane_.draining()) co_return false;
    in_.shrink();
    transport_.limit(limits().idle);
    transport_.deadline = std::min(transport_.deadline, head_by_);
    transport_.resting = true;
    bool more = co_await transport_.read(in_, limits().header_bytes);
    transport_.resting = false;
    co_return more;
  }
  if (std::optional<Refused> refused = check_partial_head(in_.view())) {
    co_return co_await refuse(*refused);
  }
  if (scanned_ == 0) {
    transport_.limit(limits().header_time);
    transport_.deadline = std::min(transport_.deadline, head_by_);
  }
  scanned_ = in_.size();
  if (co_await transport_.read(in_, limits().header_bytes - in_.size())) co_return true;
  if (transport_.overdue()) co_await refuse({408, "request head took too long"});
  co_return false;
}

template <class Stream>
Persistence Connection<Stream>::persistence_of(const RequestHead& head) const {
  if (!head.keep_alive || lane_.draining()) return Persistence::kClose;
  return head.http_1_0 ? Persistence::kKeepAliveHttp10 : Persistence::kKeepAlive;
}

template <class Stream>
Task<bool> Connection<Stream>::serve_request(RequestHead head) {
  if (lane_.stream_handler() != nullptr) co_return co_await serve_stream(std::move(head));
  bool has_body = head.framing == Framing::kChunked || head.length > 0;
  if (has_body && !co_await read_body(head)) co_return false;
  transport_.no_limit();
  Request& request = head.request;
  request.peer = peer_;
  request.encrypted = kTls;
  RequestContext context{request_id_of(request, lane_),
                         steady_clock::now() + limits().request_time};
  Method method = request.method;
  Response response = co_await handle(context, std::move(request));
  if (transport_.aborted()) co_return false;
  if (response.vouched) place_->vouch();
  if (response.stream) {
    if (head.http_1_0) co_return co_await refuse({400, "a streamed answer needs HTTP/1.1"});
    co_return co_await stream(std::move(response), context.request_id);
  }
  if (response.upgrade) {
    // Version 1.0 has no upgrades: RFC 9110, section 7.8.
    if (head.http_1_0) co_return co_await refuse({400, "an upgrade needs HTTP/1.1"});
    if (lane_.draining()) co_return co_await refuse({503, "the server is stopping"});
    co_return co_await upgrade(std::move(response), context.request_id);
  }

  Persistence persistence = persistence_of(head);
  bool closes = persistence == Persistence::kClose;
  // A client that asked to keep the connection does not know yet that we close.
  if (closes && head.keep_alive) linger_ = Linger::kYes;
  HeadContext about{persistence, context.request_id, {}};
  bool answered = co_await answer(std::move(response), about, method);
  co_return answered && !closes;
}

template <class Stream>
Task<Response> Connection<Stream>::handle(RequestContext context, Request request) {
  // A handler may have left cancellation disabled on this coroutine.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  std::optional<Response> response;
  handling_ = true;
  try {
    response.emplace(co_await lane_.handler()(context, std::move(request)));
  } catch (...) {
    // Cancelled by abort(), or a defect: the other connections go on.
    response.emplace(lane_.refusal()(500, "internal error"));
  }
  handling_ = false;
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return std::move(*response);
}

// Always false: what follows is not HTTP.
template <class Stream>
Task<bool> Connection<Stream>::upgrade(Response response, std::uint64_t request_id) {
  response.status = 101;
  HeadContext about{Persistence::kUpgrade, request_id, lane_.date(steady_clock::now())};
  append_head(out_, response, about);
  if (!co_await flush()) co_return false;
  UpgradedStream<Stream> stream(lane_, transport_, peer_, *place_);
  std::string received(in_.view());
  response.headers = Headers();
  co_await hand_over(std::move(response.upgrade), stream, std::move(received));
  co_return false;
}

// Always false: what the client sent meanwhile has been read.
template <class Stream>
Task<bool> Connection<Stream>::stream(Response response, std::uint64_t request_id) {
  HeadContext about{Persistence::kClose, request_id, lane_.date(steady_clock::now())};
  about.stream = StreamFraming{.length = std::nullopt, .chunked = true};
  append_head(out_, response, about);
  if (!co_await flush()) co_return false;
  ChunkedStream<Stream> stream(lane_, transport_, peer_, *place_);
  std::string received(in_.view());
  response.headers = Headers();
  const bool whole = co_await hand_over(std::move(response.stream), stream, std::move(received));
  if (!whole || transport_.aborted()) co_return false;
  std::array<std::string_view, 1> last{"0\r\n\r\n"};
  co_await write(last);
  co_return false;
}

template <class Stream>
Task<bool> Connection<Stream>::hand_over(Upgrade task, ByteStream& stream, std::string received) {
  transport_.no_limit();
  linger_ = Linger::kYes;
  // The connection may be silent for hours from here on.
  in_ = ReadBuffer();
  out_ = std::string();
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  bool ended = false;
  try {
    co_await task(stream, received);
    ended = true;
  } catch (...) {
    linger_ = Linger::kNo;  // Cancelled by abort(), or a defect: the other connections go on.
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return ended;
}

template <class Stream>
Task<bool> Connection<Stream>::read_body(RequestHead& head) {
  bool sized = head.framing == Framing::kLength;
  const std::size_t most = body_bytes_for(head.request);
  // Where no body is taken, not even the first chunk is waited for.
  if (sized ? head.length > most : most == 0) {
    co_return co_await refuse({413, "request body too large"});
  }
  if (head.expects_continue && in_.empty()) out_.append(kContinue);
  if (!out_.empty() && !co_await flush()) co_return false;
  transport_.limit(limits().body_time);
  bool whole = sized ? co_await read_sized_body(head) : co_await read_chunked_body(head, most);
  if (!whole && transport_.overdue()) co_await refuse({408, "request body took too long"});
  co_return whole;
}

template <class Stream>
Task<bool> Connection<Stream>::read_sized_body(RequestHead& head) {
  std::string& body = head.request.body;
  for (;;) {
    std::size_t n = std::min<std::uint64_t>(head.length - body.size(), in_.size());
    body.append(in_.view().substr(0, n));
    in_.consume(n);
    std::size_t left = head.length - body.size();
    if (left == 0) co_return true;
    if (!co_await transport_.read(in_, std::min(left, kBodyStep))) co_return false;
  }
}

template <class Stream>
Task<bool> Connection<Stream>::read_chunked_body(RequestHead& head, std::size_t most) {
  ChunkDecoder decoder(most, limits().header_bytes);
  for (;;) {
    auto [used, state] = decoder.feed(in_.view(), head.request.body);
    in_.consume(used);
    if (state == ChunkDecoder::State::kDone) co_return true;
    if (state == ChunkDecoder::State::kTooLarge) {
      co_return co_await refuse({413, "request body too large"});
    }
    if (state == ChunkDecoder::State::kMalformed) {
      co_return co_await refuse({400, "malformed chunk"});
    }
    if (!co_await transport_.read(in_, kBodyStep)) co_return false;
  }
}

// Always false: the stream is not at the start of a request any more.
template <class Stream>
Task<bool> Connection<Stream>::refuse(Refused refused) {
  if (transport_.aborted() || std::exchange(refused_, true)) co_return false;
  linger_ = Linger::kYes;
  HeadContext about{Persistence::kClose, lane_.random_id(), {}};
  co_await answer(lane_.refusal()(refused.status, refused.message), about, Method::kOther);
  co_return false;
}

template <class Stream>
Task<bool> Connection<Stream>::answer(Response response, HeadContext context, Method method) {
  context.date = lane_.date(steady_clock::now());
  append_head(out_, response, context);
  const bool has_body = method != Method::kHead && may_have_body(response.status);
  if (has_body && response.body.size() > kSmallBody) {
    std::vector<std::string_view> pieces = response.body.buffers();
    pieces.insert(pieces.begin(), out_);
    co_return co_await write(pieces);
  }
  if (has_body) response.body.append_to(out_);
  if (may_hold_back(context)) {
    hold_back();
    co_return true;
  }
  co_return co_await flush();
}

// An answer may wait for those of requests that have already come, since they
// then go out together. It never waits for the client: every read is preceded
// by a flush().
template <class Stream>
bool Connection<Stream>::may_hold_back(const HeadContext& context) const {
  return !kTls && !in_.empty() && context.persistence != Persistence::kClose &&
         held_ < limits().pipelined && out_.size() < kBatch;
}

// Nor does it wait for the handler of a later request: what is posted here runs
// when that handler suspends.
template <class Stream>
void Connection<Stream>::hold_back() {
  ++held_;
  if (std::exchange(send_posted_, true)) return;
  asio::post(lane_.loop(), [this] {
    send_posted_ = false;
    if constexpr (!kTls) {
      if (handling_ && !out_.empty()) transport_.write_now(out_);
    }
  });
}

// Writes the answers held back.
template <class Stream>
Task<bool> Connection<Stream>::flush() {
  std::array<std::string_view, 1> pieces{out_};
  co_return co_await write(pieces);
}

// Writes the answers held back, which the first piece is, and what follows them.
template <class Stream>
Task<bool> Connection<Stream>::write(std::span<std::string_view> pieces) {
  transport_.limit(limits().write_time);
  bool written = co_await transport_.write(pieces);
  if (!written) linger_ = Linger::kNo;
  out_.clear();
  held_ = 0;
  co_return written;
}

// ---- Bodies that stream ----

template <class Stream>
Task<bool> Connection<Stream>::serve_stream(RequestHead head) {
  if (head.framing == Framing::kLength && head.length > limits().body_bytes) {
    co_return co_await refuse({413, "request body too large"});
  }
  // From here on the handler may read what follows.
  if (!out_.empty() && !co_await flush()) co_return false;
  transport_.no_limit();
  auto body = std::make_shared<RequestBody<Stream>>(transport_, in_, limits(), head);
  StreamedRequest request{.head = std::move(head.request), .body = {}};
  request.head.peer = peer_;
  request.head.encrypted = kTls;
  const bool chunked = head.framing == Framing::kChunked;
  if (chunked || head.length > 0) {
    request.body.source = body;
    if (!chunked) request.body.length = head.length;
  }
  RequestContext context{request_id_of(request.head, lane_),
                         steady_clock::now() + limits().request_time};
  Method method = request.head.method;
  StreamedResponse response = co_await handle_stream(context, std::move(request));
  if (transport_.aborted()) co_return false;
  Persistence persistence = persistence_of(head);
  // An answer whose body is that of its request has not read it yet.
  const bool echoes = response.body.source == body;
  if (!echoes && !body->is_over()) persistence = Persistence::kClose;
  if (persistence == Persistence::kClose) linger_ = Linger::kYes;
  HeadContext about{persistence, context.request_id, {}};
  bool answered = co_await answer_stream(std::move(response), about, method, head.http_1_0);
  const bool goes_on = body->is_over() && persistence != Persistence::kClose;
  body->end();
  co_return answered&& goes_on;
}

template <class Stream>
Task<StreamedResponse> Connection<Stream>::handle_stream(RequestContext context,
                                                         StreamedRequest request) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  std::optional<StreamedResponse> response;
  try {
    response.emplace(co_await (*lane_.stream_handler())(context, std::move(request)));
  } catch (...) {
    // Cancelled by abort(), or a defect: the other connections go on.
    response.emplace(StreamedResponse{.head = lane_.refusal()(500, "internal error")});
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return std::move(*response);
}

template <class Stream>
Task<bool> Connection<Stream>::answer_stream(StreamedResponse response, HeadContext context,
                                             Method method, bool http_1_0) {
  BodyStream body = std::move(response.body);
  if (!body.source && !body.length) {
    co_return co_await answer(std::move(response.head), context, method) &&
        (out_.empty() || co_await flush());
  }
  const bool sends = body.source && method != Method::kHead && may_have_body(response.head.status);
  const bool chunked = sends && !body.length && !http_1_0;
  context.stream = {.length = body.length, .chunked = chunked};
  if (sends && !body.length && http_1_0) context.persistence = Persistence::kClose;
  context.date = lane_.date(steady_clock::now());
  append_head(out_, response.head, context);
  if (!sends) co_return co_await flush();
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  bool sent = false;
  try {
    sent =
        co_await ResponseBody<Stream>(transport_, limits(), out_, std::move(body), chunked).send();
  } catch (...) {
    sent = false;  // As in handle_stream().
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  held_ = 0;  // What was held back went out before it.
  if (!sent) {
    linger_ = Linger::kNo;
    transport_.break_off();
  }
  co_return sent&& context.persistence != Persistence::kClose;
}

template <class Stream>
void start(Lane& lane, std::unique_ptr<Connection<Stream>> owned) {
  Connection<Stream>* connection = owned.get();
  auto ended = [&lane, owned = std::move(owned)](std::exception_ptr error) mutable {
    if (error) std::terminate();
    // Posted, so that the coroutine itself is gone before its owner is.
    asio::post(lane.loop(), [&lane, owned = std::move(owned)]() mutable {
      owned.reset();
      lane.connections().leave();
    });
  };
  asio::co_spawn(lane.loop(), connection->run(),
                 asio::bind_cancellation_slot(connection->slot(), std::move(ended)));
}

}  // namespace

void run_plain_connection(Lane& lane, ServerSocket socket, AdmittedPlace place) {
  start(lane,
        std::make_unique<Connection<ServerSocket>>(lane, std::move(socket), std::move(place)));
}

void run_tls_connection(Lane& lane, ServerSocket socket, AdmittedPlace place,
                        asio::ssl::context& tls) {
  start(lane, std::make_unique<Connection<TlsStream>>(lane, TlsStream(std::move(socket), tls),
                                                      std::move(place)));
}

}  // namespace base::http
