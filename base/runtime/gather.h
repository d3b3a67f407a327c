#pragma once

// Runs several tasks at once on the current event loop and waits for all of
// them, also when one fails: nothing is left running behind the caller's back.
// gather() is for a handful; gather_few() for as many as there are, since what
// runs at a time, and what waits to be handed on, is bounded.

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/runtime/gather_window.h"
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

/// How many tasks may be under way, at least 1.
struct AtOnce {
  std::size_t tasks;
};

/// Runs begin(0), begin(1) and so on to `count`, each a Task<Result<T>>, and
/// hands what they give to `take(index, T)`, or `take(index)` where T is void, a
/// Status, in that order. A task is made and begun when fewer than `most` are
/// running or wait to be handed on.
/// The first failure in that order, of a task or of `take`, is the answer. Once
/// a task has failed none is begun, and those that run are waited for; after
/// `take` failed, their results are dropped.
/// Neither function may throw or be a coroutine that captures; what they refer
/// to outlives the call.
/// Errors: kCancelled  the caller was cancelled: no other task was begun, and
/// those that ran were not interrupted. Like gather(), it leaves cancellation
/// off.
template <class Begin, class Take>
Task<Status> gather_few(AtOnce most, std::size_t count, Begin begin, Take take) {
  namespace asio = boost::asio;
  // A cancellation is noted, and does not end the wait: see gather().
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation(),
                                                     asio::disable_cancellation());
  using T = detail::GivenBy<Begin>;
  detail::GatherWindow<T> window(co_await asio::this_coro::executor, std::min(most.tasks, count));
  Status outcome;
  for (;;) {
    while (outcome && window.may_begin() && window.begun() < count) {
      window.begin(begin(window.begun()));
    }
    if (window.is_empty()) break;
    const std::size_t index = window.taken();
    Result<T> result = co_await window.next();
    auto cancellation = co_await asio::this_coro::cancellation_state;
    if (outcome && cancellation.cancelled() != asio::cancellation_type::none) {
      outcome = fail(ErrorKind::kCancelled, "the request was cancelled");
    }
    if (!outcome) continue;
    if (!result) {
      outcome = std::move(result).error();
    } else if constexpr (std::is_void_v<T>) {
      outcome = take(index);
    } else {
      outcome = take(index, std::move(*result));
    }
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return outcome;
}

/// The same, of tasks that give nothing but whether they failed.
template <class Begin>
  requires std::is_void_v<detail::GivenBy<Begin>>
Task<Status> gather_few(AtOnce most, std::size_t count, Begin begin) {
  auto go_on = [](std::size_t) { return Status{}; };
  co_return co_await gather_few(most, count, std::move(begin), go_on);
}

/// The same; all that the tasks gave, in their order.
template <class Begin>
Task<Result<std::vector<detail::GivenBy<Begin>>>> gather_few(AtOnce most, std::size_t count,
                                                             Begin begin) {
  using T = detail::GivenBy<Begin>;
  std::vector<T> all;
  all.reserve(count);
  auto keep = [&all](std::size_t, T given) {
    all.push_back(std::move(given));
    return Status{};
  };
  CO_RETURN_IF_ERROR(co_await gather_few(most, count, std::move(begin), keep));
  co_return all;
}

}  // namespace base
