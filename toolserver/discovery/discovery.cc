#include "toolserver/discovery/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

namespace tool::discovery {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{10'000};  // For an answer that does not wait for a change.
constexpr milliseconds kLastWord{2'000};
constexpr std::size_t kToldMost = 1'024;

std::string reason_of(const base::Error& error) {
  return error.detail().empty() ? error.message() : error.message() + ": " + error.detail();
}

std::string names_of(const Nodes& nodes) {
  std::string out;
  for (const auto& [node, ways] : nodes) out += (out.empty() ? "" : " ") + node;
  return out;
}

}  // namespace

Discovery::Discovery(Options options, std::shared_ptr<Source> source,
                     std::shared_ptr<Announcer> announcer, Parts parts, Use use)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      use_(std::move(use)),
      nodes_(parts_.metrics.gauge("securetool_discovery_nodes",
                                  "Nodes whose address the discovery server gave.")),
      up_(parts_.metrics.gauge("securetool_discovery_up",
                               "Whether the discovery server answered when it was last asked.")),
      partial_(parts_.metrics.gauge("securetool_discovery_partial",
                                    "Whether the last answer of the discovery server hid nodes.")),
      answers_(parts_.metrics.counter("securetool_discovery_answers_total",
                                      "Answers of the discovery server.")),
      failures_(parts_.metrics.counter("securetool_discovery_failures_total",
                                       "Times that the discovery server gave no answer.")),
      source_(std::move(source)),
      announcer_(std::move(announcer)),
      look_timer_(thread_.loop(0)),
      announce_timer_(thread_.loop(0)) {
  auto start = [this](base::Task<void> task, asio::cancellation_signal& cancel) {
    running_.push_back(
        asio::co_spawn(thread_.loop(0), std::move(task),
                       asio::bind_cancellation_slot(cancel.slot(), asio::use_future)));
  };
  start(look(), cancel_look_);
  if (announcer_) start(announce(), cancel_announce_);
}

Discovery::~Discovery() {
  asio::post(thread_.loop(0), [this] {
    stopping_ = true;
    cancel_look_.emit(asio::cancellation_type::all);
    cancel_announce_.emit(asio::cancellation_type::all);
    look_timer_.cancel();
    announce_timer_.cancel();
  });
  for (auto& one : running_) one.wait();
  // Their connections belong to the loop.
  asio::post(thread_.loop(0), [this] {
    source_.reset();
    announcer_.reset();
  });
  thread_.join();
}

// Between the half and the whole: many nodes that lost one server do not come back at
// the same moment.
milliseconds Discovery::jittered(milliseconds time) {
  std::array<std::byte, 2> bytes{};
  parts_.random.fill(bytes);
  auto part = std::to_integer<int>(bytes[0]) << 8 | std::to_integer<int>(bytes[1]);
  return time / 2 + time * part / (2 * 65'536);
}

base::Task<void> Discovery::pause(asio::steady_timer& timer, milliseconds time) {
  if (stopping_) co_return;
  timer.expires_after(time);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

base::Task<void> Discovery::look() {
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!stopping_) {
    base::RequestContext context;
    context.deadline = Steady::now() + options_.interval + kPatience;
    auto found = co_await source_->next(context, options_.interval);
    if (stopping_) break;
    milliseconds wait = kShortestPause;
    if (found) {
      take(std::move(*found));
    } else {
      wait = take_failure(found.error());
    }
    co_await pause(look_timer_, wait);
  }
}

void Discovery::take(Found found) {
  answers_.add();
  up_.set(1);
  answered_ = Steady::now();
  pause_ = kFirstPause;
  if (!std::exchange(told_failure_, {}).empty()) {
    parts_.log.info("discovery: the server answers again", {{"method", options_.method}});
  }
  if (told_left_out_.size() > kToldMost) told_left_out_.clear();
  for (const auto& left : found.left_out) {
    if (!told_left_out_.insert(left.what + '\n' + left.why).second) continue;
    parts_.log.warning("discovery: an entry is left out",
                       {{"method", options_.method}, {"entry", left.what}, {"reason", left.why}});
  }
  for (const auto& [node, ways] : found.nodes) named_[node] = answered_;
  complete(found);
  std::erase_if(named_, [&](const auto& one) { return !found.nodes.contains(one.first); });
  publish(std::move(found.nodes));
}

// Of an answer that is partial: a node that it does not name may be gone, or hidden from us.
void Discovery::complete(Found& found) {
  partial_.set(found.partial.empty() ? 0 : 1);
  std::string told = std::exchange(told_partial_, found.partial);
  if (found.partial.empty()) return;
  Nodes given_up;
  for (const auto& [node, ways] : in_force_) {
    if (found.nodes.contains(node)) continue;
    bool stays = answered_ - named_[node] < options_.keep;
    (stays ? found.nodes : given_up).emplace(node, ways);
  }
  if (told != found.partial) {
    parts_.log.warning("discovery: the answer is not whole; nodes that it does not name stay",
                       {{"method", options_.method},
                        {"reason", found.partial},
                        {"nodes", names_of(found.nodes)},
                        {"for_ms", options_.keep.count()}});
  }
  if (!given_up.empty()) {
    parts_.log.error("discovery: nodes that the server has not named for long are given up",
                     {{"method", options_.method}, {"nodes", names_of(given_up)}});
  }
}

// How long to wait before the server is asked again.
milliseconds Discovery::take_failure(const base::Error& error) {
  failures_.add();
  up_.set(0);
  auto left = std::chrono::duration_cast<milliseconds>(answered_ + options_.keep - Steady::now());
  std::string reason = reason_of(error);
  if (reason != told_failure_) {
    parts_.log.warning("discovery: no answer; the last known nodes stay",
                       {{"method", options_.method},
                        {"reason", reason},
                        {"nodes", names_of(in_force_)},
                        {"for_ms", std::max(left, milliseconds(0)).count()}});
    told_failure_ = std::move(reason);
  }
  if (left <= milliseconds(0) && !in_force_.empty()) {
    parts_.log.error("discovery: the last answer is too old; its nodes are given up",
                     {{"method", options_.method}, {"nodes", names_of(in_force_)}});
    publish({});
  }
  milliseconds wait = jittered(std::exchange(pause_, std::min(pause_ * 2, kLongestPause)));
  // On time for the end of what is kept.
  return in_force_.empty() ? wait : std::clamp(left, kShortestPause, wait);
}

void Discovery::publish(Nodes nodes) {
  nodes_.set(static_cast<std::int64_t>(nodes.size()));
  if (nodes == in_force_) return;
  parts_.log.info("discovery: the nodes have changed",
                  {{"method", options_.method}, {"nodes", names_of(nodes)}});
  in_force_ = std::move(nodes);
  use_(in_force_);
}

base::Task<void> Discovery::announce() {
  co_await asio::this_coro::throw_if_cancelled(false);
  std::string told;
  while (!stopping_) {
    base::RequestContext context;
    context.deadline = Steady::now() + std::min(kPatience, options_.lifetime);
    auto renewed = co_await announcer_->renew(context);
    if (stopping_) break;
    std::string reason = renewed ? "" : reason_of(renewed.error());
    if (!renewed && reason != told) {
      parts_.log.warning("discovery: this node could not be announced",
                         {{"method", options_.method}, {"reason", reason}});
    }
    told = std::move(reason);
    co_await pause(announce_timer_,
                   renewed ? options_.lifetime / 3 : jittered(milliseconds(2'000)));
  }
  co_await withdraw();
}

base::Task<void> Discovery::withdraw() {
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  base::RequestContext context;
  context.deadline = Steady::now() + kLastWord;
  auto gone = co_await announcer_->withdraw(context);
  if (!gone) {
    parts_.log.warning("discovery: this node is still announced, until its time is over",
                       {{"method", options_.method}, {"reason", reason_of(gone.error())}});
  }
}

}  // namespace tool::discovery
