#include "toolserver/mcp_bridge/http_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/core/loopback.h"
#include "base/http/stream_client.h"
#include "base/runtime/task_group.h"
#include "toolserver/connectors/on_loop.h"
#include "toolserver/mcp/framing.h"
#include "toolserver/pipeline/within.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;
namespace http = base::http;
using std::chrono::steady_clock;

constexpr std::size_t kStep = 64 << 10;
// A server without a stream of its own says so at once; one that says nothing
// has none for us.
constexpr std::chrono::seconds kListenTime{5};
// What a stream may still say once it has answered, and how long it may take to
// end. The connection of one that does is used again.
constexpr std::size_t kAfterAnswer = 4 << 10;
constexpr std::chrono::milliseconds kEndTime{250};

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

Outcome<mcp::Message> read_message(std::string_view text) {
  auto message = mcp::parse_message(text, kServerMessage);
  if (!message) return broken("what it sends is no message: " + message.error().error.message);
  return std::move(*message);
}

base::Task<Outcome<mcp::Message>> message_of(std::string text) { co_return read_message(text); }

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

// All fields of that name as one, which means the same.
// Source: RFC 9110, section 5.3.
std::string challenge_of(const http::Headers& headers) {
  std::string out;
  for (const auto& field : headers.fields()) {
    if (!field.is("WWW-Authenticate")) continue;
    if (!out.empty()) out += ", ";
    out += field.value;
  }
  return out;
}

// How far an answer was read that comes in several streams.
struct StreamPlace {
  std::string last_id;  // Of the last event that had one; empty where none can be sent back.
  std::optional<std::size_t> retry_ms;
  std::size_t events = 0;
  std::size_t requests = 0;
};

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
    session = options.session;
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
  std::shared_ptr<asio::cancellation_signal> hearing;  // Ends hear(), while it runs.
  bool is_closed = false;

  void end(std::string reason) {
    if (is_closed) return;
    is_closed = true;
    if (events.closed) events.closed(std::move(reason));
  }

  [[nodiscard]] http::ClientRequest post(std::string text, const mcp::Request* request) const;
  [[nodiscard]] http::ClientRequest get(const StreamPlace& place) const;
  void add_common(http::Headers& headers, bool begins) const;
  base::Task<Outcome<http::StreamedResponse>> send(http::ClientRequest request);
  base::Task<Outcome<Reply>> exchange(mcp::Request request, HeaderValues headers);
  base::Task<Outcome<Reply>> read_events(http::BodyStream body, mcp::RequestId id);
  base::Task<Outcome<std::optional<Reply>>> read_stream(http::BodyStream body,
                                                        std::optional<mcp::RequestId> id,
                                                        std::shared_ptr<StreamPlace> place);
  base::Task<Outcome<http::BodyStream>> open_stream(std::shared_ptr<StreamPlace> place);
  base::Task<Outcome<http::BodyStream>> resume(std::shared_ptr<StreamPlace> place);
  static base::Task<void> hear(std::shared_ptr<State> state, http::BodyStream body,
                               std::shared_ptr<StreamPlace> place);
  base::Task<Outcome<std::string>> read_whole(http::BodyStream body, std::size_t most);
  base::Task<Outcome<Reply>> read_refusal(unsigned status, http::BodyStream body,
                                          mcp::RequestId id);
  base::Task<Outcome<mcp::Message>> read_there(std::string text) const;
  Outcome<std::optional<Reply>> take(mcp::Message message, std::size_t bytes,
                                     const std::optional<mcp::RequestId>& id,
                                     std::size_t& requests);
  static base::Task<void> send_alone(std::shared_ptr<State> state, std::string text);
  static base::Task<void> read_end(std::shared_ptr<State> state, http::BodyStream body);
};

