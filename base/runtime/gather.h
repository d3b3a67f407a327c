#pragma once

// Runs several tasks at once on the current event loop and waits for all of
// them, also when one fails: nothing is left running behind the caller's back.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/runtime/task.h"

namespace base {

/// Results stand in the order of `tasks`. The tasks run interleaved on one
/// thread; each must report failure in its result, since an exception that
/// escapes a task is a defect and ends the process.
template <class T>
Task<std::vector<Result<T>>> gather(std::vector<Task<Result<T>>> tasks) {
  namespace asio = boost::asio;
  using Done = asio::experimental::channel<void(boost::system::error_code)>;
  auto executor = co_await asio::this_coro::executor;
  std::size_t count = tasks.size();
  Done done(executor, count);
  std::vector<std::optional<Result<T>>> slots(count);
  for (std::size_t i = 0; i < count; ++i) {
    asio::co_spawn(executor, std::move(tasks[i]),
                   [&slots, &done, i](std::exception_ptr error, Result<T> result) {
                     if (error) std::terminate();
                     slots[i].emplace(std::move(result));
                     done.try_send(boost::system::error_code{});
                   });
  }
  // The children hold references into this frame, so a cancellation that
  // reaches us must not end the wait before they do.
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  for (std::size_t i = 0; i < count; ++i) co_await done.async_receive(asio::use_awaitable);
  std::vector<Result<T>> results;
  results.reserve(count);
  for (auto& slot : slots) results.push_back(std::move(*slot));
  co_return results;
}

}  // namespace base
