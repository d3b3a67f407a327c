#pragma once

// One caller must not take the service from the others: a token bucket bounds
// how often a principal asks for something, a cap how many calls of a session
// run at once. Refusals cost more than answers are worth to the service, so they
// take more of the bucket, and whoever goes on being refused is disconnected.
// All event loops share the counts, in shards, so that spreading connections
// over loops gains nothing.

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::pipeline {

using Steady = std::chrono::steady_clock::time_point;

struct RateLimits {
  double calls_per_second = 50;  ///< Of one principal; each request counts as a call.
  double burst = 100;
  /// Refusals that a principal may save up; a fifth of calls_per_second come back.
  double refusals = 200;
  std::size_t in_flight = 64;    ///< Of one session.
  std::size_t callers = 65'536;  ///< Remembered at once; more are refused.
};

/// Safe to use from any thread.
class RateStage {
 public:
  explicit RateStage(RateLimits limits) : limits_(limits) {}

  /// One running call of a session; ends when it is destroyed.
  class Slot {
   public:
    Slot(Slot&& other) noexcept
        : stage_(std::exchange(other.stage_, nullptr)), session_(std::move(other.session_)) {}
    Slot& operator=(Slot&&) = delete;
    ~Slot() {
      if (stage_) stage_->release(session_);
    }

   private:
    friend class RateStage;
    Slot(RateStage* stage, std::string session) : stage_(stage), session_(std::move(session)) {}
    RateStage* stage_;
    std::string session_;
  };

  /// Takes one call from the principal's bucket, for what is not a tool's call.
  /// Errors: E_RATE, and E_BUSY for too many callers, as below.
  [[nodiscard]] Outcome<void> take(const Principal& principal, Steady now);

  /// The principal was refused, with `code`: it pays for that.
  /// False: it was refused too often, and its connection should end.
  [[nodiscard]] bool tolerates(const Principal& principal, Code code, Steady now);

  /// Takes one call from the principal's bucket and one place of the session.
  /// Errors: E_RATE  the bucket is empty; retry_after says when it is not;
  ///         E_BUSY  too many calls in flight, or too many callers at once.
  [[nodiscard]] Outcome<Slot> admit(const Principal& principal, const std::string& session,
                                    Steady now);

 private:
  static constexpr std::size_t kShards = 16;
  struct Bucket {
    double tokens = 0;
    double refusals = 0;
    Steady filled{};
  };
  struct Buckets {
    std::mutex mutex;
    std::unordered_map<std::string, Bucket> of;
    Steady swept{};
  };
  struct Sessions {
    std::mutex mutex;
    std::unordered_map<std::string, std::size_t> running;
  };

  [[nodiscard]] Bucket* bucket_of(Buckets& shard, const std::string& key, Steady now) const;
  [[nodiscard]] bool make_room(Buckets& shard, Steady now) const;
  void refill(Bucket& bucket, Steady now) const;
  void release(const std::string& session);
  static std::size_t shard_of(const std::string& key) {
    return std::hash<std::string>{}(key) % kShards;
  }

  const RateLimits limits_;
  std::array<Buckets, kShards> buckets_;
  std::array<Sessions, kShards> sessions_;
};

/// A principal's name in tables: two issuers may vouch for equal subjects.
[[nodiscard]] std::string key_of(const Principal& principal);

}  // namespace tool::pipeline
