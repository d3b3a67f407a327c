#pragma once

// While a server is away, each call would wait for it in vain. After a few
// failures nobody asks any more for a while, then one asks for all.
// Source: Nygard, Release It!, "Circuit Breaker".

#include <chrono>
#include <cstddef>
#include <mutex>

namespace tool::guard {

/// Safe to use from any thread.
class CircuitBreaker {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kFailures = 3;  ///< In a row.
  static constexpr std::chrono::milliseconds kFirstPause{500};
  static constexpr std::chrono::milliseconds kLongestPause{10'000};  ///< Each is twice the last.

  /// Whether to ask now. After a pause one caller is told yes; it reports.
  [[nodiscard]] bool admits(Time now);
  void succeeded();
  void failed(Time now);

 private:
  std::mutex mutex_;
  std::size_t failures_ = 0;
  std::chrono::milliseconds pause_ = kFirstPause;
  Time open_until_{};
};

}  // namespace tool::guard
