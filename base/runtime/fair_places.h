#pragma once

// A few places that many want: threads, connections to a slow service. Whoever
// asks for all of them at once would keep the others out for as long as its
// work takes, so one key holds at most half, and a place that becomes free goes
// to the key that holds least.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base {

/// Safe to use from any event loop; each waits on its own.
class FairPlaces {
  struct State;

 public:
  /// `places` is at least 1. A key holds at most half of them, and at least one.
  explicit FairPlaces(std::size_t places);

  /// A place that is held; given back when it is destroyed, which may be after
  /// the places are.
  class Held {
   public:
    Held(Held&&) noexcept = default;
    Held& operator=(Held&&) = delete;
    ~Held();

   private:
    friend class FairPlaces;
    Held(std::shared_ptr<State> state, std::string key)
        : state_(std::move(state)), key_(std::move(key)) {}
    std::shared_ptr<State> state_;  // Null when moved from.
    std::string key_;
  };

  /// Waits for a place.
  /// Errors: kTimeout  `deadline` came first; kCancelled  the caller was
  ///         cancelled.
  [[nodiscard]] Task<Result<Held>> enter(std::string key, Deadline deadline);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace base
