#include "toolserver/pipeline/rate.h"

#include <algorithm>

namespace tool::pipeline {
namespace {

constexpr std::chrono::milliseconds kSweepPause{100};
// Beside the call itself.
constexpr double kPriceOfRefusal = 2;
// In the time of so many calls one more refusal is tolerated.
constexpr double kCallsOfRefusal = 5;

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
  if (auto taken = take(principal, now); !taken) return taken.error();
  auto& shard = sessions_[shard_of(session)];
  std::lock_guard held(shard.mutex);
  std::size_t& running = shard.running[session];
  if (running >= limits_.in_flight) return busy("too many calls in flight");
  ++running;
  return Slot(this, session);
}

Outcome<void> RateStage::take(const Principal& principal, Steady now) {
  std::string key = key_of(principal);
  auto& shard = buckets_[shard_of(key)];
  std::lock_guard held(shard.mutex);
  Bucket* bucket = bucket_of(shard, key, now);
  if (bucket == nullptr) return busy("too many callers");
  if (bucket->tokens < 1) {
    Fault fault = refuse(Code::kRate, "too many calls");
    fault.retry_after = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>((1 - bucket->tokens) / limits_.calls_per_second));
    return fault;
  }
  bucket->tokens -= 1;
  return {};
}

bool RateStage::tolerates(const Principal& principal, Code code, Steady now) {
  std::string key = key_of(principal);
  auto& shard = buckets_[shard_of(key)];
  std::lock_guard held(shard.mutex);
  Bucket* bucket = bucket_of(shard, key, now);
  if (bucket == nullptr) return true;
  // Who is refused for the rate has nothing to pay with, and is told when to
  // come again.
  if (code != Code::kRate) bucket->tokens = std::max(0.0, bucket->tokens - kPriceOfRefusal);
  if (bucket->refusals < 1) return false;
  bucket->refusals -= 1;
  return true;
}

// Null when there are too many callers.
RateStage::Bucket* RateStage::bucket_of(Buckets& shard, const std::string& key, Steady now) const {
  auto found = shard.of.find(key);
  if (found == shard.of.end()) {
    if (!make_room(shard, now)) return nullptr;
    found = shard.of.emplace(key, Bucket{limits_.burst, limits_.refusals, now}).first;
  }
  refill(found->second, now);
  return &found->second;
}

void RateStage::refill(Bucket& bucket, Steady now) const {
  double seconds = std::max(0.0, std::chrono::duration<double>(now - bucket.filled).count());
  double calls = seconds * limits_.calls_per_second;
  bucket.tokens = std::min(limits_.burst, bucket.tokens + calls);
  bucket.refusals = std::min(limits_.refusals, bucket.refusals + calls / kCallsOfRefusal);
  bucket.filled = std::max(bucket.filled, now);
}

// A full bucket says nothing that a new one would not, so it can go.
bool RateStage::make_room(Buckets& shard, Steady now) const {
  if (shard.of.size() < std::max<std::size_t>(1, limits_.callers / kShards)) return true;
  if (shard.swept != Steady{} && now - shard.swept < kSweepPause) return false;
  shard.swept = now;
  return std::erase_if(shard.of, [&](const auto& entry) {
           Bucket bucket = entry.second;
           refill(bucket, now);
           return bucket.tokens >= limits_.burst && bucket.refusals >= limits_.refusals;
         }) > 0;
}

void RateStage::release(const std::string& session) {
  auto& shard = sessions_[shard_of(session)];
  std::lock_guard held(shard.mutex);
  auto found = shard.running.find(session);
  if (found != shard.running.end() && --found->second == 0) shard.running.erase(found);
}

}  // namespace tool::pipeline