http::ClientRequest HttpLink::State::post(std::string text, const mcp::Request* request) const {
  http::ClientRequest out;
  out.method = http::Method::kPost;
  out.target = target;
  out.headers.add("Content-Type", "application/json");
  out.headers.add("Accept", "application/json, text/event-stream");
  bool begins = request != nullptr && request->method == mcp::method::kInitialize;
  if (request != nullptr && !begins && mcp::is_stateless(revision)) {
    out.headers.add("Mcp-Method", request->method);
    bool is_read = request->method == mcp::method::kReadResource;
    const auto* name = request->params.if_contains(is_read ? "uri" : "name");
    if (name != nullptr && name->is_string()) {
      out.headers.add("Mcp-Name", mcp::encode_header(std::string_view(name->get_string())));
    }
  }
  add_common(out.headers, begins);
  out.body = http::Body(std::move(text));
  return out;
}

http::ClientRequest HttpLink::State::get(const StreamPlace& place) const {
  http::ClientRequest out;
  out.method = http::Method::kGet;
  out.target = target;
  out.headers.add("Accept", "text/event-stream");
  if (!place.last_id.empty()) out.headers.add("Last-Event-ID", place.last_id);
  add_common(out.headers, false);
  return out;
}

void HttpLink::State::add_common(http::Headers& headers, bool begins) const {
  if (!begins && (has_agreed || mcp::is_stateless(revision))) {
    headers.add("MCP-Protocol-Version", std::string(mcp::name(revision)));
  }
  if (!session.empty()) headers.add("Mcp-Session-Id", session);
  for (const auto& [name, value] : options.headers) headers.add(name, value.reveal());
}

