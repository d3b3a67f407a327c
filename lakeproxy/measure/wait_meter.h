#pragma once

// How long a request waits for PostgreSQL and for the object store, and how
// often: what is left of its time is our own. Waits of one request that overlap
// count once.

#include <chrono>
#include <cstdint>
#include <unordered_map>

namespace lake::measure {

enum class Party { kPostgres, kStore };

struct Waits {
  std::chrono::steady_clock::duration waited{};
  std::uint64_t postgres = 0;  ///< Round trips.
  std::uint64_t store = 0;     ///< Requests.
};

/// Of one event loop; not thread-safe. Counts only requests that are watched.
class WaitMeter {
 public:
  /// One wait, from its making to its end. The meter outlives it.
  class Wait {
   public:
    Wait(WaitMeter* meter, std::uint64_t request_id) : meter_(meter), request_id_(request_id) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      if (meter_ != nullptr) meter_->end(request_id_);
    }

   private:
    WaitMeter* meter_;
    std::uint64_t request_id_;
  };

  /// Nothing is counted without a meter.
  [[nodiscard]] static Wait wait(WaitMeter* meter, std::uint64_t request_id, Party party) {
    if (meter != nullptr) meter->begin(request_id, party);
    return Wait(meter, request_id);
  }

  void watch(std::uint64_t request_id) { watched_[request_id] = {}; }
  /// What was counted since watch(); the request is no longer watched.
  Waits take(std::uint64_t request_id);

 private:
  struct Watched {
    Waits waits;
    int open = 0;
    std::chrono::steady_clock::time_point since;
  };
  void begin(std::uint64_t request_id, Party party);
  void end(std::uint64_t request_id);

  std::unordered_map<std::uint64_t, Watched> watched_;
};

}  // namespace lake::measure
