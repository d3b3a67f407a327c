#pragma once

// A call is handed to another event loop and waited for on its own. Asio's
// co_spawn does that too, but its cancellation reaches over by a bare pointer: one
// that arrives when the work has just ended strikes whoever has its memory by
// then (Boost 1.81, co_spawn_cancellation_handler). Here both sides share what is
// cancelled.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/runtime/task.h"
#include "toolserver/model/fault.h"

namespace tool::connectors {

/// `cancel` belongs to the other loop, the rest to the one that waits.
template <class T>
struct HandedOver {
  explicit HandedOver(const boost::asio::any_io_executor& mine)
      : ended(mine, boost::asio::steady_timer::time_point::max()) {}
  boost::asio::cancellation_signal cancel;
  boost::asio::steady_timer ended;  ///< Never fires: cancelled with the outcome.
  std::optional<Outcome<T>> outcome;
};

template <class T>
base::Task<void> run_there(std::shared_ptr<HandedOver<T>> shared, boost::asio::any_io_executor mine,
                           base::Task<Outcome<T>> task) {
  Outcome<T> outcome = refuse(Code::kInternal, "internal error");
  try {
    outcome = co_await std::move(task);
  } catch (const std::exception& e) {
    outcome = Outcome<T>(Fault{Code::kInternal, "internal error", std::nullopt, e.what()});
  }
  boost::asio::post(mine, [shared, outcome = std::move(outcome)]() mutable {
    shared->outcome = std::move(outcome);
    shared->ended.cancel();
  });
}

/// Runs `task` on `loop` to its end. A cancellation is handed on, and what the
/// task makes of it is waited for.
/// Errors: those of the task; E_INTERNAL  it threw.
template <class T>
base::Task<Outcome<T>> on_loop(boost::asio::any_io_executor loop, base::Task<Outcome<T>> task) {
  namespace asio = boost::asio;
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::any_io_executor mine = co_await asio::this_coro::executor;
  auto shared = std::make_shared<HandedOver<T>>(mine);
  asio::co_spawn(
      loop, run_there(shared, mine, std::move(task)),
      asio::bind_cancellation_slot(shared->cancel.slot(), [shared](const std::exception_ptr&) {}));
  bool told = false;
  while (!shared->outcome) {
    auto state = co_await asio::this_coro::cancellation_state;
    if (!told && state.cancelled() != asio::cancellation_type::none) {
      told = true;
      asio::post(loop, [shared] { shared->cancel.emit(asio::cancellation_type::all); });
    }
    boost::system::error_code woken;
    co_await shared->ended.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return std::move(*shared->outcome);
}

}  // namespace tool::connectors
