#pragma once

// One table is published by one request of the process at a time. Many that
// want it at once, on whichever event loops, would read the same rows and put
// the same objects side by side, and their records would meet in PostgreSQL.
// So they take turns, and whoever comes next finds what the one before it left:
// mostly that is all it wants.
//
// The mutex is held for a look-up. A turn is handed to another event loop by a
// post to it.

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace lake::publish {

struct HeldView;

/// Safe from any thread. Outlives the turns taken.
class Turns {
 public:
  struct Waiter;

  /// Gives the turn back, or leaves the queue, when it is destroyed.
  class Turn {
   public:
    Turn(Turns& turns, std::string key, std::shared_ptr<Waiter> waiter)
        : turns_(&turns), key_(std::move(key)), waiter_(std::move(waiter)) {}
    Turn(Turn&& other) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    /// What the turn before this one left, if this one waited for it.
    [[nodiscard]] std::shared_ptr<const HeldView> found() const;
    /// For those that wait.
    void leave(std::shared_ptr<const HeldView> view);

   private:
    Turns* turns_;
    std::string key_;
    std::shared_ptr<Waiter> waiter_;  ///< Null when moved from.
  };

  /// Waits until nobody else has the turn for `key`; first come, first served.
  /// Errors: kTimeout  the deadline passed; kCancelled  the caller went away.
  [[nodiscard]] base::Task<base::Result<Turn>> take(base::RequestContext context, std::string key);

 private:
  struct Queue {
    std::deque<std::shared_ptr<Waiter>> waiting;
    std::shared_ptr<const HeldView> left;
  };
  std::shared_ptr<Waiter> join(const std::string& key, boost::asio::any_io_executor loop);
  bool is_granted(const Waiter& waiter) const;
  void give_back(const std::string& key, const std::shared_ptr<Waiter>& waiter);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Queue> queues_;  ///< Of the turns that somebody has.
};

}  // namespace lake::publish
