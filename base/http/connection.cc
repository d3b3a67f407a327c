#include "base/http/connection.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <span>

#include "base/core/text.h"
#include "base/http/chunk_decoder.h"
#include "base/http/read_buffer.h"
#include "base/http/request_head.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;
using TlsStream = asio::ssl::stream<ServerSocket>;

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kLingerTime{2'000};
constexpr std::size_t kBodyStep = 64 * 1024;
// A body up to this size is sent in one piece with its head: a copy of it is
// cheaper than a second buffer, and over TLS than a second record.
constexpr std::size_t kSmallBody = 8 * 1024;
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
class Connection final : public LaneMember {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

  Connection(Lane& lane, Stream stream, Admission admission)
      : lane_(lane), stream_(std::move(stream)), admission_(admission) {}

  Task<void> run();
  void interrupt() override {
    ErrorCode ignored;  // Nothing under way is the only failure.
    socket().cancel(ignored);
  }
  void abort() override {
    aborted_ = true;
    ErrorCode ignored;  // The socket is gone either way.
    socket().close(ignored);
    cancellation_.emit(asio::cancellation_type::terminal);
  }
  asio::cancellation_slot slot() { return cancellation_.slot(); }

 private:
  ServerSocket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }
  void limit(std::chrono::milliseconds time) { deadline = steady_clock::now() + time; }
  void no_limit() { deadline = Deadline::max(); }
  [[nodiscard]] bool overdue() const { return steady_clock::now() >= deadline; }

  Task<bool> open();
  Task<void> serve();
  Task<void> close();

  // Each returns false when there is nothing more to do for the client.
  Task<bool> serve_request(RequestHead head);
  Task<bool> fill(std::size_t want);
  Task<bool> await_head(std::size_t& scanned);
  Task<bool> read_body(RequestHead& head);
  Task<bool> read_sized_body(RequestHead& head);
  Task<bool> read_chunked_body(RequestHead& head);
  Task<bool> refuse(Refused refused);
  Task<bool> answer(Response response, HeadContext context, Method method);
  Task<bool> write(std::string_view head, std::string_view body);
  Task<Response> handle(RequestContext context, Request request);

  Lane& lane_;
  Stream stream_;
  Admission admission_;
  asio::cancellation_signal cancellation_;
  ReadBuffer in_;
  std::string out_;
  std::string peer_;
  bool aborted_ = false;
  bool linger_ = false;  ///< The client may still be sending what we will not read.
};

template <class Stream>
Task<void> Connection<Stream>::run() {
  co_await asio::this_coro::throw_if_cancelled(false);
  lane_.join(*this);
  if (co_await open()) co_await serve();
  co_await close();
}

template <class Stream>
Task<bool> Connection<Stream>::open() {
  ErrorCode ec;
  auto endpoint = socket().remote_endpoint(ec);
  if (ec) co_return false;  // Gone before it was served.
  peer_ = endpoint.address().to_string();
  socket().set_option(asio::ip::tcp::no_delay(true), ec);
  if constexpr (kTls) {
    if (admission_ == Admission::kRefuse) co_return false;
    resting = true;
    limit(lane_.limits().header_time);
    auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kToken);
    resting = false;
    if (error) co_return false;
  }
  if (admission_ == Admission::kRefuse) co_return co_await refuse({503, "too many connections"});
  co_return true;
}

template <class Stream>
Task<void> Connection<Stream>::serve() {
  std::size_t scanned = 0;
  bool may_skip_line = true;  // One empty line before a request: RFC 9112, section 2.2.
  for (;;) {
    if (may_skip_line && in_.view().starts_with("\r\n")) {
      in_.consume(2);
      may_skip_line = false;
    }
    std::optional<std::size_t> end = find_head_end(in_.view(), scanned);
    std::size_t size = end.value_or(in_.size());
    if (size > lane_.limits().header_bytes || (!end && size == lane_.limits().header_bytes)) {
      co_await refuse({431, "request head too large"});
      co_return;
    }
    if (!end) {
      if (!co_await await_head(scanned)) co_return;
      continue;
    }
    std::expected<RequestHead, Refused> head = parse_head(in_.view().substr(0, *end));
    in_.consume(*end);
    scanned = 0;
    may_skip_line = true;
    if (!head) {
      co_await refuse(head.error());
      co_return;
    }
    if (!co_await serve_request(std::move(*head))) co_return;
  }
}

// Waits for more of a head. The time for it runs from its first byte; until
// then the connection rests.
template <class Stream>
Task<bool> Connection<Stream>::await_head(std::size_t& scanned) {
  if (in_.empty()) {
    if (lane_.draining()) co_return false;
    in_.shrink();
    limit(lane_.limits().idle);
    resting = true;
    bool more = co_await fill(lane_.limits().header_bytes);
    resting = false;
    co_return more;
  }
  if (std::optional<Refused> refused = check_partial_head(in_.view())) {
    co_return co_await refuse(*refused);
  }
  if (scanned == 0) limit(lane_.limits().header_time);
  scanned = in_.size();
  if (co_await fill(lane_.limits().header_bytes - in_.size())) co_return true;
  if (overdue()) co_await refuse({408, "request head took too long"});
  co_return false;
}

template <class Stream>
Task<bool> Connection<Stream>::fill(std::size_t want) {
  if (aborted_) co_return false;
  std::span<char> room = in_.prepare(want);
  auto [ec, n] = co_await stream_.async_read_some(asio::buffer(room.data(), room.size()), kToken);
  in_.commit(n);
  co_return !ec && !aborted_;
}

