#pragma once

// What a load measured: how long each call took, and how long all of it.

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

using Steady = std::chrono::steady_clock;

/// Latencies of calls that all succeeded.
class Samples {
 public:
  explicit Samples(std::size_t expected) { times_.reserve(expected); }

  void add(Steady::duration time) { times_.push_back(time); }
  [[nodiscard]] std::size_t count() const { return times_.size(); }
  /// Microseconds that `share` (0 to 1) of the calls did not exceed. Zero without calls.
  [[nodiscard]] double percentile(double share);

 private:
  std::vector<Steady::duration> times_;
};

/// CPU seconds of this process, user and system.
[[nodiscard]] double own_cpu_seconds();

/// One line of JSON: count, seconds, per_second, p50_us, p99_us, cpu_seconds.
[[nodiscard]] std::string report(Samples& samples, Steady::duration total, double cpu_seconds);

}  // namespace bench
