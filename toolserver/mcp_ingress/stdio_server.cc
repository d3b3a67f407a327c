#include "toolserver/mcp_ingress/stdio_server.h"

#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <optional>
#include <utility>

#include "toolserver/mcp/framing.h"
#include "toolserver/mcp_ingress/exchange.h"
#include "toolserver/pipeline/rate.h"

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
namespace method = mcp::method;
using Descriptor = asio::posix::stream_descriptor;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(const Dispatcher& dispatcher, StdioOptions options, asio::any_io_executor loop)
      : dispatcher_(dispatcher),
        options_(std::move(options)),
        out_(std::make_shared<Feed>(loop)),
        requests_(std::make_shared<ClientSession>(ClientSession::Facts{})) {}

  void take(std::string_view line);
  /// The client sends no more.
  void end();
  [[nodiscard]] const std::shared_ptr<Feed>& out() const { return out_; }

 private:
  void request(mcp::Request message);
  [[nodiscard]] std::expected<Call, Reply> call_of(mcp::Request& message) const;
  void initialize(const mcp::Request& message);
  void listen(const mcp::Request& message);
  void run(Call call);
  void ended(std::uint64_t key);
  void notification(const mcp::Notification& message);
  void answer(const mcp::RequestId& id, std::expected<json::Object, mcp::RpcError> answer);
  void reply(const mcp::RequestId& id, Reply value) {
    out_->push(write_reply(id, std::move(value)));
  }

  const Dispatcher& dispatcher_;
  const StdioOptions options_;
  const std::shared_ptr<Feed> out_;
  const std::shared_ptr<ClientSession> requests_;  ///< Of clients that open no session.
  std::shared_ptr<ClientSession> session_;         ///< After `initialize`.
  std::map<std::uint64_t, std::shared_ptr<Exchange>> running_;
  std::uint64_t begun_ = 0;
  bool ending_ = false;
};

void Connection::take(std::string_view line) {
  auto message = mcp::parse_message(line, options_.bounds);
  if (!message) {
    auto& unreadable = message.error();
    out_->push(mcp::write(mcp::ErrorAnswer{unreadable.id, std::move(unreadable.error)}));
    return;
  }
  if (auto* asked = std::get_if<mcp::Request>(&*message)) return request(std::move(*asked));
  if (auto* told = std::get_if<mcp::Notification>(&*message)) return notification(*told);
  if (auto* result = std::get_if<mcp::Answer>(&*message)) {
    return answer(result->id, std::move(result->result));
  }
  auto& error = std::get<mcp::ErrorAnswer>(*message);
  if (error.id) answer(*error.id, std::unexpected(std::move(error.error)));
}

void Connection::request(mcp::Request message) {
  if (message.method == method::kInitialize && dispatcher_.serves_sessions()) {
    return initialize(message);
  }
  mcp::RequestId id = message.id;
  auto call = call_of(message);
  if (!call) return reply(id, std::move(call).error());
  if (mcp::is_stateless(call->revision) && call->request.method == method::kListen) {
    return listen(call->request);
  }
  run(std::move(*call));
}

// By which revision it is meant: its own word, or what `initialize` agreed on.
std::expected<Call, Reply> Connection::call_of(mcp::Request& message) const {
  auto meta = mcp::read_meta(message.params);
  if (!meta) return std::unexpected(error_reply(400, meta.error().code, meta.error().message));
  Call call;
  if (meta->version.empty()) {
    if (!session_) {
      return std::unexpected(
          error_reply(400, mcp::code::kInvalidParams,
                      "_meta: must name the revision, or initialize must come first"));
    }
    call.session = session_;
    call.revision = session_->facts().revision;
    call.client = session_->facts().capabilities;
  } else {
    auto revision = dispatcher_.served(meta->version);
    if (!revision) return std::unexpected(std::move(revision).error());
    if (!meta->client_capabilities) {
      return std::unexpected(
          error_reply(400, mcp::code::kInvalidParams, "_meta: must have clientCapabilities"));
    }
    call.revision = *revision;
    call.client = *meta->client_capabilities;
  }
  call.request = std::move(message);
  call.meta = std::move(*meta);
  call.caller = options_.caller;
  call.wanted = options_.wanted;
  return call;
}

void Connection::initialize(const mcp::Request& message) {
  auto initialized = dispatcher_.initialize(message);
  if (!initialized) return reply(message.id, std::move(initialized).error());
  session_ = std::make_shared<ClientSession>(
      ClientSession::Facts{{}, {}, initialized->revision, std::move(initialized->capabilities)});
  Reply value;
  value.body = std::move(initialized->result);
  reply(message.id, std::move(value));
}

