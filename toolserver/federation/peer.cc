#include "toolserver/federation/peer.h"

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "toolserver/federation/peer_connector.h"
#include "toolserver/federation/proof/link_proof.h"

namespace tool::federation {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTick{500};
constexpr milliseconds kConnectTime{5'000};
constexpr std::size_t kPages = 64;
constexpr std::int64_t kPageTools = 200;

std::string text_of(const Fault& fault) {
  return fault.detail.empty() ? fault.message : fault.message + ": " + fault.detail;
}

Fault no_list(std::string detail) {
  Fault fault = refuse(Code::kUpstream, "the node's list is not one");
  fault.detail = std::move(detail);
  return fault;
}

std::optional<std::string> text_in(const json::Object& object, std::string_view name) {
  const auto* value = object.if_contains(boost::json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

std::string session_of(const client::Link& link) {
  return std::string(link.session().ready().session_id.text());
}

}  // namespace

Peer::Peer(std::string node_id, client::ClientOptions options, std::vector<discovery::Way> ways,
           PeerParts parts, asio::any_io_executor loop)
    : node_id_(std::move(node_id)),
      options_(std::move(options)),
      ways_(std::move(ways)),
      parts_(std::move(parts)),
      loop_(std::move(loop)),
      wake_(loop_),
      calls_(node_id_, call_parts(), loop_),
      pins_(node_id_, parts_.pins, parts_.clock, parts_.log),
      tasks_(loop_) {
  parts_.registry.expect(node_id_);
  options_.connect_time = kConnectTime;
  auto& session = options_.session;
  session.method = Method::kNode;
  session.node_id = node_id_;
  session.node_credential = [keys = parts_.keys, to = node_id_, &clock = parts_.clock,
                             &random = parts_.random](const base::crypto::Digest& th1) {
    // One that cannot be made is one that is refused.
    return node_credential(*keys, to, th1, clock.now(), random).value_or(std::string());
  };
}

CallParts Peer::call_parts() {
  return {.keys = parts_.keys,
          .clock = parts_.clock,
          .random = parts_.random,
          .max_hops = parts_.max_hops,
          .output_bytes = parts_.output_bytes,
          .on_silence = [this] {
            ask_now_ = true;
            if (wake_) wake_->cancel();
          }};
}

base::Task<void> Peer::pause(milliseconds time) {
  wake_->expires_after(time);
  boost::system::error_code woken;
  co_await wake_->async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

base::Task<void> Peer::run() {
  auto self = shared_from_this();
  co_await asio::this_coro::throw_if_cancelled(false);
  milliseconds wait = kFirstPause;
  while (!ends()) {
    auto began = steady_clock::now();
    std::string reason = co_await serve_without_exception();
    if (ends()) break;
    if (std::exchange(moved_, false)) {
      wait = kFirstPause;
      continue;
    }
    if (steady_clock::now() - began > kLongestPause) wait = kFirstPause;
    // Once for each reason: a node may be away for long.
    if (reason != reported_end_) {
      parts_.log.warning("federation: the node is not there",
                         {{"node", node_id_}, {"reason", reason}, {"again_ms", wait.count()}});
      reported_end_ = std::move(reason);
    }
    if (!hurry_) co_await pause(jittered(wait));
    auto rest = std::chrono::ceil<milliseconds>(tried_ + kShortestPause - steady_clock::now());
    if (hurry_ && !moved_ && rest > milliseconds(0)) co_await pause(rest);
    // Elsewhere, or as it says itself, it may be there already.
    bool is_new = std::exchange(moved_, false) || std::exchange(hurry_, false);
    wait = is_new ? kFirstPause : std::min(wait * 2, kLongestPause);
  }
  co_await await_last_calls();
  co_await end(std::exchange(retired_, nullptr));
  co_await tasks_->wait();
  tasks_.reset();
  wake_.reset();
}

// What a library throws costs this link, like a fault of the node.
base::Task<std::string> Peer::serve_without_exception() {
  std::string reason;
  try {
    co_return co_await serve_once();
  } catch (const std::exception& e) {
    reason = e.what();
  }
  calls_.use(nullptr);
  away_ = true;
  co_return reason;
}

milliseconds Peer::jittered(milliseconds time) {
  std::array<std::byte, 2> bytes{};
  parts_.random.fill(bytes);
  auto part = std::to_integer<int>(bytes[0]) << 8 | std::to_integer<int>(bytes[1]);
  return time / 2 + time * part / (2 * 65'536);
}

base::Task<void> Peer::await_last_calls() {
  auto until = steady_clock::now() + kLastCalls;
  while (!stopping_ && retired_ && retired_->usable() && steady_clock::now() < until) {
    co_await pause(kTick);
  }
}

void Peer::go_by(std::vector<discovery::Way> ways) {
  ways_ = std::move(ways);
  attempts_ = 0;
  if (std::ranges::find(ways_, way_) != ways_.end()) return;
  moved_ = true;
  if (wake_) wake_->cancel();
}

void Peer::hurry() {
  if (ends() || calls_.link()) return;
  hurry_ = true;
  if (wake_) wake_->cancel();
}

void Peer::leave() {
  if (ends()) return;
  leaving_ = true;
  take_out();
}

void Peer::stop() {
  stopping_ = true;
  open_ = false;
  if (calls_.link()) calls_.link()->abort();
  if (retired_) retired_->abort();
  cancel_.emit(asio::cancellation_type::all);
  take_out();
}

void Peer::take_out() {
  parts_.registry.expect_no_more(node_id_);
  // It holds this node, as this holds it.
  if (auto offered = std::exchange(offered_, nullptr)) parts_.registry.remove(*offered);
  if (wake_) wake_->cancel();
  calls_.end();
}

// Why it ended; one link from its beginning.
base::Task<std::string> Peer::serve_once() {
  moved_ = false;
  tried_ = steady_clock::now();
  way_ = ways_[attempts_++ % ways_.size()];
  options_.url = way_.url;
  options_.address = way_.address;
  // Who answers there has the node's key, or is shown nothing of ours: not the
  // credential, and not our name. A reload may have brought another key.
  options_.session.server_keys.clear();
  if (auto key = parts_.keys->handshake_key(node_id_)) {
    options_.session.server_keys.push_back(std::move(*key));
  }
  auto opened = co_await client::Link::open(options_, nullptr, parts_.clock, parts_.random);
  if (!opened) co_return text_of(opened.error());
  auto link = std::move(*opened);
  link->limit_events(PeerCalls::kEvents);
  etag_.clear();  // So that the whole list comes, with the node's proof.
  drains_ = false;
  deaf_.reset();
  ask_now_ = true;
  link->on_end([weak = weak_from_this()] {
    if (auto self = weak.lock(); self && self->wake_) self->wake_->cancel();
  });
  std::string reason = co_await watch(link);
  calls_.use(nullptr);
  away_ = true;
  if ((drains_ || leaving_ || moved_) && !stopping_) {
    co_await end(std::exchange(retired_, link));
    link->retire();
  } else {
    co_await end(std::move(link));
  }
  co_return reason;
}

base::Task<void> Peer::end(std::shared_ptr<client::Link> link) {
  if (!link) co_return;
  link->abort();
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await link->close();
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
}

base::Task<std::string> Peer::watch(std::shared_ptr<client::Link> link) {
  while (!ends() && !moved_ && link->usable()) {
    if (std::exchange(ask_now_, false)) {
      auto read = co_await read_list(link);
      if (!read) {
        drains_ = read.error().code == Code::kBusy;
        co_return text_of(read.error());
      }
      if (!calls_.link()) {
        parts_.log.info("federation: connected", {{"node", node_id_}});
        reported_end_.clear();
        away_ = hurry_ = false;
        calls_.use(link);
      }
      if (!ends() && std::exchange(listening_, link) != link) {
        tasks_->spawn(listen(link, etag_));
      }
    } else if (deaf_) {
      drains_ = deaf_->code == Code::kBusy;
      co_return text_of(*deaf_);
    } else if (pins_.has_changed()) {
      co_await offer();
    }
    // What is in a file by an operator's command is looked for; all else wakes this.
    if (!ends() && !moved_ && !ask_now_ && !deaf_ && link->usable()) co_await pause(kTick);
  }
  if (link->usable()) co_return "the node is elsewhere, or gone";
  co_return link->failure() ? text_of(*link->failure()) : "the connection has ended";
}

// Asks for a list that is another than that of `etag`, until there is one. The answer is a
// bell: the list itself is read by watch().
base::Task<void> Peer::listen(std::shared_ptr<client::Link> link, std::string etag) {
  auto self = shared_from_this();
  bool is_unchanged = true;
  std::optional<Fault> fault;
  while (is_unchanged && !ends() && calls_.link() == link) {
    auto asked = steady_clock::now();
    json::Object payload{{"etag", etag}, {"limit", 1}, {"wait_ms", kListen.count()}};
    auto answer = co_await ask_without_exception(link, std::move(payload));
    if (!answer) fault = std::move(answer).error();
    is_unchanged = answer && answer->contains("unchanged");
    if (answer && steady_clock::now() < asked + kShortestPause) {
      std::ignore = co_await calls_.await_link(asked + kShortestPause);
    }
  }
  if (listening_ == link) listening_.reset();
  if (calls_.link() != link) co_return;
  if (fault) {
    deaf_ = std::move(fault);
  } else {
    ask_now_ = true;
  }
  if (wake_) wake_->cancel();
}

base::Task<Outcome<json::Object>> Peer::ask_without_exception(std::shared_ptr<client::Link> link,
                                                              json::Object payload) {
  Fault fault = no_list("an exception");
  try {
    co_return co_await ask(link, std::move(payload), kListen + kPatience);
  } catch (const std::exception& e) {
    fault.detail = e.what();
  }
  co_return fault;
}

base::Task<Outcome<json::Object>> Peer::ask(std::shared_ptr<client::Link> link,
                                            json::Object payload, milliseconds patience) {
  client::Link::Sending sending;
  sending.op = session::Op::kForwardCaps;
  sending.payload = std::move(payload);
  sending.patience = patience;
  co_return co_await link->call(std::move(sending));
}

// Adds the records of a page. Every page comes with the proof of the node, and
// all pages are of one list.
Outcome<void> Peer::take_page(const json::Object& page, const std::string& session,
                              json::Array& records, std::string& etag) const {
  auto proof = text_in(page, "proof");
  if (!proof) return no_list("proof");
  auto proved = verify_peer_proof(*parts_.keys, *proof, node_id_, session, parts_.clock.now());
  if (!proved) return proved;
  auto of = text_in(page, "etag");
  const auto* found = page.if_contains("capabilities");
  if (!of || found == nullptr || !found->is_array()) return no_list("capabilities");
  if (!etag.empty() && *of != etag) return no_list("it changed while it was read");
  etag = std::move(*of);
  for (const auto& record : found->get_array()) records.push_back(record);
  if (records.size() > 2 * kFarTools) return no_list("too many tools");
  return {};
}

base::Task<Outcome<void>> Peer::read_list(std::shared_ptr<client::Link> link) {
  json::Array records;
  std::string etag;
  std::string cursor;
  std::size_t bytes = 0;
  for (std::size_t pages = 0; pages < kPages; ++pages) {
    json::Object payload;
    payload["limit"] = kPageTools;
    if (!etag_.empty()) payload["etag"] = etag_;
    if (!cursor.empty()) payload["cursor"] = cursor;
    auto page = co_await ask(link, std::move(payload), kPatience);
    if (!page) co_return std::move(page).error();
    if (page->contains("unchanged") && !etag_.empty()) co_return Outcome<void>();
    bytes += json::write(*page).size();
    if (bytes > kListBytes) co_return no_list("over 4 MiB");
    auto taken = take_page(*page, session_of(*link), records, etag);
    if (!taken) co_return taken;
    auto next = text_in(*page, "next");
    if (!next) {
      tools_ = read_tools(node_id_, parts_.keys->node_id(), records);
      co_await offer();
      etag_ = std::move(etag);
      co_return Outcome<void>();
    }
    if (*next == cursor) co_return no_list("a page that comes again");
    cursor = std::move(*next);
  }
  co_return no_list("too many pages");
}

base::Task<void> Peer::offer() {
  auto trust = co_await pins_.see(tools_.usable);
  // The pool, which cannot be cancelled, has left it so.
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
  if (ends()) co_return;
  auto next = std::make_shared<PeerConnector>(shared_from_this(), tools_.usable);
  auto left_out = tools_.left_out;
  for (auto& left : parts_.registry.replace(offered_.get(), next, trust)) {
    left_out.push_back({left.id.text(), left.why.message});
  }
  offered_ = std::move(next);
  parts_.registry.expect_no_more(node_id_);
  if (reported_.size() > 2 * kFarTools) reported_.clear();
  for (const auto& left : left_out) {
    auto& before = reported_[left.name];
    if (before == left.why) continue;
    before = left.why;
    parts_.log.warning("federation: a tool is not offered",
                       {{"node", node_id_}, {"tool", left.name}, {"reason", left.why}});
  }
}

}  // namespace tool::federation
