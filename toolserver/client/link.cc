#include "toolserver/client/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <variant>

#include "base/websocket/client.h"
#include "toolserver/settings/endpoint.h"

namespace tool::client {
namespace {

namespace asio = boost::asio;
namespace ws = base::ws;
using Steady = std::chrono::steady_clock;

constexpr std::string_view kSubprotocol = "scp.v3.json";
constexpr std::chrono::seconds kCloseTime{5};
constexpr std::chrono::milliseconds kLeastWait{500};  // Between two refreshes.
constexpr std::chrono::seconds kTokenTime{10};        // To get a token for a refresh.
// A timer counts nanoseconds and a session may end in thousands of years.
constexpr base::WallTime::duration kLongestWait = std::chrono::hours(24);

Fault connect_fault(const base::Error& error) {
  auto code = error.kind() == base::ErrorKind::kTimeout     ? Code::kTimeout
              : error.kind() == base::ErrorKind::kCancelled ? Code::kCancelled
                                                            : Code::kUpstream;
  std::string_view hint = error.reason() == "certificate"
                              ? "; security.ca_cert_path names the authorities that are trusted"
                              : "";
  Fault fault = refuse(code, fmt::format("no connection: {}{}", error.message(), hint));
  fault.detail = error.detail();
  return fault;
}

base::Result<session::Channel> make_channel(const ws::Connection& connection,
                                            const std::string& url) {
  session::Channel channel;
  auto endpoint = settings::parse_endpoint(url);
  channel.reach = endpoint && settings::is_loopback(endpoint->host) ? session::Reach::kLoopback
                                                                    : session::Reach::kRemote;
  if (!connection.encrypted()) return channel;
  ASSIGN_OR_RETURN(std::string exporter, connection.tls_exporter("EXPORTER-Channel-Binding", 32));
  channel.tls = session::TlsBinding{std::move(exporter), {}};
  return channel;
}

// How long to wait after a refresh that failed: a part of the time that is left,
// so that a short token is tried for often and a long one seldom.
base::WallTime::duration retry_time(const Fault& fault, base::WallTime::duration left) {
  using std::chrono::milliseconds;
  base::WallTime::duration wait = milliseconds(10'000);
  if (left > milliseconds(0))
    wait = std::clamp<base::WallTime::duration>(left / 4, milliseconds(200), wait);
  return std::max<base::WallTime::duration>(wait, fault.retry_after.value_or(milliseconds(0)));
}

ws::ConnectOptions connect_options(const ClientOptions& options, base::Random& random) {
  ws::ConnectOptions out;
  auto endpoint = settings::parse_endpoint(options.url);
  bool names_path = !endpoint || !endpoint->path.empty();
  out.url = names_path ? options.url : options.url + options.path;
  out.address = options.address;
  out.subprotocol = kSubprotocol;
  out.ca_file = options.ca_file;
  out.certificate_file = options.certificate_file;
  out.key_file = options.key_file;
  out.connect_time = options.connect_time;
  out.connection.message_bytes = options.message_bytes;
  out.random = &random;
  return out;
}

}  // namespace

Link::Link(std::unique_ptr<ws::Connection> connection, session::ClientConfig config,
           session::Channel channel, std::shared_ptr<TokenSource> tokens, const base::Clock& clock,
           base::Random& random, const asio::any_io_executor& loop)
    : connection_(std::move(connection)),
      session_(std::move(config), std::move(channel), clock, random),
      tokens_(std::move(tokens)),
      clock_(clock),
      tasks_(loop),
      changed_(loop),
      refresh_timer_(loop) {}

base::Task<Outcome<std::shared_ptr<Link>>> Link::open(ClientOptions options,
                                                      std::shared_ptr<TokenSource> tokens,
                                                      const base::Clock& clock,
                                                      base::Random& random) {
  auto loop = co_await asio::this_coro::executor;
  base::RequestContext context;
  context.deadline = Steady::now() + options.connect_time;
  if (tokens && options.session.former_session.empty()) {
    auto token = co_await tokens->fresh(context);
    if (!token) co_return std::move(token).error();
    options.session.token = std::move(*token);
  }
  auto connection = co_await ws::connect(context, connect_options(options, random));
  if (!connection) co_return connect_fault(connection.error());
  auto channel = make_channel(**connection, options.url);
  if (!channel) co_return to_fault(std::move(channel).error());
  std::shared_ptr<Link> link(new Link(std::move(*connection), std::move(options.session),
                                      std::move(*channel), std::move(tokens), clock, random, loop));
  auto shaken = co_await link->shake_hands(context.deadline);
  if (!shaken) {
    link->abort();
    co_return std::move(shaken).error();
  }
  link->tasks_.spawn(link->keep_fresh(link));
  co_return link;
}

base::Task<Outcome<void>> Link::shake_hands(Steady::time_point by) {
  auto hello = session_.start();
  if (!hello) co_return std::move(hello).error();
  send(std::move(*hello));
  tasks_.spawn(read(shared_from_this()));
  while (!failure_ && session_.state() != session::ClientState::kReady) {
    if (Steady::now() >= by) co_return refuse(Code::kTimeout, "the server did not answer in time");
    changed_.expires_at(by);
    boost::system::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (failure_) co_return *failure_;
  co_return Outcome<void>();
}

bool Link::usable() const {
  return !failure_ && (session_.state() == session::ClientState::kReady ||
                       session_.state() == session::ClientState::kRekeying);
}

base::Task<void> Link::read(std::shared_ptr<Link> self) {
  while (true) {
    auto message = co_await self->connection_->receive();
    if (!message) break;
    perform(message->kind == ws::Message::Kind::kText
                ? session_.on_text(std::move(message->data))
                : session_.on_binary(std::move(message->data)));
  }
  fail(refuse(Code::kUpstream, "the connection has ended"));
}

void Link::perform(session::ClientActions actions) {
  for (auto& action : actions) {
    std::visit([this](auto& one) { perform(std::move(one)); }, action);
  }
}

void Link::perform(session::Event action) {
  if (action.sequence >= most_events_) {
    fail(refuse(Code::kUpstream, "the server sends too many events for one request"));
    return connection_->abort();
  }
  auto found = waiters_.find(action.id);
  if (found == waiters_.end() || found->second->result) return;
  const Sending& sending = *found->second->sending;
  if (action.op == session::Op::kProgress && sending.progress) sending.progress(action.payload);
  if (action.op != session::Op::kChunk || !sending.chunk) return;
  auto taken = sending.chunk(action.payload);
  if (taken) return;
  finish(action.id, std::move(taken).error());
  if (auto cancel = session_.encode_cancel(action.id)) send(std::move(*cancel));
}

void Link::perform(session::Close action) {
  connection_->close(action.code, std::move(action.reason));
}

void Link::send(session::Frame frame) {
  auto kind = frame.kind == session::FrameKind::kText ? ws::Message::Kind::kText
                                                      : ws::Message::Kind::kBinary;
  // A send that fails ends the connection, which the reader sees.
  (void)connection_->send({kind, std::move(frame.bytes)});
}

void Link::finish(const Ulid& id, Outcome<base::json::Object> result) {
  auto found = waiters_.find(id);
  if (found == waiters_.end() || found->second->result) return;
  found->second->result = std::move(result);
  found->second->ready.cancel();
}

void Link::fail(Fault fault) {
  if (!failure_) failure_ = std::move(fault);
  for (auto& [id, waiter] : waiters_) {
    if (!waiter->result) waiter->result = Outcome<base::json::Object>(*failure_);
    waiter->ready.cancel();
  }
  refresh_timer_.cancel();
  wake();
  if (auto call = std::exchange(on_end_, nullptr)) {
    asio::post(changed_.get_executor(), std::move(call));
  }
}

base::Task<Outcome<base::json::Object>> Link::call(Sending sending) {
  auto self = shared_from_this();
  auto loop = co_await asio::this_coro::executor;
  co_await asio::this_coro::throw_if_cancelled(false);
  auto renewed = co_await renew_keys_when_due();
  if (!renewed) co_return std::move(renewed).error();
  auto request =
      session_.encode_request(sending.op, std::move(sending.payload), std::move(sending.meta));
  if (!request) co_return std::move(request).error();
  Waiter waiter(loop);
  waiter.sending = &sending;
  waiter.ready.expires_after(sending.patience);
  waiters_.emplace(request->id, &waiter);
  send(std::move(request->frame));
  auto result = co_await wait_for(request->id, waiter);
  waiters_.erase(request->id);
  if (retiring_ && waiters_.empty()) abort();
  co_return result;
}

base::Task<Outcome<base::json::Object>> Link::wait_for(const Ulid& id, Waiter& waiter) {
  co_await asio::this_coro::throw_if_cancelled(false);
  boost::system::error_code woken;
  co_await waiter.ready.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (waiter.result) co_return std::move(*waiter.result);
  if (auto cancel = session_.encode_cancel(id)) send(std::move(*cancel));
  co_return woken ? refuse(Code::kCancelled, "the caller went away")
                  : refuse(Code::kTimeout, "no answer in time");
}

base::Task<Outcome<void>> Link::renew_keys_when_due() {
  if (session_.state() == session::ClientState::kReady && session_.needs_rekey()) {
    co_return co_await rekey();
  }
  while (!failure_ && session_.state() == session::ClientState::kRekeying) {
    changed_.expires_at(Steady::time_point::max());
    boost::system::error_code woken;
    co_await changed_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (failure_) co_return *failure_;
  co_return Outcome<void>();
}

base::Task<Outcome<void>> Link::rekey() {
  auto request = session_.rekey();
  if (!request) co_return std::move(request).error();
  send(std::move(*request));
  co_return co_await renew_keys_when_due();
}

// A refresh that fails is not the end: the token in force may still have time,
// and after that a new one opens the session again. A credential of which there
// is no other is not shown again once it was refused.
base::Task<void> Link::keep_fresh(std::shared_ptr<Link> self) {
  auto wait = session_.refresh_at() - clock_.now();
  while (self->usable()) {
    refresh_timer_.expires_after(std::clamp(wait, base::WallTime::duration(0), kLongestWait));
    boost::system::error_code woken;
    co_await refresh_timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (!usable()) co_return;
    auto before = session_.ready().expires_at;
    auto refreshed = co_await refresh();
    if (refreshed) {
      // Nothing later is to be had: the session ends then, or its only credential.
      if (!tokens_ && session_.ready().expires_at <= before) co_return;
      wait = std::max<base::WallTime::duration>(session_.refresh_at() - clock_.now(), kLeastWait);
      continue;
    }
    Code code = refreshed.error().code;
    if (!tokens_ && (code == Code::kExpired || code == Code::kAuth)) co_return;
    wait = retry_time(refreshed.error(), session_.ready().expires_at - clock_.now());
  }
}

base::Task<Outcome<void>> Link::refresh() {
  if (tokens_) {
    base::RequestContext context;
    context.deadline = Steady::now() + kTokenTime;
    auto token = co_await tokens_->fresh(context);
    if (!token) co_return std::move(token).error();
    session_.set_token(std::move(*token));
  }
  if (!usable()) co_return refuse(Code::kUpstream, "the connection has ended");
  Sending sending;
  sending.op = session::Op::kRefresh;
  auto payload = session_.refresh_payload();
  if (!payload) co_return std::move(payload).error();
  sending.payload = std::move(*payload);
  auto answer = co_await call(std::move(sending));
  if (!answer) co_return std::move(answer).error();
  co_return Outcome<void>();
}

base::Task<void> Link::close() {
  auto self = shared_from_this();
  if (usable()) {
    Sending sending;
    sending.op = session::Op::kClose;
    sending.patience = kCloseTime;
    // Whatever the answer, the connection ends.
    (void)co_await call(std::move(sending));
  }
  fail(refuse(Code::kCancelled, "the client disconnects"));
  connection_->close(ws::kCloseNormal, "");
  co_await tasks_.wait();
}

void Link::retire() {
  retiring_ = true;
  if (waiters_.empty()) abort();
}

void Link::abort() {
  fail(refuse(Code::kCancelled, "the client disconnects"));
  connection_->abort();
}

}  // namespace tool::client
