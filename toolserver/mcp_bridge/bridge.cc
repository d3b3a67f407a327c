#include "toolserver/mcp_bridge/bridge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "toolserver/mcp_bridge/bridge_connector.h"
#include "toolserver/mcp_bridge/foreign_offers.h"
#include "toolserver/mcp_bridge/http_link.h"
#include "toolserver/mcp_bridge/sign_in.h"
#include "toolserver/mcp_bridge/stdio_link.h"
#include "toolserver/model/digest.h"

namespace tool::bridge {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause{500};

isolate::ChildOptions child_options(const settings::Bridge& config) {
  isolate::ChildOptions options;
  options.program = config.command.string();
  options.arguments = config.arguments;
  options.environment = config.environment;
  for (const auto& secret : config.environment_secrets) {
    options.environment.emplace_back(secret.name, secret.value.reveal());
  }
  if (!config.folder.empty()) options.folder = config.folder.string();
  auto& walls = options.walls;
  walls.memory_bytes = config.memory_bytes;
  walls.files = 256;
  walls.network = config.network ? isolate::Network::kAllowed : isolate::Network::kNone;
  walls.processes = config.processes ? isolate::Processes::kAllowed : isolate::Processes::kNone;
  if (!config.writes.empty()) walls.file_bytes = std::uint64_t{1} << 40;
  walls.places = isolate::program_places();
  walls.places.push_back({config.command.string(), isolate::Access::kRun});
  for (const auto& path : config.reads) {
    walls.places.push_back({path.string(), isolate::Access::kRead});
  }
  for (const auto& path : config.runs) {
    walls.places.push_back({path.string(), isolate::Access::kRun});
  }
  for (const auto& path : config.writes) {
    walls.places.push_back({path.string(), isolate::Access::kWrite});
  }
  return options;
}

// What a server says at its end may hold what it was given.
std::string without_secrets(const settings::Bridge& config, std::string text) {
  for (const auto& secret : config.environment_secrets) {
    const std::string& value = secret.value.reveal();
    for (auto at = text.find(value); at != std::string::npos; at = text.find(value, at)) {
      text.replace(at, value.size(), "***");
    }
  }
  return text;
}

std::string text_of(const Fault& fault) {
  return fault.detail.empty() ? fault.message : fault.message + ": " + fault.detail;
}

SessionOptions session_options(const settings::Bridge& config) {
  SessionOptions options;
  options.timeout = config.timeout;
  if (auto oldest = mcp::revision_of(config.oldest_version)) options.oldest = *oldest;
  return options;
}

}  // namespace

Bridge::Bridge(settings::Bridge config, PinStore store, std::optional<login::LoginStore> logins,
               BridgeParts parts, asio::any_io_executor loop)
    : config_(std::move(config)),
      store_(std::move(store)),
      logins_(std::move(logins)),
      parts_(std::move(parts)),
      loop_(std::move(loop)),
      wake_(loop_) {}

