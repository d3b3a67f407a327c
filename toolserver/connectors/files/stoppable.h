#pragma once

// A call on the blocking pool cannot be cancelled from outside; a cancelled
// caller must still wait for it, because the call uses things that the caller
// owns. So a cancellation raises a flag that the call looks at, and the wait
// goes on until the call has ended.

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>

#include "base/runtime/task.h"
#include "base/runtime/workers.h"

namespace tool::files {

/// Runs `call`, which must not throw, on `pool` and answers with what it
/// returned. Sets `stopped` when the coroutine is cancelled. The caller's loop
/// has one thread.
template <class Call>
auto run_stoppable(base::BlockingPool& pool, std::shared_ptr<std::atomic<bool>> stopped, Call call)
    -> base::Task<decltype(call())> {
  namespace asio = boost::asio;
  using Answer = decltype(call());
  struct State {
    asio::steady_timer wake;
    std::optional<Answer> answer;
    bool ended = false;
  };
  auto loop = co_await asio::this_coro::executor;
  auto state = std::make_shared<State>(
      State{asio::steady_timer(loop, asio::steady_timer::time_point::max()), std::nullopt});
  auto job = [state, call = std::move(call)]() mutable {
    state->answer.emplace(call());
    return true;
  };
  asio::co_spawn(loop, pool.run(std::move(job)), [state](const std::exception_ptr&, bool) {
    state->ended = true;
    state->wake.cancel();
  });
  bool throwing = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  while (!state->ended) {
    auto cancelled = (co_await asio::this_coro::cancellation_state).cancelled();
    if (cancelled != asio::cancellation_type::none) {
      stopped->store(true, std::memory_order_relaxed);
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    }
    co_await state->wake.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_await asio::this_coro::throw_if_cancelled(throwing);
  co_return std::move(*state->answer);
}

}  // namespace tool::files
