#pragma once

// Work that nobody's answer waits for still has an owner: the group knows its
// tasks, and whoever shuts down waits for them.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cstddef>
#include <memory>

#include "base/runtime/task.h"

namespace base {

/// Tasks of one event loop; not thread-safe. Must outlive its tasks: await
/// wait() before it is destroyed.
class TaskGroup {
 public:
  explicit TaskGroup(boost::asio::any_io_executor executor);
  ~TaskGroup();

  /// Starts `task`. An exception that leaves it ends the process.
  void spawn(Task<void> task);
  /// The same; an emission of `cancel` cancels the task. The group keeps the
  /// signal until nothing of the task is left, which is after its last line.
  void spawn(Task<void> task, std::shared_ptr<boost::asio::cancellation_signal> cancel);
  [[nodiscard]] std::size_t running() const;
  /// Returns when no task is running.
  [[nodiscard]] Task<void> wait();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace base