template <class Stream>
Task<bool> Connection<Stream>::serve_request(RequestHead head) {
  bool has_body = head.framing == Framing::kChunked || head.length > 0;
  if (has_body && !co_await read_body(head)) co_return false;
  no_limit();
  Request& request = head.request;
  request.peer = peer_;
  request.encrypted = kTls;
  RequestContext context{request_id_of(request, lane_),
                         steady_clock::now() + lane_.limits().request_time};
  Method method = request.method;
  Response response = co_await handle(context, std::move(request));
  if (aborted_) co_return false;

  Persistence persistence = Persistence::kClose;
  if (head.keep_alive && !lane_.draining()) {
    persistence = head.http_1_0 ? Persistence::kKeepAliveHttp10 : Persistence::kKeepAlive;
  }
  // A client that asked to keep the connection does not know yet that we close.
  linger_ = head.keep_alive && persistence == Persistence::kClose;
  HeadContext about{persistence, context.request_id, {}};
  if (!co_await answer(std::move(response), about, method)) co_return false;
  co_return persistence != Persistence::kClose;
}

template <class Stream>
Task<Response> Connection<Stream>::handle(RequestContext context, Request request) {
  // A handler may have left cancellation disabled on this coroutine.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  co_await asio::this_coro::throw_if_cancelled(true);
  std::optional<Response> response;
  try {
    response.emplace(co_await lane_.handler()(context, std::move(request)));
  } catch (...) {
    // Cancelled by abort(), or a defect: the other connections go on.
    response.emplace(lane_.refusal()(500, "internal error"));
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_return std::move(*response);
}

template <class Stream>
Task<bool> Connection<Stream>::read_body(RequestHead& head) {
  bool sized = head.framing == Framing::kLength;
  if (sized && head.length > lane_.limits().body_bytes) {
    co_return co_await refuse({413, "request body too large"});
  }
  limit(lane_.limits().body_time);
  if (head.expects_continue && in_.empty()) {
    if (!co_await write(kContinue, {})) co_return false;
  }
  bool whole = sized ? co_await read_sized_body(head) : co_await read_chunked_body(head);
  if (!whole && !aborted_ && overdue()) co_await refuse({408, "request body took too long"});
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
    if (!co_await fill(std::min(left, kBodyStep))) co_return false;
  }
}

template <class Stream>
Task<bool> Connection<Stream>::read_chunked_body(RequestHead& head) {
  ChunkDecoder decoder(lane_.limits().body_bytes, lane_.limits().header_bytes);
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
    if (!co_await fill(kBodyStep)) co_return false;
  }
}

// Always false: the stream is not at the start of a request any more.
template <class Stream>
Task<bool> Connection<Stream>::refuse(Refused refused) {
  if (aborted_) co_return false;
  linger_ = true;
  HeadContext about{Persistence::kClose, lane_.random_id(), {}};
  co_await answer(lane_.refusal()(refused.status, refused.message), about, Method::kOther);
  co_return false;
}

template <class Stream>
Task<bool> Connection<Stream>::answer(Response response, HeadContext context, Method method) {
  auto now = steady_clock::now();
  deadline = now + lane_.limits().write_time;
  context.date = lane_.date(now);
  out_.clear();
  append_head(out_, response, context);
  std::string_view body;
  if (method != Method::kHead && may_have_body(response.status)) body = response.body.view();
  if (body.size() <= kSmallBody) {
    out_.append(body);
    body = {};
  }
  co_return co_await write(out_, body);
}

template <class Stream>
Task<bool> Connection<Stream>::write(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    if (aborted_) co_return false;
    std::array<asio::const_buffer, 2> buffers{asio::buffer(head.data(), head.size()),
                                              asio::buffer(body.data(), body.size())};
    auto [ec, n] = co_await stream_.async_write_some(buffers, kToken);
    if (ec) {
      linger_ = false;
      co_return false;
    }
    std::size_t of_head = std::min(n, head.size());
    head.remove_prefix(of_head);
    body.remove_prefix(n - of_head);
  }
  co_return !aborted_;
}

// A close with unread input makes the kernel send a reset, which can destroy
// the answer before the client has read it. So: say that we are done, then
// throw away what comes until the client closes too, for a short time.
template <class Stream>
Task<void> Connection<Stream>::close() {
  limit(kLingerTime);
  if constexpr (kTls) {
    if (!aborted_ && SSL_is_init_finished(stream_.native_handle())) {
      co_await stream_.async_shutdown(kToken);
    }
  }
  ErrorCode ec;
  if (linger_ && !aborted_) socket().shutdown(asio::ip::tcp::socket::shutdown_send, ec);
  resting = true;
  while (linger_ && !ec && !aborted_ && !overdue()) {
    std::array<char, 4096> thrown_away;
    auto [error, n] = co_await socket().async_read_some(asio::buffer(thrown_away), kToken);
    ec = error;
  }
  unlink();
  socket().close(ec);
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

void run_plain_connection(Lane& lane, ServerSocket socket, Admission admission) {
  start(lane, std::make_unique<Connection<ServerSocket>>(lane, std::move(socket), admission));
}

void run_tls_connection(Lane& lane, ServerSocket socket, Admission admission,
                        asio::ssl::context& tls) {
  start(lane, std::make_unique<Connection<TlsStream>>(lane, TlsStream(std::move(socket), tls),
                                                      admission));
}

}  // namespace base::http
