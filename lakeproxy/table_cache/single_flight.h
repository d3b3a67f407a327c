#pragma once

// Of the process, one request at a time publishes a table. Many that want it at
// once, on whichever event loops, would read the same rows and put the same
// objects side by side, and their records would meet in PostgreSQL. So one holds
// the lease and the others wait; each that follows gets the result of the holder
// before it, which mostly is all it wants.
//
// The mutex is held for a look-up. A lease is handed to another event loop by a
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

struct CacheEntry;

/// Safe from any thread. Outlives the leases taken.
class SingleFlight {
 public:
  struct Waiter;

  /// Gives the key to the next, or leaves the queue, when it is destroyed.
  class Lease {
   public:
    Lease(SingleFlight& single_flight, std::string key, std::shared_ptr<Waiter> waiter)
        : single_flight_(&single_flight), key_(std::move(key)), waiter_(std::move(waiter)) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    /// What the holder before this one set, if this one waited for it; else null.
    [[nodiscard]] std::shared_ptr<const CacheEntry> result() const;
    /// Sets the result for those that wait.
    void set_result(std::shared_ptr<const CacheEntry> result);

   private:
    SingleFlight* single_flight_;
    std::string key_;
    std::shared_ptr<Waiter> waiter_;  ///< Null when moved from.
  };

  /// Waits until nobody else has the lease of `key`; first come, first served.
  /// Errors: kTimeout  the deadline passed; kCancelled  the caller went away.
  [[nodiscard]] base::Task<base::Result<Lease>> take(base::RequestContext context, std::string key);

 private:
  struct Queue {
    std::deque<std::shared_ptr<Waiter>> waiting;
    std::shared_ptr<const CacheEntry> result;
  };
  std::shared_ptr<Waiter> join(const std::string& key, boost::asio::any_io_executor loop);
  bool is_granted(const Waiter& waiter) const;
  void give_back(const std::string& key, const std::shared_ptr<Waiter>& waiter);

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Queue> queues_;  ///< Of the leases that somebody has.
};

}  // namespace lake::publish