// Nothing changes here that a client could be told of, which the empty filter of
// the acknowledgement says.
void Connection::listen(const mcp::Request& message) {
  auto filter = dispatcher_.listen_filter(message.params, *options_.caller, {});
  if (!filter) return reply(message.id, std::move(filter).error());
  out_->push(mcp::write(mcp::Notification{
      std::string(method::kAcknowledged),
      {{"_meta", json::Object{{mcp::meta::kSubscriptionId, mcp::to_json(message.id)}}},
       {"notifications", filter->to_json()}}}));
}

void Connection::run(Call call) {
  if (running_.size() >= options_.most_running) {
    return reply(call.request.id, fault_reply(refuse(Code::kBusy, "too many requests at once")));
  }
  auto questions = call.session ? Exchange::Questions::kToClient : Exchange::Questions::kNone;
  auto exchange =
      std::make_shared<Exchange>(out_, call.session ? call.session : requests_, questions);
  call.side = exchange;
  mcp::RequestId id = call.request.id;
  std::uint64_t key = ++begun_;
  running_.emplace(key, exchange);
  exchange->start(id, dispatcher_.run(std::make_shared<const Call>(std::move(call))),
                  [self = shared_from_this(), id, key](Reply value) {
                    self->reply(id, std::move(value));
                    self->ended(key);
                  });
}

void Connection::ended(std::uint64_t key) {
  running_.erase(key);
  if (ending_ && running_.empty()) out_->end();
}

void Connection::notification(const mcp::Notification& message) {
  if (message.method != method::kCancelled) return;
  const auto* id = message.params.if_contains("requestId");
  auto read = id == nullptr ? std::nullopt : mcp::id_of(*id);
  if (!read) return;
  requests_->cancel(*read);
  if (session_) session_->cancel(*read);
}

// What nobody asked, or not any more, is dropped.
void Connection::answer(const mcp::RequestId& id,
                        std::expected<json::Object, mcp::RpcError> answer) {
  if (session_) (void)session_->answer(id, std::move(answer));
}

void Connection::end() {
  ending_ = true;
  if (running_.empty()) out_->end();
  for (const auto& [key, exchange] : std::map(running_)) exchange->cancel();
}

base::Task<void> write_lines(std::shared_ptr<Feed> feed, Descriptor output) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (co_await feed->wait(base::Deadline::max())) {
    std::string lines;
    while (!feed->empty()) lines.append(feed->take()).push_back('\n');
    boost::system::error_code error;
    if (!lines.empty()) {
      co_await asio::async_write(output, asio::buffer(lines),
                                 asio::redirect_error(asio::use_awaitable, error));
    }
    if (error) {
      feed->gone();
      co_return;
    }
    if (feed->ended() && feed->empty()) co_return;
  }
}

base::Task<base::Status> read_lines(std::shared_ptr<Connection> connection, Descriptor input,
                                    std::size_t most) {
  mcp::LineReader reader(most);
  std::array<char, 16 << 10> bytes;
  for (;;) {
    boost::system::error_code error;
    std::size_t n = co_await input.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return base::Status{};
    auto lines = reader.feed(std::string_view(bytes.data(), n));
    if (!lines) co_return std::move(lines).error();
    for (const std::string& line : *lines) connection->take(line);
  }
}

base::Result<Descriptor> open(const asio::any_io_executor& loop, int descriptor) {
  int own = ::dup(descriptor);
  Descriptor stream(loop);
  boost::system::error_code error;
  if (own >= 0) stream.assign(own, error);
  if (own >= 0 && !error) return stream;
  if (own >= 0) ::close(own);
  return base::fail(base::ErrorKind::kUnavailable,
                    "standard input or output: must be a pipe, a socket or a terminal");
}

}  // namespace

base::Task<base::Status> serve_lines(const Dispatcher& dispatcher, StdioOptions options) {
  auto loop = co_await asio::this_coro::executor;
  CO_ASSIGN_OR_RETURN(Descriptor input, open(loop, options.input));
  CO_ASSIGN_OR_RETURN(Descriptor output, open(loop, options.output));
  std::size_t most = options.bounds.bytes;
  auto connection = std::make_shared<Connection>(dispatcher, std::move(options), loop);
  auto written = std::make_shared<asio::steady_timer>(loop, base::Deadline::max());
  asio::co_spawn(loop, write_lines(connection->out(), std::move(output)),
                 [written](const std::exception_ptr&) { written->expires_at({}); });
  auto status = co_await read_lines(connection, std::move(input), most);
  connection->end();
  boost::system::error_code ignored;
  co_await written->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  co_return status;
}

}  // namespace tool::mcp_ingress