base::Task<Outcome<http::StreamedResponse>> HttpLink::State::send(http::ClientRequest request) {
  for (std::size_t renewals = 0;; ++renewals) {
    auto copy = request;
    base::Secret token;
    if (options.login) token = options.login->token();
    if (!token.empty()) copy.headers.add("Authorization", "Bearer " + token.reveal());
    auto answer = co_await client->send({}, std::move(copy), {});
    if (!answer) co_return fault_of(answer.error());
    unsigned status = answer->head.status;
    std::string challenge = challenge_of(answer->head.headers);
    if (!options.login || !login::is_challenge(status, challenge)) co_return std::move(*answer);
    if (renewals >= kRenewals) {
      co_return refuse(Code::kPolicy, "the tool's server refuses every token that it is sent");
    }
    login::Refusal refusal{status, std::move(challenge), std::move(token)};
    auto renewed = co_await options.login->renew(std::move(refusal), base::Deadline::max());
    if (!renewed) co_return std::move(renewed).error();
  }
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

base::Task<Outcome<mcp::Message>> HttpLink::State::read_there(std::string text) const {
  if (!options.reader || text.size() <= kReadHere) co_return read_message(text);
  co_return co_await connectors::on_loop(options.reader, message_of(std::move(text)));
}

// The answer, where this message, of so many bytes, is it.
Outcome<std::optional<Reply>> HttpLink::State::take(mcp::Message message, std::size_t bytes,
                                                    const std::optional<mcp::RequestId>& id,
                                                    std::size_t& requests) {
  if (auto* answer = std::get_if<mcp::Answer>(&message)) {
    if (answer->id != id) return broken("it answers another request");
    return std::optional<Reply>(std::move(answer->result));
  }
  if (auto* error = std::get_if<mcp::ErrorAnswer>(&message)) {
    if (!id || (error->id && error->id != id)) return broken("it answers another request");
    return std::optional<Reply>(Reply(std::unexpected(std::move(error->error))));
  }
  if (!meter.take(bytes, true, steady_clock::now())) return broken("it sends too much");
  if (auto* request = std::get_if<mcp::Request>(&message)) {
    if (++requests > kRequests) return broken("it asks too much of us");
    tasks.spawn(send_alone(shared_from_this(), answer_to(*request, events)));
  } else if (events.notified) {
    events.notified(std::get<mcp::Notification>(message));
  }
  return std::optional<Reply>();
}

// Nothing: the stream ended before the answer, from where it may be resumed.
base::Task<Outcome<std::optional<Reply>>> HttpLink::State::read_stream(
    http::BodyStream body, std::optional<mcp::RequestId> id, std::shared_ptr<StreamPlace> place) {
  mcp::EventReader reader(kServerMessage.bytes);
  std::vector<char> part(kStep);
  while (body.source) {
    auto got = co_await body.source->read(part);
    bool broke_off = !got && got.error().kind() == base::ErrorKind::kUnavailable;
    if (broke_off && !place->last_id.empty()) break;
    if (!got) co_return fault_of(got.error());
    if (*got == 0) break;
    auto found = reader.feed(std::string_view(part.data(), *got));
    if (!found) co_return fault_of(found.error());
    if (reader.retry()) place->retry_ms = reader.retry();
    for (auto& event : *found) {
      if (!event.id.empty()) place->last_id = is_session_id(event.id) ? event.id : "";
      if (++place->events > kEvents) co_return broken("its answer has too many events");
      if (event.data.empty()) continue;
      std::size_t bytes = event.data.size();
      auto message = co_await read_there(std::move(event.data));
      if (!message) co_return std::move(message).error();
      auto taken = take(std::move(*message), bytes, id, place->requests);
      if (!taken) co_return std::move(taken).error();
      if (*taken) co_return std::move(*taken);
    }
  }
  co_return std::optional<Reply>();
}

// Source: MCP 2025-11-25, "Resumability and Redelivery"; WHATWG HTML, section 9.2.3.
base::Task<Outcome<http::BodyStream>> HttpLink::State::resume(std::shared_ptr<StreamPlace> place) {
  auto longest = static_cast<std::size_t>(kLongestResumeTime.count());
  auto wait = kResumeTime;
  if (place->retry_ms) wait = std::chrono::milliseconds(std::min(*place->retry_ms, longest));
  asio::steady_timer timer(co_await asio::this_coro::executor, wait);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (woken) co_return refuse(Code::kCancelled, "cancelled");
  co_return co_await open_stream(std::move(place));
}

base::Task<Outcome<http::BodyStream>> HttpLink::State::open_stream(
    std::shared_ptr<StreamPlace> place) {
  auto request = get(*place);
  auto answer = co_await send(std::move(request));
  if (!answer) co_return std::move(answer).error();
  if (answer->head.status != 200 || !is_type(answer->head.headers, "text/event-stream")) {
    co_return broken(fmt::format("it gives no stream: HTTP status {}", answer->head.status));
  }
  co_return std::move(answer->body);
}

// What the server says without being asked, until the link closes, the server
// refuses to go on, or breaks a rule, which ends this stream alone.
base::Task<void> HttpLink::State::hear(std::shared_ptr<State> state, http::BodyStream body,
                                       std::shared_ptr<StreamPlace> place) {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state->is_closed) {
    place->events = 0;
    place->requests = 0;
    auto read = co_await state->read_stream(std::move(body), std::nullopt, place);
    bool was_silent = !read && read.error().code == Code::kTimeout;
    if (state->is_closed || (!read && !was_silent)) break;
    auto shortest = static_cast<std::size_t>(kResumeTime.count());
    place->retry_ms = std::max(place->retry_ms.value_or(0), shortest);
    auto next = co_await state->resume(place);
    if (!next) break;
    body = std::move(*next);
  }
}

// The answer that comes as events, in one stream or in several.
base::Task<Outcome<Reply>> HttpLink::State::read_events(http::BodyStream body, mcp::RequestId id) {
  auto place = std::make_shared<StreamPlace>();
  for (std::size_t resumes = 0;; ++resumes) {
    auto reply = co_await read_stream(body, id, place);
    if (!reply) co_return std::move(reply).error();
    if (*reply) {
      tasks.spawn(read_end(shared_from_this(), std::move(body)));
      co_return std::move(**reply);
    }
    bool can_resume = !mcp::is_stateless(revision) && !place->last_id.empty();
    if (!can_resume || resumes >= kResumes) co_return broken("its stream ended without an answer");
    auto next = co_await resume(place);
    if (!next) co_return std::move(next).error();
    body = std::move(*next);
  }
}

