#pragma once

// Work on what strangers send takes memory for as long as it runs, and many
// requests at once take that many times as much. Whoever is about to unpack
// something large takes its bytes from one budget of the process first, and
// waits for its turn when there are none left.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base {

/// Bytes that may be in use at once. Safe from any thread; outlives its shares
/// and whoever waits for one.
class ByteBudget {
  struct Waiter;

 public:
  /// Bytes taken; given back when it is destroyed.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept;
    Share& operator=(Share&& other) noexcept;
    ~Share();

   private:
    friend class ByteBudget;
    Share(ByteBudget& budget, std::size_t bytes) : budget_(&budget), bytes_(bytes) {}
    ByteBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
  };

  /// Up to `waiting` callers wait at a time.
  explicit ByteBudget(std::size_t bytes, std::size_t waiting = 32)
      : free_(bytes), bytes_(bytes), most_waiting_(waiting) {}

  /// Takes `bytes`, all of them where they are more than there are; first come,
  /// first served. A caller that has a share must not take a second one: two
  /// such callers would wait for each other.
  /// Errors: kRateLimited  half of the time until the deadline passed, or too many
  ///         wait already; kCancelled  the caller went away.
  [[nodiscard]] Task<Result<Share>> take(RequestContext context, std::size_t bytes);

 private:
  bool take_now(std::size_t bytes);
  std::shared_ptr<Waiter> join(std::size_t bytes, boost::asio::any_io_executor loop);
  bool leave(const std::shared_ptr<Waiter>& waiter);
  void give_back(std::size_t bytes);
  void grant();

  std::mutex mutex_;
  std::size_t free_;                           // Guarded by mutex_.
  std::deque<std::shared_ptr<Waiter>> queue_;  // Guarded by mutex_.
  const std::size_t bytes_;
  const std::size_t most_waiting_;
};

}  // namespace base
