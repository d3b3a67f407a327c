#include "toolserver/federation/peer_calls.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <tuple>
#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "toolserver/federation/proof/forwarding.h"

namespace tool::federation {
namespace {

namespace asio = boost::asio;
namespace json = base::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRetry{1'000};
constexpr milliseconds kBetweenSteps{20};  // Of progress that is told.
constexpr std::size_t kNoteBytes = 1'024;
constexpr std::size_t kEnvelopeBytes = 8 << 10;
constexpr milliseconds kMostDeadline{300'000};
constexpr milliseconds kLastWord{100};

std::optional<double> number_in(const json::Object& object, std::string_view name) {
  const auto* value = object.if_contains(boost::json::string_view(name.data(), name.size()));
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

// Steps that are told too often are passed over, and so is a note that is too long.
std::function<void(const json::Object&)> steps_to(Progress progress) {
  if (!progress) return {};
  auto told = std::make_shared<steady_clock::time_point>();
  return [told, progress = std::move(progress)](const json::Object& payload) {
    auto now = steady_clock::now();
    auto done = number_in(payload, "done");
    if (!done || now - *told < kBetweenSteps) return;
    *told = now;
    std::string note;
    const auto* words = payload.if_contains("note");
    if (words != nullptr && words->is_string() && words->get_string().size() <= kNoteBytes) {
      note = words->get_string();
    }
    progress(*done, number_in(payload, "total"), std::move(note));
  };
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

}  // namespace

// One call on its way: what is sent, once or more often.
struct PeerCalls::Forwarding {
  Invocation call;
  std::string tool;  // As the node names it.
  std::size_t output_bytes = 0;
  std::string key;  // As it is told there; empty for none.
  Progress progress;
  steady_clock::time_point began;
  steady_clock::time_point until;           // Of the call.
  std::shared_ptr<PeerAnswer> answer = {};  // To what was sent last.

  [[nodiscard]] milliseconds left() const {
    return std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
  }
  // Since the key was first sent to the node.
  [[nodiscard]] milliseconds age() const {
    auto here = std::chrono::ceil<milliseconds>(steady_clock::now() - began);
    return std::max(call.idem.age + here, milliseconds(1));
  }
};

PeerCalls::PeerCalls(std::string node_id, CallParts parts, asio::any_io_executor loop)
    : node_id_(std::move(node_id)), parts_(std::move(parts)), loop_(std::move(loop)) {}

void PeerCalls::use(std::shared_ptr<client::Link> link) {
  link_ = std::move(link);
  if (!link_) return;
  for (auto* timer : waiting_) timer->cancel();
}

void PeerCalls::end() {
  ended_ = true;
  for (auto* timer : waiting_) timer->cancel();
}

base::Task<bool> PeerCalls::await_link(steady_clock::time_point until) {
  asio::steady_timer timer(loop_, until);
  auto place = waiting_.insert(waiting_.end(), &timer);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  waiting_.erase(place);
  co_return woken && !ended_ && !co_await is_cancelled();
}

Fault PeerCalls::not_connected() const {
  Fault fault = refuse(Code::kBusy, "node " + node_id_ + " is not connected just now");
  fault.retry_after = kRetry;
  return fault;
}

void PeerCalls::look_after_silence(const Fault& fault) const {
  if (fault.code == Code::kTimeout) parts_.on_silence();
}

Outcome<client::Link::Sending> PeerCalls::prepare(const client::Link& link, Forwarding& what,
                                                  Send which) const {
  auto left = what.left();
  if (left < milliseconds(1)) return refuse(Code::kTimeout, "the deadline has passed");
  std::string session(link.session().ready().session_id.text());
  auto proofs = take_step(*parts_.keys, what.call, {node_id_, what.tool, session, parts_.max_hops},
                          parts_.clock.now(), parts_.random);
  if (!proofs) return std::move(proofs).error();
  client::Link::Sending sending;
  sending.op = session::Op::kForward;
  sending.payload["tool"] = what.tool;
  sending.payload["stream"] = true;
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
      written->size() + kEnvelopeBytes > link.session().welcome().limits.message_bytes) {
    return refuse(Code::kLimit, "the arguments are too large for node " + node_id_);
  }
  Meta meta;
  meta.deadline = left;
  meta.traceparent = what.call.traceparent;
  sending.meta = std::move(meta);
  sending.patience = left;
  sending.progress = steps_to(what.progress);
  // What came of it over a link that was lost is of no use.
  what.answer = std::make_shared<PeerAnswer>(what.output_bytes);
  sending.chunk = [answer = what.answer](const json::Object& payload) {
    return answer->take_chunk(payload);
  };
  return sending;
}

base::Task<Outcome<ToolResult>> PeerCalls::call_once(Forwarding what) {
  auto link = link_;
  if (!link || !link->usable()) co_return not_connected();
  auto sending = prepare(*link, what, Send::kFirst);
  if (!sending) co_return std::move(sending).error();
  auto answer = co_await link->call(std::move(*sending));
  if (answer) co_return what.answer->finish(std::move(*answer));
  if (what.answer->fault()) co_return *what.answer->fault();
  look_after_silence(answer.error());
  // The link was given up; the caller did not go away.
  if (answer.error().code == Code::kCancelled && !link->usable()) {
    co_return relayed(node_id_, refuse(Code::kUpstream, "the link has ended"));
  }
  co_return relayed(node_id_, std::move(answer).error());
}

// What the node says of a call that it may have got before decides nothing unless it is
// the answer or what the tool said: a refusal by a rule says that it was not done now.
base::Task<Outcome<ToolResult>> PeerCalls::call_with_key(Forwarding what) {
  // Its end is told here, and not by the deadline: that would say too much.
  what.until -= std::min(kLastWord, what.left() / 4);
  auto which = what.call.idem.age.count() > 0 ? Send::kAgain : Send::kFirst;
  for (unsigned sends = 0; sends < kSends;) {
    auto link = link_;
    if (!link || !link->usable()) {
      if (which == Send::kFirst) co_return not_connected();
      if (!co_await await_link(what.until)) break;
      continue;
    }
    auto sending = prepare(*link, what, which);
    if (!sending && which == Send::kFirst) co_return std::move(sending).error();
    if (!sending) break;
    ++sends;
    auto answer = co_await link->call(std::move(*sending));
    if (answer) co_return what.answer->finish(std::move(*answer));
    if (what.answer->fault()) co_return *what.answer->fault();
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
    if (ended_ || co_await is_cancelled()) break;
  }
  if (co_await is_cancelled()) co_return refuse(Code::kCancelled, "cancelled");
  co_return refuse(Code::kInternal,
                   "node " + node_id_ + ": whether the call did its work is not known");
}

base::Task<Outcome<ToolResult>> PeerCalls::call(Invocation call, FarTool tool, Progress progress) {
  co_await asio::this_coro::throw_if_cancelled(false);
  auto now = steady_clock::now();
  auto until = std::min(call.context.deadline, now + kMostDeadline);
  std::string key = key_there(call);
  Forwarding what{.call = std::move(call),
                  .tool = std::move(tool.name),
                  .output_bytes = std::min(tool.output_bytes, parts_.output_bytes()),
                  .key = std::move(key),
                  .progress = std::move(progress),
                  .began = now,
                  .until = until};
  if (what.key.empty()) co_return co_await call_once(std::move(what));
  co_return co_await call_with_key(std::move(what));
}

}  // namespace tool::federation
