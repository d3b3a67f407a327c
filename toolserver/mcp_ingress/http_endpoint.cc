#include "toolserver/mcp_ingress/http_endpoint.h"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "toolserver/mcp_ingress/exchange.h"
#include "toolserver/mcp_ingress/http_request.h"
#include "toolserver/mcp_ingress/http_streams.h"
#include "toolserver/pipeline/rate.h"

namespace tool::mcp_ingress {
namespace {

namespace asio = boost::asio;
namespace http = base::http;
namespace json = base::json;
namespace method = mcp::method;
using std::chrono::steady_clock;

constexpr std::string_view kSessionField = "Mcp-Session-Id";

http::Response text_response(unsigned status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("Cache-Control", "no-store");
  response.body = http::Body(std::move(body));
  return response;
}

http::Response accepted() {
  http::Response response;
  response.status = 202;
  return response;
}

// The reply of a request that runs, for whoever waits for it: the handler, or
// the stream that it began.
struct Running {
  mcp::RequestId id;
  std::shared_ptr<Feed> feed;
  std::shared_ptr<Exchange> exchange;
  std::optional<Reply> reply;
  bool streams = false;

  // Nobody waits any more.
  ~Running() {
    if (!reply && exchange) exchange->cancel();
  }
  void done(Reply value) {
    if (streams) {
      feed->push(write_reply(id, value));
      feed->end();
    }
    reply = std::move(value);
    feed->wake();
  }
};

base::Task<void> serve_events(std::shared_ptr<Running> running, http::ByteStream& stream,
                              std::chrono::milliseconds keep_alive) {
  stream.vouch();
  co_await send_events(running->feed, stream, keep_alive);
}

class Endpoint {
 public:
  explicit Endpoint(HttpServices services) : services_(std::move(services)) {}

  base::Task<http::Response> answer(base::RequestContext context, http::Request request) const;

 private:
  // A request whose sender is known.
  struct Incoming {
    http::Request http;
    Caller caller;
    std::string principal;  ///< pipeline::key_of().
    ToolsWanted wanted = ToolsWanted::kDefault;
    asio::any_io_executor loop;
    Accepts accepts;
  };

  [[nodiscard]] const HttpOptions& options() const { return services_.options; }
  [[nodiscard]] const AccessOptions& access() const { return services_.options.access; }

  base::Task<http::Response> known(Incoming in) const;
  base::Task<http::Response> post(Incoming in) const;
  base::Task<http::Response> request(Incoming in, mcp::Request message) const;
  base::Task<http::Response> run(Incoming in, Call call) const;
  [[nodiscard]] http::Response initialize(const Incoming& in, const mcp::Request& message) const;
  [[nodiscard]] std::optional<http::Response> join_session(const Incoming& in,
                                                           const mcp::RequestId& id,
                                                           Call& call) const;
  [[nodiscard]] http::Response notification(const Incoming& in,
                                            const mcp::Notification& message) const;
  [[nodiscard]] http::Response client_answer(
      const Incoming& in, const mcp::RequestId& id,
      std::expected<json::Object, mcp::RpcError> answer) const;
  [[nodiscard]] http::Response get(const Incoming& in) const;
  [[nodiscard]] http::Response remove(const Incoming& in) const;

  // The session that the request names; null when it names none. Errors: a 404.
  [[nodiscard]] std::expected<std::shared_ptr<ClientSession>, http::Response> session_of(
      const Incoming& in) const;
  [[nodiscard]] bool is_stateless(const Incoming& in) const;
  [[nodiscard]] http::Response write(const std::optional<mcp::RequestId>& id, Reply reply) const;
  void record_refusal(const Fault& fault, const std::string& peer) const;