// A server closes its stream after the answer, mostly at once. Nobody reads what else it says.
base::Task<void> HttpLink::State::read_end(std::shared_ptr<State> state, http::BodyStream body) {
  co_await asio::this_coro::throw_if_cancelled(false);
  (void)co_await pipeline::within(steady_clock::now() + kEndTime,
                                  state->read_whole(std::move(body), kAfterAnswer));
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

base::Task<Outcome<Reply>> HttpLink::State::exchange(mcp::Request request, HeaderValues headers) {
  auto self = shared_from_this();
  auto sent = post(mcp::write(request), &request);
  if (mcp::is_stateless(revision)) {
    for (auto& [name, value] : headers) sent.headers.add(name, std::move(value));
  }
  auto answer = co_await send(std::move(sent));
  if (!answer) co_return std::move(answer).error();
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
    co_return co_await read_events(std::move(answer->body), request.id);
  }
  if (!is_type(head.headers, "application/json")) {
    co_return broken("its answer is neither JSON nor a stream of events");
  }
  auto text = co_await read_whole(std::move(answer->body), kServerMessage.bytes);
  if (!text) co_return std::move(text).error();
  std::size_t bytes = text->size();
  auto message = co_await read_there(std::move(*text));
  if (!message) co_return std::move(message).error();
  std::size_t requests = 0;
  auto taken = take(std::move(*message), bytes, request.id, requests);
  if (!taken) co_return std::move(taken).error();
  if (!*taken) co_return broken("its answer is no answer");
  co_return std::move(**taken);
}

base::Task<void> HttpLink::State::send_alone(std::shared_ptr<State> state, std::string text) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto request = state->post(std::move(text), nullptr);
  auto deadline = steady_clock::now() + std::chrono::seconds(10);
  auto answer = co_await pipeline::within(deadline, state->send(std::move(request)));
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

const std::string& HttpLink::session() const { return state_->session; }

void HttpLink::close() {
  state_->is_closed = true;
  if (auto hearing = std::exchange(state_->hearing, nullptr)) {
    hearing->emit(asio::cancellation_type::all);
  }
  state_->events = {};
}

base::Task<void> HttpLink::finish() {
  auto state = state_;
  co_await state->tasks.wait();
}

base::Task<Outcome<Reply>> HttpLink::ask(mcp::Request request, HeaderValues headers,
                                         base::Deadline deadline) {
  auto state = state_;
  if (state->is_closed) co_return broken("closed");
  if (state->asking >= kWaiting) {
    co_return refuse(Code::kBusy, "the tool's server has too much to do");
  }
  ++state->asking;
  bool needs_word = !mcp::is_stateless(state->revision);
  mcp::RequestId id = request.id;
  auto reply =
      co_await pipeline::within(deadline, state->exchange(std::move(request), std::move(headers)));
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

base::Task<void> HttpLink::listen(base::Deadline deadline) {
  auto state = state_;
  if (state->is_closed || mcp::is_stateless(state->revision)) co_return;
  auto place = std::make_shared<StreamPlace>();
  deadline = std::min(deadline, steady_clock::now() + kListenTime);
  auto body = co_await pipeline::within(deadline, state->open_stream(place));
  if (!body || state->is_closed) co_return;
  state->hearing = std::make_shared<asio::cancellation_signal>();
  state->tasks.spawn(State::hear(state, std::move(*body), place), state->hearing);
}

base::Task<void> HttpLink::tell(mcp::Notification notification, base::Deadline) {
  co_await State::send_alone(state_, mcp::write(notification));
}

}  // namespace tool::bridge
