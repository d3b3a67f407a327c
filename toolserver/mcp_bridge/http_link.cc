#include "toolserver/mcp_bridge/http_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/core/loopback.h"
#include "base/http/stream_client.h"
#include "base/runtime/task_group.h"
#include "toolserver/mcp/framing.h"
#include "toolserver/pipeline/within.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;
namespace http = base::http;
using std::chrono::steady_clock;

constexpr std::size_t kStep = 64 << 10;

Fault broken(std::string detail) {
  Fault fault = refuse(Code::kUpstream, "the tool's server gave no usable answer");
  fault.detail = std::move(detail);
  return fault;
}

Fault fault_of(const base::Error& error) {
  if (error.kind() == base::ErrorKind::kTimeout) {
    return refuse(Code::kTimeout, "the tool's server did not answer in time");
  }
  if (error.kind() == base::ErrorKind::kTooLarge) {
    return refuse(Code::kLimit, "the answer of the tool's server is too large");
  }
  return broken(error.message());
}

bool is_type(const http::Headers& headers, std::string_view wanted) {
  std::string type(headers.get("Content-Type").value_or(""));
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.pop_back();
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::tolower(c); });
  return type == wanted;
}

// Visible ASCII. Source: MCP 2025-11-25, "Session Management".
bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= 512 &&
         std::ranges::all_of(id, [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_local(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == "localhost" || base::is_loopback_address(host);
}

}  // namespace

struct HttpLink::State : std::enable_shared_from_this<State> {
  State(HttpLinkOptions wanted, LinkEvents to, http::Origin origin, std::string path,
        const asio::any_io_executor& loop)
      : options(std::move(wanted)), events(std::move(to)), target(std::move(path)), tasks(loop) {
    http::ClientOptions client_options;
    client_options.connections = kWaiting + 4;
    client_options.header_bytes = 16 << 10;
    client_options.body_bytes = 64 << 20;
    client_options.response_time = options.timeout;
    client_options.ca_file = options.ca_file;
    client = http::StreamClient::create(std::move(origin), client_options);
  }

  HttpLinkOptions options;
  LinkEvents events;
  std::string target;
  std::unique_ptr<http::StreamClient> client;
  base::TaskGroup tasks;
  mcp::Revision revision = mcp::kNewest;
  bool has_agreed = false;
  std::string session;  // Of the older era.
  std::size_t asking = 0;
  Meter meter;
  bool is_closed = false;

  void end(std::string reason) {
    if (is_closed) return;
    is_closed = true;
    if (events.closed) events.closed(std::move(reason));
  }

  [[nodiscard]] http::ClientRequest post(std::string text, const mcp::Request* request) const;
  base::Task<Outcome<Reply>> exchange(mcp::Request request);
  base::Task<Outcome<Reply>> read_stream(http::BodyStream body, mcp::RequestId id);
  base::Task<Outcome<std::string>> read_whole(http::BodyStream body, std::size_t most);
  base::Task<Outcome<Reply>> read_refusal(unsigned status, http::BodyStream body,
                                          mcp::RequestId id);
  Outcome<std::optional<Reply>> take(const std::string& text, const mcp::RequestId& id,
                                     std::size_t& requests);
  static base::Task<void> send_alone(std::shared_ptr<State> state, std::string text);
};

http::ClientRequest HttpLink::State::post(std::string text, const mcp::Request* request) const {
  http::ClientRequest out;
  out.method = http::Method::kPost;
  out.target = target;
  out.headers.add("Content-Type", "application/json");
  out.headers.add("Accept", "application/json, text/event-stream");
  bool begins = request != nullptr && request->method == mcp::method::kInitialize;
  if (!begins && (has_agreed || mcp::is_stateless(revision))) {
    out.headers.add("MCP-Protocol-Version", std::string(mcp::name(revision)));
  }
  if (request != nullptr && !begins && mcp::is_stateless(revision)) {
    out.headers.add("Mcp-Method", request->method);
    const auto* name = request->params.if_contains("name");
    if (name != nullptr && name->is_string()) {
      out.headers.add("Mcp-Name", mcp::encode_header(std::string_view(name->get_string())));
    }
  }
  if (!session.empty()) out.headers.add("Mcp-Session-Id", session);
  for (const auto& [name, value] : options.headers) out.headers.add(name, value.reveal());
  out.body = http::Body(std::move(text));
  return out;
}

base::Task<Outcome<std::string>> HttpLink::State::read_whole(http::BodyStream body,
                                                             std::size_t most) {
  std::string text;
  std::array<char, 4096> part{};
  while (body.source) {
    auto got = co_await body.source->read(part);
    if (!got) co_return fault_of(got.error());
    if (*got == 0) break;
    text.append(part.data(), *got);
    if (text.size() > most) {
      co_return refuse(Code::kLimit, "the answer of the tool's server is too large");
    }
  }
  co_return text;
}

// The answer, where this message is it.
Outcome<std::optional<Reply>> HttpLink::State::take(const std::string& text,
                                                    const mcp::RequestId& id,
                                                    std::size_t& requests) {
  auto message = mcp::parse_message(text, kServerMessage);
  if (!message) return broken("what it sends is no message: " + message.error().error.message);
  if (auto* answer = std::get_if<mcp::Answer>(&*message)) {
    if (answer->id != id) return broken("it answers another request");
    return std::optional<Reply>(std::move(answer->result));
  }
  if (auto* error = std::get_if<mcp::ErrorAnswer>(&*message)) {
    if (error->id && *error->id != id) return broken("it answers another request");
    return std::optional<Reply>(Reply(std::unexpected(std::move(error->error))));
  }
  if (!meter.take(text.size(), true, steady_clock::now())) return broken("it sends too much");
  if (auto* request = std::get_if<mcp::Request>(&*message)) {
    if (++requests > kRequests) return broken("it asks too much of us");
    tasks.spawn(send_alone(shared_from_this(), answer_to(*request)));
  } else if (events.notified) {
    events.notified(std::get<mcp::Notification>(*message));
  }
  return std::optional<Reply>();
}

base::Task<Outcome<Reply>> HttpLink::State::read_stream(http::BodyStream body, mcp::RequestId id) {
  mcp::EventReader reader(kServerMessage.bytes);
  std::vector<char> part(kStep);
  std::size_t events_seen = 0;
  std::size_t requests = 0;
  while (body.source) {
    auto got = co_await body.source->read(part);
    if (!got) co_return fault_of(got.error());
    if (*got == 0) break;
    auto found = reader.feed(std::string_view(part.data(), *got));
    if (!found) co_return fault_of(found.error());
    for (const auto& event : *found) {
      if (event.data.empty()) continue;
      if (++events_seen > kEvents) co_return broken("its answer has too many events");
      auto taken = take(event.data, id, requests);
      if (!taken) co_return std::move(taken).error();
      if (*taken) co_return std::move(**taken);
    }
  }
  co_return broken("its stream ended without an answer");
}

// An error may say more than its status: another revision, an unknown method.
base::Task<Outcome<Reply>> HttpLink::State::read_refusal(unsigned status, http::BodyStream body,
                                                         mcp::RequestId id) {
  if (status == 404 && !session.empty()) end("the server has ended the session");
  auto text = co_await read_whole(std::move(body), 64 << 10);
  auto reason = broken(fmt::format("HTTP status {}", status));
  if (!text) co_return reason;
  auto message = mcp::parse_message(*text, kServerMessage);
  if (!message) co_return reason;
  auto* error = std::get_if<mcp::ErrorAnswer>(&*message);
  if (error == nullptr || (error->id && *error->id != id)) co_return reason;
  co_return Reply(std::unexpected(std::move(error->error)));
}

base::Task<Outcome<Reply>> HttpLink::State::exchange(mcp::Request request) {
  auto self = shared_from_this();
  auto sent = post(mcp::write(request), &request);
  auto answer = co_await client->send({}, std::move(sent), {});
  if (!answer) co_return fault_of(answer.error());
  auto& head = answer->head;
  if (head.status != 200) {
    co_return co_await read_refusal(head.status, std::move(answer->body), request.id);
  }
  if (request.method == mcp::method::kInitialize) {
    auto id = head.headers.get("Mcp-Session-Id");
    if (id && !is_session_id(*id)) co_return broken("its session id is not visible ASCII");
    if (id) session = std::string(*id);
  }
  if (is_type(head.headers, "text/event-stream")) {
    co_return co_await read_stream(std::move(answer->body), request.id);
  }
  if (!is_type(head.headers, "application/json")) {
    co_return broken("its answer is neither JSON nor a stream of events");
  }
  auto text = co_await read_whole(std::move(answer->body), kServerMessage.bytes);
  if (!text) co_return std::move(text).error();
  std::size_t requests = 0;
  auto taken = take(*text, request.id, requests);
  if (!taken) co_return std::move(taken).error();
  if (!*taken) co_return broken("its answer is no answer");
  co_return std::move(**taken);
}

base::Task<void> HttpLink::State::send_alone(std::shared_ptr<State> state, std::string text) {
  base::RequestContext context;
  context.deadline = steady_clock::now() + std::chrono::seconds(10);
  auto answer = co_await state->client->send(context, state->post(std::move(text), nullptr), {});
  // What it says to that changes nothing: it is 202, or the server's trouble.
  if (answer) (void)co_await state->read_whole(std::move(answer->body), 4096);
}

base::Result<std::unique_ptr<HttpLink>> HttpLink::create(HttpLinkOptions options, LinkEvents events,
                                                         asio::any_io_executor loop) {
  std::string_view url = options.url;
  std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos ||
      url.find_first_of("#?@ \r\n\t\\") != std::string_view::npos) {
    return base::fail(base::ErrorKind::kInvalid, "url: not a URL of http or https");
  }
  std::size_t path = url.find('/', scheme + 3);
  ASSIGN_OR_RETURN(auto origin, http::Origin::parse(url.substr(0, path)));
  if (!origin.encrypted && !is_local(origin.host)) {
    return base::fail(base::ErrorKind::kForbidden, "url: plaintext to another machine");
  }
  std::string target(path == std::string_view::npos ? "/" : url.substr(path));
  auto state = std::make_shared<State>(std::move(options), std::move(events), std::move(origin),
                                       std::move(target), loop);
  return std::unique_ptr<HttpLink>(new HttpLink(std::move(state)));
}