base::Task<void> Bridge::pause(std::chrono::milliseconds time) {
  wake_->expires_after(time);
  boost::system::error_code woken;
  co_await wake_->async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

base::Task<void> Bridge::run() {
  auto self = shared_from_this();
  co_await asio::this_coro::throw_if_cancelled(false);
  std::chrono::milliseconds wait = kFirstPause;
  while (!stopping_) {
    auto began = steady_clock::now();
    std::string reason = co_await serve_without_exception();
    if (stopping_) break;
    if (steady_clock::now() - began > kLongestPause) wait = kFirstPause;
    parts_.log.warning("bridge: the server is not there", {{"bridge", config_.name},
                                                           {"reason", reason},
                                                           {"last_words", last_words_},
                                                           {"again_ms", wait.count()}});
    last_words_.clear();
    co_await pause(wait);
    wait = std::min<std::chrono::milliseconds>(wait * 2, kLongestPause);
  }
  if (login_) {
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await login_->wait();
  }
  wake_.reset();
}

// What a library throws costs this connection, like a fault of the server.
base::Task<std::string> Bridge::serve_without_exception() {
  std::string reason;
  try {
    co_return co_await serve_once();
  } catch (const std::exception& e) {
    reason = e.what();
  }
  set_loop_sessions(nullptr);
  live_.reset();
  co_return reason;
}

void Bridge::stop() {
  stopping_ = true;
  open_ = false;
  set_loop_sessions(nullptr);
  // It holds this bridge, as this holds it.
  if (auto offered = std::exchange(offered_, nullptr)) parts_.registry.remove(*offered);
  if (live_) live_->link->close();
  cancel_.emit(asio::cancellation_type::all);
  if (wake_) wake_->cancel();
}

base::Task<base::Result<std::unique_ptr<ServerLink>>> Bridge::connect(LinkEvents events) {
  if (config_.kind == settings::BridgeKind::kHttp) {
    auto options = http_options(config_);
    if (config_.login) {
      if (!login_) {
        login::LoginParts parts{loop_, parts_.clock, random_, parts_.pool, logins_};
        CO_ASSIGN_OR_RETURN(login_, login::Login::create(login_options(config_), std::move(parts)));
      }
      CO_RETURN_IF_ERROR(co_await login_->open());
      options.login = login_;
    }
    CO_ASSIGN_OR_RETURN(auto http, HttpLink::create(std::move(options), std::move(events), loop_));
    co_return std::unique_ptr<ServerLink>(std::move(http));
  }
  auto options = child_options(config_);
  CO_ASSIGN_OR_RETURN(
      auto program, co_await StdioLink::start(std::move(options), parts_.pool, std::move(events)));
  if (!program->missing_walls().empty()) {
    parts_.log.warning("bridge: the kernel has not all walls for the program",
                       {{"bridge", config_.name},
                        {"missing", fmt::format("{}", fmt::join(program->missing_walls(), " "))}});
  }
  co_return std::unique_ptr<ServerLink>(std::move(program));
}

// Why it ended; one connection from its beginning.
base::Task<std::string> Bridge::serve_once() {
  auto live = std::make_shared<Live>();
  closed_for_.clear();
  lists_changed_ = false;
  live->unasked.lists_changed = [this] { lists_changed_ = true; };
  auto* unasked = &live->unasked;
  LinkEvents events;
  events.notified = [unasked](const mcp::Notification& one) { unasked->take(one); };
  events.closed = [this](std::string reason) {
    closed_for_ = std::move(reason);
    if (wake_) wake_->cancel();
  };
  auto link = co_await connect(std::move(events));
  if (!link) co_return link.error().message();
  live->link = std::move(*link);
  live_ = live;
  if (stopping_) live->link->close();
  SessionOptions options = session_options(config_);
  options.skip_newest = skip_newest_;
  // The pool, which cannot be cancelled, has left it so.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  auto session = co_await ServerSession::open(*live->link, live->unasked, options);
  std::string reason;
  if (session) {
    live->session = std::move(*session);
    parts_.log.info("bridge: connected",
                    {{"bridge", config_.name}, {"mcp", mcp::name(live->session->revision())}});
    open_to_loops(live);
    reason = co_await watch(live);
    set_loop_sessions(nullptr);
  } else {
    reason = text_of(session.error());
    // Some old servers end at a word that they do not know.
    if (!closed_for_.empty()) skip_newest_ = !skip_newest_;
  }
  live_.reset();
  live->link->close();
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await live->link->finish();
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  last_words_ = without_secrets(config_, live->link->last_words());
  co_return closed_for_.empty() ? reason : closed_for_;
}

// A login belongs to one loop, and so does the pipe of a program.
void Bridge::open_to_loops(const std::shared_ptr<Live>& live) {
  const auto* link = dynamic_cast<const HttpLink*>(live->link.get());
  if (link == nullptr || config_.login || stopping_) return;
  AgreedServer server;
  server.link = http_options(config_);
  server.link.session = link->session();
  server.link.reader = loop_;
  server.session = session_options(config_);
  server.revision = live->session->revision();
  server.lists_changed = [bridge = weak_from_this(), loop = loop_] {
    asio::post(loop, [bridge] {
      if (auto self = bridge.lock()) self->lists_changed_ = true;
    });
  };
  server.closed = [bridge = weak_from_this(), loop = loop_,
                   of = std::weak_ptr(live)](std::string reason) {
    asio::post(loop, [bridge, of, reason = std::move(reason)]() mutable {
      if (auto self = bridge.lock()) self->end_by(of, std::move(reason));
    });
  };
  set_loop_sessions(std::make_shared<LoopSessions>(std::move(server)));
}

// Another loop was told that `live` has ended, which may be the one before.
void Bridge::end_by(const std::weak_ptr<Live>& live, std::string reason) {
  if (!live_ || live.lock() != live_ || !closed_for_.empty()) return;
  closed_for_ = std::move(reason);
  if (wake_) wake_->cancel();
}

void Bridge::set_loop_sessions(std::shared_ptr<LoopSessions> sessions) {
  std::lock_guard held(mutex_);
  loop_sessions_.swap(sessions);
}

std::shared_ptr<LoopSessions> Bridge::loop_sessions() const {
  std::lock_guard held(mutex_);
  return loop_sessions_;
}

base::Task<std::string> Bridge::watch(std::shared_ptr<Live> live) {
  auto next_read = steady_clock::now();
  while (!stopping_ && closed_for_.empty()) {
    if (lists_changed_ || steady_clock::now() >= next_read) {
      lists_changed_ = false;
      auto read = co_await read_lists(live);
      // A list that cannot be trusted leaves no tool to be called.
      if (!read) co_return text_of(read.error());
      next_read = steady_clock::now() + kRefresh;
    } else if (store_.stamp() != stamp_) {
      co_await reread_pins();
    }
    if (!stopping_ && closed_for_.empty()) co_await pause(kTick);
  }
  co_return closed_for_;
}

// The resources and prompts of a server that cannot list them are not offered; its tools
// are all the same.
base::Task<std::vector<base::json::Value>> Bridge::list_beside(std::shared_ptr<Live> live,
                                                               Listed what) {
  auto listed = co_await live->session->list(what);
  std::string reason = listed ? std::string() : text_of(listed.error());
  auto& before = not_listed_[what];
  if (!reason.empty() && reason != before) {
    parts_.log.warning("bridge: a list is left out",
                       {{"bridge", config_.name}, {"reason", reason}});
  }
  before = reason;
  if (!listed) co_return std::vector<base::json::Value>();
  co_return std::move(*listed);
}

base::Task<Outcome<ForeignTools>> Bridge::read_offers(std::shared_ptr<Live> live) {
  ForeignTools all;
  if (config_.offers.tools) {
    CO_ASSIGN_OR_RETURN(auto tools, co_await live->session->list(Listed::kTools));
    all = read_tools(config_, tools);
  }
  if (config_.offers.prompts) {
    read_prompts(config_, co_await list_beside(live, Listed::kPrompts), all);
  }
  if (config_.offers.resources) {
    read_templates(config_, co_await list_beside(live, Listed::kTemplates), all);
    auto listed = co_await list_beside(live, Listed::kResources);
    std::string why;
    std::size_t left_out = read_resources(config_, listed, all, why);
    if (left_out > 0 && why != bad_resource_) {
      parts_.log.warning("bridge: resources are left out",
                         {{"bridge", config_.name}, {"count", left_out}, {"reason", why}});
    }
    bad_resource_ = std::move(why);
  }
  co_return all;
}

base::Task<Outcome<void>> Bridge::read_lists(std::shared_ptr<Live> live) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  CO_ASSIGN_OR_RETURN(auto offers, co_await read_offers(live));
  // What it could not list any more is not gone.
  if (!closed_for_.empty()) co_return refuse(Code::kUpstream, closed_for_);
  tools_ = std::move(offers);
  bool trust = config_.first_seen == settings::FirstSight::kTrust;
  auto pins = co_await parts_.pool.run(
      [store = store_, seen = tools_.seen, trust]() mutable { return store.see(seen, trust); });
  if (!pins) {
    parts_.log.error("bridge: the pins cannot be kept, so nothing is offered",
                     {{"bridge", config_.name}, {"error", pins.error().message()}});
    pins = PinFile{.seen = tools_.seen, .approved = {}};
  }
  stamp_ = store_.stamp();
  offer(*pins);
  co_return Outcome<void>();
}

