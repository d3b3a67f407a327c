#include "toolserver/client/link.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
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

Fault connect_fault(const base::Error& error) {
  auto code = error.kind() == base::ErrorKind::kTimeout     ? Code::kTimeout
              : error.kind() == base::ErrorKind::kCancelled ? Code::kCancelled
                                                            : Code::kUpstream;
  Fault fault = refuse(code, "no connection: " + error.message());
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

base::Task<Outcome<void>> fetch_token(ClientOptions& options, base::RequestContext context,
                                      const base::Clock& clock) {
  if (!options.provider) co_return Outcome<void>();
  auto loop = co_await asio::this_coro::executor;
  auto provider = base::jose::ClientCredentials::create(loop, *options.provider, clock);
  if (!provider) co_return to_fault(std::move(provider).error());
  auto token = co_await (*provider)->token(context);
  co_await (*provider)->wait();
  if (!token) {
    bool refused = token.error().kind() == base::ErrorKind::kUnauthenticated;
    co_return refused ? refuse(Code::kAuth, token.error().message()) : connect_fault(token.error());
  }
  options.session.token = std::move(token->value);
  co_return Outcome<void>();
}

ws::ConnectOptions connect_options(const ClientOptions& options, base::Random& random) {
  ws::ConnectOptions out;
  out.url = options.url;
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
           session::Channel channel, const base::Clock& clock, base::Random& random,
           const asio::any_io_executor& loop)
    : connection_(std::move(connection)),
      session_(std::move(config), std::move(channel), clock, random),
      clock_(clock),
      tasks_(loop),
      changed_(loop),
      refresh_timer_(loop) {}

base::Task<Outcome<std::shared_ptr<Link>>> Link::open(ClientOptions options,
                                                      const base::Clock& clock,
                                                      base::Random& random) {
  auto loop = co_await asio::this_coro::executor;
  base::RequestContext context;
  context.deadline = Steady::now() + options.connect_time;
  auto token = co_await fetch_token(options, context, clock);
  if (!token) co_return std::move(token).error();
  auto connection = co_await ws::connect(context, connect_options(options, random));
  if (!connection) co_return connect_fault(connection.error());
  auto channel = make_channel(**connection, options.url);
  if (!channel) co_return to_fault(std::move(channel).error());
  std::shared_ptr<Link> link(new Link(std::move(*connection), std::move(options.session),
                                      std::move(*channel), clock, random, loop));
  auto shaken = co_await link->shake_hands(context.deadline);
  if (!shaken) {
    link->abort();
    co_return std::move(shaken).error();
  }
  link->tasks_.spawn(link->refresh(link));
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
  auto found = waiters_.find(action.id);
  if (found == waiters_.end() || !found->second->sending->progress) return;
  if (action.op == session::Op::kProgress) found->second->sending->progress(action.payload);
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
  if (found == waiters_.end()) return;
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

// A refresh that fails is not the end: the token in force may still have time.
base::Task<void> Link::refresh(std::shared_ptr<Link> self) {
  while (self->usable()) {
    auto wait = std::max(session_.refresh_at() - clock_.now(),
                         base::WallTime::duration(std::chrono::seconds(1)));
    refresh_timer_.expires_after(wait);
    boost::system::error_code woken;
    co_await refresh_timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (!usable()) co_return;
    Sending sending;
    sending.op = session::Op::kRefresh;
    sending.payload = session_.refresh_payload();
    (void)co_await call(std::move(sending));
  }
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

void Link::abort() {
  fail(refuse(Code::kCancelled, "the client disconnects"));
  connection_->abort();
}

}  // namespace tool::client
