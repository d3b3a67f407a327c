#include "toolserver/session/replay_window.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <span>
#include <unordered_map>

namespace tool::session {
namespace {

// A window is remembered in so many spans, and as many lie ahead of now: a
// message may be from a clock that is fast.
constexpr std::int64_t kSpansOfWindow = 8;
constexpr std::size_t kSlots = 2 * kSpansOfWindow + 4;

Fault stale() { return refuse(Code::kStale, "the message is outside the freshness window"); }

Fault full() {
  Fault fault = refuse(Code::kBusy, "too many messages to remember just now");
  fault.retry_after = kRetryWhenFull;
  return fault;
}

std::int64_t milliseconds(WireTime time) { return time.time_since_epoch().count(); }

}  // namespace

// Sessions do not move between shards, so one lock sees all of a session.
struct ReplayWindow::Shard {
  struct Slot {
    std::int64_t span = std::numeric_limits<std::int64_t>::min();
    std::unordered_map<Ulid, NonceSet> sessions;
  };

  std::mutex mutex;
  std::array<Slot, kSlots> slots;
  std::unordered_map<Ulid, std::size_t> counts;  ///< Of each session, in all slots.
  /// Spans before this one may have been forgotten: a clock that is set back
  /// must not bring their messages back.
  std::int64_t first_span = std::numeric_limits<std::int64_t>::min();

  /// Returns how many nonces went.
  std::size_t clear(Slot& slot) {
    std::size_t gone = 0;
    for (auto& [session, nonces] : slot.sessions) {
      gone += nonces.size();
      auto count = counts.find(session);
      count->second -= nonces.size();
      if (count->second == 0) counts.erase(count);
    }
    slot.sessions = {};
    first_span = std::max(first_span, slot.span + 1);
    return gone;
  }
};

ReplayWindow::ReplayWindow(ReplayLimits limits, base::Random& random)
    : limits_(limits),
      span_ms_(std::max<std::int64_t>(1, limits.window.count() / kSpansOfWindow)),
      shards_(std::make_unique<Shard[]>(kShards)) {
  random.fill(std::as_writable_bytes(std::span(hash_key_)));
}

ReplayWindow::~ReplayWindow() = default;

ReplayWindow::Shard& ReplayWindow::shard_of(const Ulid& session) const {
  return shards_[std::hash<Ulid>{}(session) % kShards];
}

std::int64_t ReplayWindow::span_of(WireTime time) const { return milliseconds(time) / span_ms_; }

Outcome<void> ReplayWindow::check_fresh(WireTime time, base::WallTime now) const {
  auto apart = wire_time(now) - time;
  if (apart > limits_.window || -apart > limits_.window) return stale();
  return {};
}

bool ReplayWindow::reserve() {
  if (entries_.fetch_add(1, std::memory_order_relaxed) < limits_.entries) return true;
  entries_.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

// The shard is locked.
void ReplayWindow::drop_old(Shard& shard, base::WallTime now) {
  std::int64_t first = span_of(wire_time(now) - limits_.window);
  if (shard.first_span >= first) return;
  for (auto& slot : shard.slots) {
    if (slot.span < first && !slot.sessions.empty()) {
      entries_.fetch_sub(shard.clear(slot), std::memory_order_relaxed);
    }
  }
  shard.first_span = first;
}

void ReplayWindow::sweep(base::WallTime now) {
  std::int64_t span = span_of(wire_time(now));
  if (swept_.exchange(span) == span) return;  // Nothing can have ended since.
  for (std::size_t i = 0; i < kShards; ++i) {
    std::lock_guard lock(shards_[i].mutex);
    drop_old(shards_[i], now);
  }
}

std::optional<Outcome<void>> ReplayWindow::try_admit(const Ulid& session, const MessageNonce& nonce,
                                                     WireTime time, base::WallTime now) {
  Shard& shard = shard_of(session);
  std::lock_guard lock(shard.mutex);
  drop_old(shard, now);
  std::int64_t span = span_of(time);
  auto& slot = shard.slots[static_cast<std::size_t>(span) % kSlots];
  if (span < shard.first_span || slot.span > span) return stale();
  if (slot.span < span) {
    entries_.fetch_sub(shard.clear(slot), std::memory_order_relaxed);
    slot.span = span;
  }
  NonceSet& seen = slot.sessions[session];
  if (seen.contains(nonce, hash_key_)) return refuse(Code::kReplay, "the message was seen before");
  std::size_t& count = shard.counts[session];
  bool has_share = count < std::max<std::size_t>(1, limits_.entries / 10);
  if (has_share && reserve()) {
    seen.add(nonce, hash_key_);
    ++count;
    return Outcome<void>();
  }
  if (seen.size() == 0) slot.sessions.erase(session);
  if (count == 0) shard.counts.erase(session);
  if (!has_share) return full();
  return std::nullopt;
}

Outcome<void> ReplayWindow::admit(const Ulid& session, const MessageNonce& nonce, WireTime time,
                                  base::WallTime now) {
  if (auto fresh = check_fresh(time, now); !fresh) return fresh;
  if (auto answer = try_admit(session, nonce, time, now)) return *std::move(answer);
  sweep(now);
  return try_admit(session, nonce, time, now).value_or(full());
}

void ReplayWindow::forget(const Ulid& session) {
  Shard& shard = shard_of(session);
  std::lock_guard lock(shard.mutex);
  auto count = shard.counts.find(session);
  if (count == shard.counts.end()) return;
  entries_.fetch_sub(count->second, std::memory_order_relaxed);
  shard.counts.erase(count);
  for (auto& slot : shard.slots) slot.sessions.erase(session);
}

}  // namespace tool::session