base::Task<void> Bridge::reread_pins() {
  stamp_ = store_.stamp();
  auto pins = co_await parts_.pool.run([store = store_] { return store.read(); });
  if (!pins) {
    parts_.log.error("bridge: the pins cannot be read, so nothing is offered",
                     {{"bridge", config_.name}, {"error", pins.error().message()}});
    pins = PinFile();
  }
  pins->seen = tools_.seen;
  offer(*pins);
}

void Bridge::offer(const PinFile& pins) {
  if (stopping_) return;
  pipeline::Trust trust;
  std::string as;
  for (const auto& [id, seen] : pins.seen) {
    PinStatus status = status_of(pins, id);
    report(id, seen, status);
    as += fmt::format("{} {} {}\n", id, seen.pin, name(status));
  }
  for (const auto& one : tools_.usable) {
    if (!one.listed.empty()) as += digest(base::json::write(one.capability.listed));
  }
  if (offered_ && as == offered_as_) return;
  for (const auto& [id, approved] : pins.approved) trust.approved.emplace(id, approved.pin);
  auto next = std::make_shared<BridgeConnector>(shared_from_this(), tools_.usable);
  for (const auto& left : parts_.registry.replace(offered_.get(), next, trust)) {
    parts_.log.warning(
        "bridge: a tool is not offered",
        {{"bridge", config_.name}, {"tool", left.id.text()}, {"reason", left.why.message}});
  }
  offered_ = std::move(next);
  offered_as_ = std::move(as);
}

