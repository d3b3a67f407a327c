#include "toolserver/federation/peer.h"

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "toolserver/federation/peer_connector.h"
#include "toolserver/federation/proof/forwarding.h"
#include "toolserver/federation/proof/link_proof.h"

namespace tool::federation {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTick{500};
constexpr milliseconds kConnectTime{5'000};
constexpr milliseconds kRetry{1'000};
constexpr milliseconds kBetweenSteps{20};  // Of progress that is told.
constexpr std::size_t kPages = 64;
constexpr std::int64_t kPageTools = 200;
constexpr std::size_t kNoteBytes = 1'024;
constexpr std::size_t kEnvelopeBytes = 8 << 10;
constexpr milliseconds kMostDeadline{300'000};
constexpr milliseconds kLastWord{100};

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

std::optional<double> number_in(const json::Object& object, std::string_view name) {
  const auto* value = object.if_contains(boost::json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

Fault not_connected(const std::string& node_id) {
  Fault fault = refuse(Code::kBusy, "node " + node_id + " is not connected just now");
  fault.retry_after = kRetry;
  return fault;
}

// The caller's own words for the act stay here. The tool's id here is the way there: by
// another way it is another act, with a key of its own.
std::string key_there(const Invocation& call) {
  if (call.idem.key.empty()) return {};
  auto digest = base::crypto::sha256(std::string("scp3 idem") + '\0' + call.tool.text() + '\0' +
                                     call.idem.key);
  return base::crypto::to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

base::Task<bool> is_cancelled() {
  auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
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
  link_.reset();
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
  if (ends() || link_) return;
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
  if (link_) link_->abort();
  if (retired_) retired_->abort();
  cancel_.emit(asio::cancellation_type::all);
  take_out();
}

void Peer::take_out() {
  parts_.registry.expect_no_more(node_id_);
  if (offered_) parts_.registry.remove(*offered_);
  if (wake_) wake_->cancel();
  tell_waiting();
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
  etag_.clear();  // So that the whole list comes, with the node's proof.
  drains_ = false;
  deaf_.reset();
  ask_now_ = true;
  link->on_end([weak = weak_from_this()] {
    if (auto self = weak.lock(); self && self->wake_) self->wake_->cancel();
  });
  std::string reason = co_await watch(link);
  link_.reset();
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
      if (!link_) {
        parts_.log.info("federation: connected", {{"node", node_id_}});
        reported_end_.clear();
        link_ = link;
        away_ = hurry_ = false;
        tell_waiting();
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
  co_return link->usable() ? "the node is elsewhere, or gone" : "the connection has ended";
}

// Asks for a list that is another than that of `etag`, until there is one. The answer is a
// bell: the list itself is read by watch().
base::Task<void> Peer::listen(std::shared_ptr<client::Link> link, std::string etag) {
  auto self = shared_from_this();
  bool is_unchanged = true;
  std::optional<Fault> fault;
  while (is_unchanged && !ends() && link_ == link) {
    auto asked = steady_clock::now();
    json::Object payload{{"etag", etag}, {"limit", 1}, {"wait_ms", kListen.count()}};
    auto answer = co_await ask_without_exception(link, std::move(payload));
    if (!answer) fault = std::move(answer).error();
    is_unchanged = answer && answer->contains("unchanged");
    if (answer && steady_clock::now() < asked + kShortestPause) {
      std::ignore = co_await await_link(asked + kShortestPause);
    }
  }
  if (listening_ == link) listening_.reset();
  if (link_ != link) co_return;
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

// Numbers of a node that tells too much are passed over, and one that does not
// stop is cut off.
std::function<void(const json::Object&)> Peer::events_to(
    Progress progress, const std::shared_ptr<client::Link>& link) const {
  struct Heard {
    std::size_t count = 0;
    steady_clock::time_point told;
  };
  auto heard = std::make_shared<Heard>();
  return [heard, progress = std::move(progress), link](const json::Object& payload) {
    if (++heard->count > kEvents) return link->abort();
    auto now = steady_clock::now();
    auto done = number_in(payload, "done");
    if (!progress || !done || now - heard->told < kBetweenSteps) return;
    heard->told = now;
    auto note = text_in(payload, "note").value_or("");
    if (note.size() > kNoteBytes) note.clear();
    progress(*done, number_in(payload, "total"), std::move(note));
  };
}

// One call on its way: what is sent, once or more often.
struct Peer::Forwarding {
  Invocation call;
  std::string tool;  // As the node names it.
  std::string key;   // As it is told there; empty for none.
  steady_clock::time_point began;
  steady_clock::time_point until;  // Of the call.

  [[nodiscard]] milliseconds left() const {
    return std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
  }
  // Since the key was first sent to the node.
  [[nodiscard]] milliseconds age() const {
    auto here = std::chrono::ceil<milliseconds>(steady_clock::now() - began);
    return std::max(call.idem.age + here, milliseconds(1));
  }
};

void Peer::tell_waiting() {
  for (auto* timer : waiting_) timer->cancel();
}

// Until the link changes, or `until`. False: the caller went away, the time is over, or
// this node has given the other one up.
base::Task<bool> Peer::await_link(steady_clock::time_point until) {
  asio::steady_timer timer(loop_, until);
  auto place = waiting_.insert(waiting_.end(), &timer);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  waiting_.erase(place);
  co_return woken && !ends() && !co_await is_cancelled();
}

Outcome<client::Link::Sending> Peer::prepare(const std::shared_ptr<client::Link>& link,
                                             Forwarding& what, Send which, Progress progress) {
  auto left = what.left();
  if (left < milliseconds(1)) return refuse(Code::kTimeout, "the deadline has passed");
  std::string session = session_of(*link);
  auto proofs = take_step(*parts_.keys, what.call, {node_id_, what.tool, session, parts_.max_hops},
                          parts_.clock.now(), parts_.random);
  if (!proofs) return std::move(proofs).error();
  client::Link::Sending sending;
  sending.op = session::Op::kForward;
  sending.payload["tool"] = what.tool;
  auto& args = sending.payload["args"];
  if (what.key.empty()) {
    args = std::move(what.call.args);
  } else {
    args = what.call.args;
    sending.payload["idem"] = what.key;
    if (which == Send::kAgain) sending.payload["again_ms"] = what.age().count();
  }
  if (what.call.dry_run) sending.payload["dry_run"] = true;
  auto& list = sending.payload["proofs"].emplace_array();
  for (const auto& proof : *proofs) list.emplace_back(proof);
  // A message that is too large would end the link, and with it the calls of others.
  auto written = json::canonical(sending.payload);
  if (!written ||
      written->size() + kEnvelopeBytes > link->session().welcome().limits.message_bytes) {
    return refuse(Code::kLimit, "the arguments are too large for node " + node_id_);
  }
  Meta meta;
  meta.deadline = left;
  meta.traceparent = what.call.traceparent;
  sending.meta = std::move(meta);
  sending.patience = left;
  sending.progress = events_to(std::move(progress), link);
  return sending;
}

// A call that waited in vain: does the node still answer?
void Peer::look_after_silence(const Fault& fault) {
  if (fault.code != Code::kTimeout) return;
  ask_now_ = true;
  if (wake_) wake_->cancel();
}

base::Task<Outcome<ToolResult>> Peer::call_once(Forwarding what, Progress progress) {
  auto link = link_;
  if (!link || !link->usable()) co_return not_connected(node_id_);
  auto sending = prepare(link, what, Send::kFirst, std::move(progress));
  if (!sending) co_return std::move(sending).error();
  auto answer = co_await link->call(std::move(*sending));
  if (answer) co_return read_reply(std::move(*answer));
  look_after_silence(answer.error());
  // The link was given up; the caller did not go away.
  if (answer.error().code == Code::kCancelled && !link->usable()) {
    co_return relayed(node_id_, refuse(Code::kUpstream, "the link has ended"));
  }
  co_return relayed(node_id_, std::move(answer).error());
}

// What the node says of a call that it may have got before decides nothing unless it is
// the answer or what the tool said: a refusal by a rule says that it was not done now.
base::Task<Outcome<ToolResult>> Peer::call_with_key(Forwarding what, Progress progress) {
  // Its end is told here, and not by the deadline: that would say too much.
  what.until -= std::min(kLastWord, what.left() / 4);
  auto which = what.call.idem.age.count() > 0 ? Send::kAgain : Send::kFirst;
  for (unsigned sends = 0; sends < kSends;) {
    auto link = link_;
    if (!link || !link->usable()) {
      if (which == Send::kFirst) co_return not_connected(node_id_);
      if (!co_await await_link(what.until)) break;
      continue;
    }
    auto sending = prepare(link, what, which, progress);
    if (!sending && which == Send::kFirst) co_return std::move(sending).error();
    if (!sending) break;
    ++sends;
    auto answer = co_await link->call(std::move(*sending));
    if (answer) co_return read_reply(std::move(*answer));
    Fault fault = std::move(answer).error();
    if (!link->usable() && !co_await is_cancelled()) {
      which = Send::kAgain;
      continue;
    }
    look_after_silence(fault);
    if (fault.code == Code::kInternal) break;
    bool is_told = fault.code == Code::kUpstream || fault.code == Code::kCancelled;
    if (which == Send::kFirst || is_told) co_return relayed(node_id_, std::move(fault));
    if (fault.code != Code::kBusy && fault.code != Code::kRate) break;
    // It runs there still, or there is no room to say so.
    auto next = steady_clock::now() + std::min(fault.retry_after.value_or(kRetry), kRetry);
    if (next >= what.until) break;
    std::ignore = co_await await_link(next);
    if (ends() || co_await is_cancelled()) break;
  }
  if (co_await is_cancelled()) co_return refuse(Code::kCancelled, "cancelled");
  co_return refuse(Code::kInternal,
                   "node " + node_id_ + ": whether the call did its work is not known");
}

base::Task<Outcome<ToolResult>> Peer::call(Invocation call, std::string tool, Progress progress) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto now = steady_clock::now();
  auto until = std::min(call.context.deadline, now + kMostDeadline);
  std::string key = key_there(call);
  Forwarding what{std::move(call), std::move(tool), std::move(key), now, until};
  if (what.key.empty()) co_return co_await call_once(std::move(what), std::move(progress));
  co_return co_await call_with_key(std::move(what), std::move(progress));
}

}  // namespace tool::federation
