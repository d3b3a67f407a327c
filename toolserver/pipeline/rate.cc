#include "toolserver/pipeline/rate.h"

#include <algorithm>

namespace tool::pipeline {
namespace {

constexpr std::chrono::milliseconds kSweepPause{100};

Fault busy(std::string message) {
  Fault fault = refuse(Code::kBusy, std::move(message));
  fault.retry_after = std::chrono::milliseconds(1'000);
  return fault;
}

}  // namespace

std::string key_of(const Principal& principal) {
  // The length keeps ("a", "bc") and ("ab", "c") apart.
  return std::to_string(principal.issuer.size()) + ':' + principal.issuer + principal.subject;
}

Outcome<RateStage::Slot> RateStage::admit(const Principal& principal, const std::string& session,
                                          Steady now) {
  if (auto taken = take_token(key_of(principal), now); !taken) return taken.error();
  auto& shard = sessions_[shard_of(session)];
  std::lock_guard held(shard.mutex);
  std::size_t& running = shard.running[session];
  if (running >= limits_.in_flight) return busy("too many calls in flight");
  ++running;
  return Slot(this, session);
}

double RateStage::refilled(const Bucket& bucket, Steady now) const {
  double seconds = std::max(0.0, std::chrono::duration<double>(now - bucket.filled).count());
  return std::min(limits_.burst, bucket.tokens + seconds * limits_.calls_per_second);
}

Outcome<void> RateStage::take_token(const std::string& key, Steady now) {
  auto& shard = buckets_[shard_of(key)];
  std::lock_guard held(shard.mutex);
  auto found = shard.of.find(key);
  if (found == shard.of.end()) {
    if (!make_room(shard, now)) return busy("too many callers");
    found = shard.of.emplace(key, Bucket{limits_.burst, now}).first;
  }
  Bucket& bucket = found->second;
  bucket.tokens = refilled(bucket, now);
  bucket.filled = std::max(bucket.filled, now);
  if (bucket.tokens < 1) {
    Fault fault = refuse(Code::kRate, "too many calls");
    fault.retry_after = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>((1 - bucket.tokens) / limits_.calls_per_second));
    return fault;
  }
  bucket.tokens -= 1;
  return {};
}

// A full bucket says nothing that a new one would not, so it can go.
bool RateStage::make_room(Buckets& shard, Steady now) const {
  if (shard.of.size() < std::max<std::size_t>(1, limits_.callers / kShards)) return true;
  if (shard.swept != Steady{} && now - shard.swept < kSweepPause) return false;
  shard.swept = now;
  return std::erase_if(shard.of, [&](const auto& entry) {
           return refilled(entry.second, now) >= limits_.burst;
         }) > 0;
}

void RateStage::release(const std::string& session) {
  auto& shard = sessions_[shard_of(session)];
  std::lock_guard held(shard.mutex);
  auto found = shard.running.find(session);
  if (found != shard.running.end() && --found->second == 0) shard.running.erase(found);
}

}  // namespace tool::pipeline