// Once for each pin that is not what was approved.
void Bridge::report(const std::string& id, const PinnedTool& seen, PinStatus status) {
  std::string now = fmt::format("{} {}", name(status), seen.pin);
  if (reported_.size() > 8 * ServerSession::kTools) reported_.clear();
  auto& before = reported_[id];
  if (before == now) return;
  before = std::move(now);
  if (status == PinStatus::kUnusable) {
    parts_.log.warning("bridge: a tool cannot be offered",
                       {{"bridge", config_.name}, {"tool", id}, {"reason", seen.note}});
    return;
  }
  if (status == PinStatus::kChanged) {
    parts_.log.warning("bridge: a tool has changed and waits for an approval",
                       {{"bridge", config_.name}, {"tool", id}});
  }
  parts_.record(
      "bridged_tool",
      {{"bridge", config_.name}, {"tool", id}, {"pin", seen.pin}, {"state", name(status)}});
}

Outcome<std::shared_ptr<Bridge::Live>> Bridge::connected() const {
  if (live_ && live_->session && closed_for_.empty()) return live_;
  Fault fault = refuse(Code::kBusy, "the tool's server is not connected just now");
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

base::Task<Outcome<ToolResult>> Bridge::call(ServerSession::Call call) {
  co_await asio::this_coro::throw_if_cancelled(false);
  CO_ASSIGN_OR_RETURN(auto live, connected());
  co_return co_await live->session->call(std::move(call));
}

base::Task<Outcome<ToolResult>> Bridge::fetch(ServerSession::Fetch fetch) {
  co_await asio::this_coro::throw_if_cancelled(false);
  CO_ASSIGN_OR_RETURN(auto live, connected());
  co_return co_await live->session->fetch(std::move(fetch));
}

}  // namespace tool::bridge
