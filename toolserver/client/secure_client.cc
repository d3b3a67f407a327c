#include "toolserver/client/secure_client.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/jose/shared_call.h"
#include "toolserver/client/link.h"

namespace tool::client {

namespace json = base::json;

constexpr int kMaxPages = 1000;  // Of a list of capabilities.
// Between two attempts to find a lost connection's call again; each is twice the last.
constexpr std::chrono::milliseconds kLeastPause{100};
constexpr std::chrono::milliseconds kMostPause{2'000};

// Shared with the connection that is being made, which may outlive the client.
struct SecureClient::State : std::enable_shared_from_this<SecureClient::State> {
  State(ClientOptions given, const base::Clock& c, base::Random& r)
      : options(std::move(given)), clock(c), random(r) {}

  using Opened = Outcome<std::shared_ptr<Link>>;

  /// The link to use now: the open one, or a new one when that is allowed.
  base::Task<Opened> usable_link() {
    if (link && link->usable()) co_return link;
    if (!link || options.reconnect == Reconnect::kNever) {
      co_return refuse(Code::kUpstream, "not connected");
    }
    co_return co_await connect();
  }

  /// A new link. Callers at the same time share one.
  base::Task<Opened> connect() {
    auto self = shared_from_this();
    auto loop = co_await boost::asio::this_coro::executor;
    if (!connecting) connecting.emplace(loop);
    auto joined = co_await connecting->join(base::Deadline::max(), [self] { return open(self); });
    if (!joined) co_return to_fault(std::move(joined).error());
    if (failure) co_return *failure;
    if (!link) co_return refuse(Code::kCancelled, "the client disconnects");
    co_return link;
  }

  static base::Task<void> open(std::shared_ptr<State> self) {
    auto loop = co_await boost::asio::this_coro::executor;
    self->failure.reset();
    if (!self->tokens) {
      auto made = TokenSource::create(loop, self->options, self->clock);
      if (!made) {
        self->failure = std::move(made).error();
        co_return;
      }
      self->tokens = std::move(*made);
    }
    auto opened = co_await self->dial();
    if (!opened) {
      self->failure = std::move(opened).error();
      co_return;
    }
    auto old = std::exchange(self->link, std::move(*opened));
    if (old) old->retire();
    if (self->abandoned) self->link->abort();
  }

  /// A connection that follows one that was lost shows the session's token; where
  /// that is not taken, the credential, as every other.
  base::Task<Opened> dial() {
    auto self = shared_from_this();
    if (can_follow()) {
      auto following = options;
      following.session.former_session = base::Secret(link->session().ready().session_token);
      auto opened = co_await Link::open(std::move(following), tokens, clock, random);
      bool is_refused =
          !opened && (opened.error().code == Code::kAuth || opened.error().code == Code::kExpired);
      if (!is_refused) co_return opened;
    }
    co_return co_await Link::open(options, tokens, clock, random);
  }

  // Once the session stood: its key and token are there from then on.
  [[nodiscard]] bool can_follow() const {
    if (!link || link->usable() || !options.session.session_key) return false;
    const auto& methods = link->session().welcome().methods;
    return std::ranges::count(methods, name(Method::kSession)) > 0 &&
           clock.now() < link->session().ready().expires_at;
  }

  /// Another link than `expired`, whose calls under way still get their answers.
  base::Task<Opened> renew(std::shared_ptr<Link> expired) {
    if (link && link != expired && link->usable()) co_return link;
    if (!link) co_return refuse(Code::kUpstream, "not connected");
    co_return co_await connect();
  }

  base::Task<Outcome<json::Object>> call(Link::Sending sending) {
    auto self = shared_from_this();
    auto used = co_await usable_link();
    if (!used) co_return std::move(used).error();
    auto answer = co_await (*used)->call(sending);
    bool expired = !answer && answer.error().code == Code::kExpired;
    if (!expired || !can_renew()) co_return answer;
    auto renewed = co_await renew(std::move(*used));
    if (!renewed) {
      Code code = renewed.error().code;
      spent = !tokens && (code == Code::kExpired || code == Code::kAuth);
      co_return std::move(renewed).error();
    }
    co_return co_await (*renewed)->call(std::move(sending));
  }

  /// A call with a key: sent again when its connection was lost, on a new one,
  /// until the server says what became of it or its time is over.
  base::Task<Outcome<json::Object>> call_until_known(Link::Sending sending) {
    auto self = shared_from_this();
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    auto loop = co_await boost::asio::this_coro::executor;
    auto by = std::chrono::steady_clock::now() + sending.patience;
    bool was_lost = false;
    auto pause = kLeastPause;
    while (true) {
      auto answer = co_await call(sending);
      if (answer || !link || options.reconnect == Reconnect::kNever) co_return answer;
      Code code = answer.error().code;
      bool is_lost = !link->usable() && (code == Code::kUpstream || code == Code::kTimeout);
      was_lost = was_lost || is_lost;
      if (!is_lost && !(was_lost && code == Code::kBusy)) co_return answer;
      auto wait = is_lost ? pause : answer.error().retry_after.value_or(kMostPause);
      auto now = std::chrono::steady_clock::now();
      auto left = std::chrono::floor<std::chrono::milliseconds>(by - now);
      if (left <= wait) co_return answer;
      pause = std::min(2 * pause, kMostPause);
      sending.patience = left - wait;
      boost::asio::steady_timer timer(loop, wait);
      boost::system::error_code woken;
      co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
      if (woken) co_return refuse(Code::kCancelled, "the caller went away");
    }
  }

  // The session's token may have ended before that of the options, which is
  // shown again until it is refused.
  [[nodiscard]] bool can_renew() const {
    return options.reconnect == Reconnect::kForCalls && !spent;
  }

  const ClientOptions options;
  const base::Clock& clock;
  base::Random& random;
  std::shared_ptr<Link> link;
  std::shared_ptr<TokenSource> tokens;
  std::optional<base::jose::SharedCall> connecting;  // From the first connect() on.
  std::optional<Fault> failure;                      // Of the last attempt.
  bool abandoned = false;                            // The client is gone.
  bool spent = false;                                // The only token there is was refused.
};

SecureClient::SecureClient(std::shared_ptr<State> state) : state_(std::move(state)) {}

SecureClient::~SecureClient() {
  state_->abandoned = true;
  if (state_->link) state_->link->abort();
}

base::Result<std::unique_ptr<SecureClient>> SecureClient::create(ClientOptions options,
                                                                 const base::Clock& clock,
                                                                 base::Random& random) {
  RETURN_IF_ERROR(check(options));
  if (!options.holder_key_file.empty()) {
    ASSIGN_OR_RETURN(options.session.holder, read_holder_key(options.holder_key_file));
  }
  if (options.reconnect == Reconnect::kForCalls && options.session.method != Method::kNode) {
    options.session.session_key =
        base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  }
  return std::unique_ptr<SecureClient>(
      new SecureClient(std::make_shared<State>(std::move(options), clock, random)));
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
  auto all = co_await list_capabilities(nullptr);
  if (!all) co_return std::move(all).error();
  co_return (*all)->records;
}

base::Task<Outcome<std::shared_ptr<const CapabilityList>>> SecureClient::list_capabilities(
    std::shared_ptr<const CapabilityList> known) {
  auto all = std::make_shared<CapabilityList>();
  json::Object page;
  if (known) page["etag"] = known->etag;
  for (int pages = 0; pages < kMaxPages; ++pages) {
    auto answer = co_await call(session::Op::kCapList, std::move(page));
    if (!answer) co_return std::move(answer).error();
    const auto* same = answer->if_contains("unchanged");
    if (known && pages == 0 && same != nullptr && *same == json::Value(true)) co_return known;
    const auto* etag = answer->if_contains("etag");
    if (etag == nullptr || !etag->is_string()) {
      co_return refuse(Code::kShape, "etag: must be a text");
    }
    if (!all->etag.empty() && all->etag != etag->get_string()) {
      // The list has changed between two pages, and is asked for again.
      *all = CapabilityList();
      page = {};
      continue;
    }
    all->etag = etag->get_string();
    const auto* list = answer->if_contains("capabilities");
    if (list == nullptr || !list->is_array()) {
      co_return refuse(Code::kShape, "capabilities: must be an array");
    }
    for (const auto& one : list->get_array()) {
      if (!one.is_object()) co_return refuse(Code::kShape, "capabilities: must hold objects");
      all->records.push_back(one.get_object());
    }
    const auto* next = answer->if_contains("next");
    if (next == nullptr) co_return std::shared_ptr<const CapabilityList>(std::move(all));
    page = {{"cursor", *next}};
  }
  co_return refuse(Code::kLimit, "the server lists more pages of tools than a client reads");
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
  bool has_key = !options.idempotency_key.empty();
  if (has_key) sending.payload["idem"] = options.idempotency_key;
  auto work =
      has_key ? state_->call_until_known(std::move(sending)) : state_->call(std::move(sending));
  auto payload = co_await std::move(work);
  if (!payload) co_return std::move(payload).error();
  co_return read_reply(std::move(*payload));
}

base::Task<Outcome<json::Object>> SecureClient::call(session::Op op, json::Object payload) {
  Link::Sending sending;
  sending.op = op;
  sending.payload = std::move(payload);
  co_return co_await state_->call(std::move(sending));
}

base::Task<Outcome<json::Object>> SecureClient::outcome_of(const Ulid& id) {
  json::Object payload{{"id", std::string(id.text())}};
  co_return co_await call(session::Op::kOutcome, std::move(payload));
}

base::Task<Outcome<json::Object>> SecureClient::flow_run(FlowRun flow) {
  Link::Sending sending;
  sending.op = session::Op::kFlowRun;
  sending.payload = {{"run", std::string(flow.run.text())}};
  if (flow.workflow) sending.payload["workflow"] = std::move(*flow.workflow);
  if (!flow.input.is_null()) sending.payload["input"] = std::move(flow.input);
  sending.patience = flow.patience;
  sending.progress = std::move(flow.progress);
  co_return co_await state_->call_until_known(std::move(sending));
}

base::Task<Outcome<json::Object>> SecureClient::flow_get(const Ulid& run) {
  json::Object payload{{"run", std::string(run.text())}};
  co_return co_await call(session::Op::kFlowGet, std::move(payload));
}

base::Task<Outcome<json::Object>> SecureClient::flow_cancel(const Ulid& run) {
  json::Object payload{{"run", std::string(run.text())}};
  co_return co_await call(session::Op::kFlowCancel, std::move(payload));
}

std::string SecureClient::session_id() const {
  return state_->link ? std::string(state_->link->session().ready().session_id.text()) : "";
}

base::Task<Outcome<void>> SecureClient::rekey() {
  auto used = co_await state_->usable_link();
  if (!used) co_return std::move(used).error();
  co_return co_await (*used)->rekey();
}

base::Task<void> SecureClient::disconnect() {
  auto state = state_;
  if (state->connecting) co_await state->connecting->wait();
  auto link = std::exchange(state->link, nullptr);
  if (link) co_await link->close();
  if (state->tokens) co_await state->tokens->wait();
}

}  // namespace tool::client
