#pragma once

// Many callers need the same answer from far away at the same time: one call
// is made and all wait for it. The call belongs to nobody in particular, so it
// goes on when the caller that began it leaves.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <list>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"

namespace base::jose {

/// Belongs to one event loop; not thread-safe.
class SharedCall {
 public:
  explicit SharedCall(boost::asio::any_io_executor loop) : tasks_(std::move(loop)) {}
  SharedCall(const SharedCall&) = delete;
  SharedCall& operator=(const SharedCall&) = delete;

  [[nodiscard]] bool running() const { return running_; }
  /// Starts `call` unless one runs, and returns when it has ended. This object
  /// must stay alive for as long as callers wait and the call runs: their
  /// coroutines hold what owns it.
  /// Errors: kTimeout  `until` passed first; kCancelled. The call goes on.
  [[nodiscard]] Task<Status> join(Deadline until, std::function<Task<void>()> call);
  /// Returns when no call is running.
  [[nodiscard]] Task<void> wait() { return tasks_.wait(); }

 private:
  Task<void> run(std::function<Task<void>()> call);
  Task<Status> wait_for_end(Deadline until);

  TaskGroup tasks_;
  std::list<boost::asio::steady_timer*> waiting_;
  bool running_ = false;
};

}  // namespace base::jose