  const HttpServices services_;
};

base::Task<http::Response> Endpoint::answer(base::RequestContext context,
                                            http::Request request) const {
  if (auto refused = check_names(request.headers, access())) co_return std::move(*refused);
  if (is_metadata_path(request.path(), access())) {
    bool reads = request.method == http::Method::kGet || request.method == http::Method::kHead;
    co_return reads ? metadata_response(access()) : plain_error(405, "only GET is offered here");
  }
  auto token = bearer_of(request.headers, access());
  if (!token) co_return std::move(token).error();
  auto principal =
      co_await authenticate(context, services_.credentials(), access().methods, std::move(*token));
  if (!principal) {
    record_refusal(principal.error(), request.peer);
    co_return refuse_credential(principal.error(), access());
  }
  Incoming in;
  if (auto word = request.query("tools")) {
    auto wanted = tools_wanted(*word);
    if (!wanted) co_return plain_error(400, "tools: must be all or search");
    in.wanted = *wanted;
  }
  in.loop = co_await asio::this_coro::executor;
  in.http = std::move(request);
  in.caller = std::make_shared<const Principal>(std::move(*principal));
  in.principal = pipeline::key_of(*in.caller);
  in.accepts = accepts_of(in.http.headers);
  auto response = co_await known(std::move(in));
  response.vouched = true;
  co_return response;
}

// In the trail as a session's refusal is, in the same bounds.
void Endpoint::record_refusal(const Fault& fault, const std::string& peer) const {
  std::string_view code = name(fault.code);
  services_.audit.note({"login_refused", code, {}, {}, peer},
                       {{"code", code}, {"peer", peer}, {"method", "bearer"}});
}

base::Task<http::Response> Endpoint::known(Incoming in) const {
  switch (in.http.method) {
    case http::Method::kPost: co_return co_await post(std::move(in));
    case http::Method::kGet:
    case http::Method::kDelete: break;
    default: {
      auto response = plain_error(405, "POST is offered here");
      response.headers.add("Allow", "POST");
      co_return response;
    }
  }
  if (is_stateless(in) || !services_.dispatcher.serves_sessions()) {
    auto response = plain_error(405, "this revision has no sessions");
    response.headers.add("Allow", "POST");
    co_return response;
  }
  if (auto taken = services_.pipeline.take(*in.caller); !taken) {
    co_return plain_error(429, taken.error().message);
  }
  co_return in.http.method == http::Method::kGet ? get(in) : remove(in);
}

bool Endpoint::is_stateless(const Incoming& in) const {
  auto field = in.http.headers.get("MCP-Protocol-Version");
  auto revision = field ? mcp::revision_of(*field) : std::nullopt;
  return revision && mcp::is_stateless(*revision);
}

std::expected<std::shared_ptr<ClientSession>, http::Response> Endpoint::session_of(
    const Incoming& in) const {
  auto id = in.http.headers.get(kSessionField);
  if (!id) return std::shared_ptr<ClientSession>();
  auto session = services_.sessions.find(std::string(*id), in.principal);
  // Another's is answered as one that does not exist.
  if (!session) return std::unexpected(plain_error(404, "no such session"));
  return session;
}

http::Response Endpoint::get(const Incoming& in) const {
  if (!in.accepts.events) return plain_error(406, "Accept: must have text/event-stream");
  auto session = session_of(in);
  if (!session) return std::move(session).error();
  if (!*session) return plain_error(400, "Mcp-Session-Id: must be there");
  return open_session_stream(services_, {in.loop, in.caller, in.http.peer}, std::move(*session));
}

http::Response Endpoint::remove(const Incoming& in) const {
  auto id = in.http.headers.get(kSessionField);
  if (!id) return plain_error(400, "Mcp-Session-Id: must be there");
  if (!services_.sessions.close(std::string(*id), in.principal)) {
    return plain_error(404, "no such session");
  }
  http::Response response;
  response.status = 204;
  return response;
}

base::Task<http::Response> Endpoint::post(Incoming in) const {
  if (!is_json(in.http.headers)) {
    co_return plain_error(415, "Content-Type: must be application/json");
  }
  if (!in.accepts.json && !in.accepts.events) {
    co_return plain_error(406, "Accept: must have application/json and text/event-stream");
  }
  auto message = mcp::parse_message(in.http.body, options().bounds);
  in.http.body = std::string();
  if (!message) {
    auto& unreadable = message.error();
    co_return write(unreadable.id,
                    error_reply(400, unreadable.error.code, std::move(unreadable.error.message)));
  }
  if (auto* asked = std::get_if<mcp::Request>(&*message)) {
    co_return co_await request(std::move(in), std::move(*asked));
  }
  if (auto taken = services_.pipeline.take(*in.caller); !taken) {
    co_return plain_error(429, taken.error().message);
  }
  if (auto* told = std::get_if<mcp::Notification>(&*message)) co_return notification(in, *told);
  if (auto* answer = std::get_if<mcp::Answer>(&*message)) {
    co_return client_answer(in, answer->id, std::move(answer->result));
  }
  auto& error = std::get<mcp::ErrorAnswer>(*message);
  if (!error.id) co_return accepted();
  co_return client_answer(in, *error.id, std::unexpected(std::move(error.error)));
}

http::Response Endpoint::notification(const Incoming& in, const mcp::Notification& message) const {
  auto session = session_of(in);
  if (!session && !is_stateless(in)) return std::move(session).error();
  if (message.method == method::kCancelled && session && *session) {
    const auto* id = message.params.if_contains("requestId");
    if (auto read = id == nullptr ? std::nullopt : mcp::id_of(*id)) (*session)->cancel(*read);
  }
  return accepted();
}

http::Response Endpoint::client_answer(const Incoming& in, const mcp::RequestId& id,
                                       std::expected<json::Object, mcp::RpcError> answer) const {
  if (is_stateless(in)) return plain_error(400, "this revision has no answers of clients");
  auto session = session_of(in);
  if (!session) return std::move(session).error();
  if (!*session || !(*session)->answer(id, std::move(answer))) {
    return plain_error(400, "nobody asked, or not any more");
  }
  return accepted();
}

http::Response Endpoint::initialize(const Incoming& in, const mcp::Request& message) const {
  auto initialized = services_.dispatcher.initialize(message);
  if (!initialized) return write(message.id, std::move(initialized).error());
  auto session = services_.sessions.open(
      {{}, in.principal, initialized->revision, std::move(initialized->capabilities)});
  if (!session) return write(message.id, fault_reply(session.error()));
  Reply reply;
  reply.body = std::move(initialized->result);
  auto response = write(message.id, std::move(reply));
  response.headers.add(std::string(kSessionField), (*session)->facts().id);
  return response;
}

// A request of an older revision, which may be of a session.
std::optional<http::Response> Endpoint::join_session(const Incoming& in, const mcp::RequestId& id,
                                                     Call& call) const {
  auto session = session_of(in);
  if (!session) return std::move(session).error();
  if (!*session) return std::nullopt;
  const ClientSession::Facts& facts = (*session)->facts();
  // A client that leaves the field out has agreed on it before.
  if (in.http.headers.get("MCP-Protocol-Version") && call.revision != facts.revision) {
    return write(id, error_reply(400, mcp::code::kHeaderMismatch,
                                 "MCP-Protocol-Version: must be the session's"));
  }
  call.revision = facts.revision;
  call.client = facts.capabilities;
  call.session = std::move(*session);
  return std::nullopt;
}

base::Task<http::Response> Endpoint::request(Incoming in, mcp::Request message) const {
  auto meta = mcp::read_meta(message.params);
  if (!meta) {
    co_return write(message.id, error_reply(400, meta.error().code, meta.error().message));
  }
  // The one request that is made before a revision is agreed on.
  bool opens = message.method == method::kInitialize && meta->version.empty() &&
               !is_stateless(in) && services_.dispatcher.serves_sessions();
  Call call;
  if (!opens) {
    auto revision = revision_of(in.http.headers, *meta, services_.dispatcher);
    if (!revision) co_return write(message.id, std::move(revision).error());
    call.revision = *revision;
  }
  bool stateless = !opens && mcp::is_stateless(call.revision);
  if (stateless) {
    auto fields = check_fields(in.http.headers, message);
    if (!fields) co_return write(message.id, std::move(fields).error());
    call.client = *meta->client_capabilities;
  }
  bool listens = stateless && message.method == method::kListen;
  if (opens || listens) {
    if (auto taken = services_.pipeline.take(*in.caller); !taken) {
      co_return write(message.id, fault_reply(taken.error()));
    }
  }
  if (opens) co_return initialize(in, message);
  if (listens) {
    auto filter = services_.dispatcher.listen_filter(message.params, *in.caller, call.client);
    if (!filter) co_return write(message.id, std::move(filter).error());
    if (!in.accepts.events) co_return plain_error(406, "Accept: must have text/event-stream");
    co_return open_listening(services_, {in.loop, in.caller, in.http.peer}, message.id,
                             std::move(*filter));
  }
  if (!stateless) {
    if (auto refused = join_session(in, message.id, call)) co_return std::move(*refused);
  }
  call.request = std::move(message);
  call.meta = std::move(*meta);
  co_return co_await run(std::move(in), std::move(call));
}

base::Task<http::Response> Endpoint::run(Incoming in, Call call) const {
  auto running = std::make_shared<Running>();
  running->id = call.request.id;
  running->feed = std::make_shared<Feed>(in.loop);
  bool can_ask = in.accepts.events && call.session && !mcp::is_stateless(call.revision);
  auto questions = can_ask ? Exchange::Questions::kToClient : Exchange::Questions::kNone;
  running->exchange = std::make_shared<Exchange>(running->feed, call.session, questions);
  running->feed->on_gone = [weak = std::weak_ptr(running->exchange)] {
    if (auto exchange = weak.lock()) exchange->cancel();
  };
  call.caller = in.caller;
  call.peer = in.http.peer;
  call.wanted = in.wanted;
  call.side = running->exchange;
  // The work outlives a handler that is cut off, and tells nobody then.
  running->exchange->start(running->id,
                           services_.dispatcher.run(std::make_shared<const Call>(std::move(call))),
                           [weak = std::weak_ptr(running)](Reply reply) {
                             if (auto waiting = weak.lock()) waiting->done(std::move(reply));
                           });
  auto deadline =
      in.accepts.events ? steady_clock::now() + options().patience : base::Deadline::max();
  while (!running->reply && (running->feed->empty() || !in.accepts.events)) {
    while (!in.accepts.events && !running->feed->empty()) (void)running->feed->take();
    if (!co_await running->feed->wait(deadline))
      co_return plain_error(503, "the server is stopping");
    if (steady_clock::now() >= deadline) break;
  }
  bool whole = running->reply && (running->feed->empty() || !in.accepts.events);
  if (whole && in.accepts.json) co_return write(running->id, std::move(*running->reply));
  running->streams = true;
  if (running->reply) {
    running->feed->push(write_reply(running->id, *running->reply));
    running->feed->end();
  }
  http::Response response = events_response();
  response.stream = [running, keep_alive = options().keep_alive](http::ByteStream& stream,
                                                                 std::string_view) {
    return serve_events(running, stream, keep_alive);
  };
  co_return response;
}

http::Response Endpoint::write(const std::optional<mcp::RequestId>& id, Reply reply) const {
  unsigned status = reply.status;
  std::string scope = std::move(reply.wanted_scope);
  std::string text = id ? write_reply(*id, std::move(reply))
                        : mcp::write(mcp::ErrorAnswer{{}, std::move(reply.body).error()});
  auto response = text_response(status, std::move(text));
  if (status == 403 && !scope.empty()) {
    response.headers.add("WWW-Authenticate", insufficient_scope(scope, access()));
  }
  return response;
}

base::Task<http::Response> serve(std::shared_ptr<const Endpoint> endpoint,
                                 base::RequestContext context, http::Request request) {
  co_return co_await endpoint->answer(context, std::move(request));
}

}  // namespace

std::size_t body_bytes_of(const http::Request& head, std::string_view path, std::size_t most) {
  return head.path() == path && head.headers.get("Authorization") ? most : 0;
}

bool is_for_mcp(std::string_view path, const AccessOptions& options) {
  return path == options.path || is_metadata_path(path, options);
}

http::Handler make_http_endpoint(HttpServices services) {
  auto endpoint = std::make_shared<const Endpoint>(std::move(services));
  return [endpoint](base::RequestContext context, http::Request request) {
    return serve(endpoint, context, std::move(request));
  };
}

}  // namespace tool::mcp_ingress