HttpLink::~HttpLink() { close(); }

void HttpLink::speak(mcp::Revision revision) {
  state_->revision = revision;
  state_->has_agreed = true;
}

void HttpLink::close() {
  state_->is_closed = true;
  state_->events = {};
}

base::Task<void> HttpLink::finish() {
  auto state = state_;
  co_await state->tasks.wait();
}

base::Task<Outcome<Reply>> HttpLink::ask(mcp::Request request, base::Deadline deadline) {
  auto state = state_;
  if (state->is_closed) co_return broken("closed");
  if (state->asking >= kWaiting) {
    co_return refuse(Code::kBusy, "the tool's server has too much to do");
  }
  ++state->asking;
  bool needs_word = !mcp::is_stateless(state->revision);
  mcp::RequestId id = request.id;
  auto reply = co_await pipeline::within(deadline, state->exchange(std::move(request)));
  --state->asking;
  bool was_left =
      !reply && (reply.error().code == Code::kTimeout || reply.error().code == Code::kCancelled);
  // A stateless server sees its stream closed; the older era has to be told.
  if (was_left && needs_word && !state->is_closed) {
    base::json::Object params{{"requestId", mcp::to_json(id)}, {"reason", "cancelled"}};
    state->tasks.spawn(State::send_alone(
        state, mcp::write(mcp::Notification{std::string(mcp::method::kCancelled), params})));
  }
  co_return reply;
}

base::Task<void> HttpLink::tell(mcp::Notification notification, base::Deadline) {
  co_await State::send_alone(state_, mcp::write(notification));
}

}  // namespace tool::bridge
