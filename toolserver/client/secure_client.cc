#include "toolserver/client/secure_client.h"

#include <utility>

#include "toolserver/client/link.h"

namespace tool::client {

namespace json = base::json;

struct SecureClient::State {
  State(ClientOptions given, const base::Clock& c, base::Random& r)
      : options(std::move(given)), clock(c), random(r) {}

  /// The link to use now: the open one, or a new one when that is allowed.
  base::Task<Outcome<std::shared_ptr<Link>>> usable_link() {
    if (link && link->usable()) co_return link;
    if (!link || options.reconnect == Reconnect::kNever) {
      co_return refuse(Code::kUpstream, "not connected");
    }
    co_return co_await connect();
  }

  base::Task<Outcome<std::shared_ptr<Link>>> connect() {
    auto opened = co_await Link::open(options, clock, random);
    if (opened) link = *opened;
    co_return opened;
  }

  base::Task<Outcome<json::Object>> call(Link::Sending sending) {
    auto used = co_await usable_link();
    if (!used) co_return std::move(used).error();
    co_return co_await (*used)->call(std::move(sending));
  }

  const ClientOptions options;
  const base::Clock& clock;
  base::Random& random;
  std::shared_ptr<Link> link;
};

SecureClient::SecureClient(std::unique_ptr<State> state) : state_(std::move(state)) {}

SecureClient::~SecureClient() {
  if (state_->link) state_->link->abort();
}

base::Result<std::unique_ptr<SecureClient>> SecureClient::create(ClientOptions options,
                                                                 const base::Clock& clock,
                                                                 base::Random& random) {
  RETURN_IF_ERROR(check(options));
  return std::unique_ptr<SecureClient>(
      new SecureClient(std::make_unique<State>(std::move(options), clock, random)));
}

base::Task<Outcome<SessionInfo>> SecureClient::connect() {
  auto link = co_await state_->connect();
  if (!link) co_return std::move(link).error();
  const auto& session = (*link)->session();
  SessionInfo info;
  info.session_id = session.ready().session_id.text();
  info.node_id = session.welcome().node_id;
  info.cluster = session.welcome().cluster;
  info.suite = session.welcome().suite;
  info.subject = session.ready().subject;
  info.scopes = session.ready().scopes;
  co_return info;
}

base::Task<Outcome<std::vector<json::Object>>> SecureClient::list_capabilities() {
  std::vector<json::Object> all;
  json::Object page;
  while (true) {
    auto answer = co_await call(session::Op::kCapList, std::move(page));
    if (!answer) co_return std::move(answer).error();
    const auto* list = answer->if_contains("capabilities");
    if (list == nullptr || !list->is_array()) {
      co_return refuse(Code::kShape, "capabilities: must be an array");
    }
    for (const auto& one : list->get_array()) {
      if (!one.is_object()) co_return refuse(Code::kShape, "capabilities: must hold objects");
      all.push_back(one.get_object());
    }
    const auto* next = answer->if_contains("next");
    if (next == nullptr) co_return all;
    page = {{"cursor", *next}};
  }
}

namespace {

Outcome<ToolReply> read_reply(json::Object payload) {
  ToolReply reply;
  const auto* content = payload.if_contains("content");
  const auto* is_error = payload.if_contains("is_error");
  if (content == nullptr || !content->is_array()) {
    return refuse(Code::kShape, "content: must be an array");
  }
  if (is_error == nullptr || !is_error->is_bool()) {
    return refuse(Code::kShape, "is_error: must be a boolean");
  }
  reply.content = content->get_array();
  reply.is_error = is_error->get_bool();
  if (const auto* structured = payload.if_contains("structured")) reply.structured = *structured;
  reply.payload = std::move(payload);
  return reply;
}

}  // namespace

base::Task<Outcome<ToolReply>> SecureClient::invoke_tool(std::string tool, json::Object args,
                                                         InvokeOptions options) {
  Link::Sending sending;
  sending.op = session::Op::kInvoke;
  sending.payload = {{"tool", tool}, {"args", std::move(args)}};
  if (options.dry_run) sending.payload["dry_run"] = true;
  sending.meta.emplace();
  sending.meta->deadline = options.deadline;
  sending.meta->traceparent = std::move(options.traceparent);
  // The server ends the call at the deadline; its answer needs time to come.
  sending.patience = options.deadline + std::chrono::seconds(5);
  sending.progress = std::move(options.progress);
  auto payload = co_await state_->call(std::move(sending));
  if (!payload) co_return std::move(payload).error();
  co_return read_reply(std::move(*payload));
}

base::Task<Outcome<json::Object>> SecureClient::call(session::Op op, json::Object payload) {
  Link::Sending sending;
  sending.op = op;
  sending.payload = std::move(payload);
  co_return co_await state_->call(std::move(sending));
}

base::Task<Outcome<void>> SecureClient::rekey() {
  auto used = co_await state_->usable_link();
  if (!used) co_return std::move(used).error();
  co_return co_await (*used)->rekey();
}

base::Task<void> SecureClient::disconnect() {
  auto link = std::exchange(state_->link, nullptr);
  if (link) co_await link->close();
}

}  // namespace tool::client
