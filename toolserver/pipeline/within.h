#pragma once

// Waits for a task of somebody else's until a deadline, whatever it does:
// an exception of it becomes a fault, a cancellation of the caller ends it, and
// it is never left running. A task that needs no waiting costs no timer and no
// turn of the event loop.

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"

namespace tool::pipeline {

/// Of one event loop; shared by who waits and what is waited for.
template <class T>
struct Awaited {
  boost::asio::cancellation_signal cancel;
  std::optional<boost::asio::steady_timer> changed;  ///< Cancelled when the task ends.
  std::optional<Outcome<T>> outcome;
};

template <class T>
base::Task<Outcome<T>> without_exception(base::Task<Outcome<T>> task) {
  Fault fault = refuse(Code::kInternal, "internal error");
  try {
    co_return co_await std::move(task);
  } catch (const std::exception& e) {
    fault.detail = e.what();
  } catch (...) {
    fault.detail = "unknown exception";
  }
  co_return fault;
}

template <class T>
base::Task<void> run_to_end(std::shared_ptr<Awaited<T>> awaited, base::Task<Outcome<T>> task) {
  auto outcome = co_await without_exception(std::move(task));
  awaited->outcome = std::move(outcome);
  if (awaited->changed) awaited->changed->cancel();
}

/// The caller must have set this_coro::throw_if_cancelled(false).
/// Errors: E_TIMEOUT  the deadline came first; E_CANCELLED  the caller was
/// cancelled; E_INTERNAL  the task threw; and those of the task.
template <class T>
base::Task<Outcome<T>> within(base::Deadline deadline, base::Task<Outcome<T>> task) {
  namespace asio = boost::asio;
  auto loop = co_await asio::this_coro::executor;
  auto awaited = std::make_shared<Awaited<T>>();
  // Runs at once, up to the first thing that it has to wait for. What it leaves
  // behind keeps the signal until it is gone.
  asio::co_spawn(loop, run_to_end(awaited, std::move(task)),
                 asio::bind_cancellation_slot(awaited->cancel.slot(),
                                              [awaited](const std::exception_ptr&) {}));
  if (awaited->outcome) co_return std::move(*awaited->outcome);

  boost::system::error_code woken;
  awaited->changed.emplace(loop, deadline);
  // A cancellation that came before the wait began does not wake it.
  auto state = co_await asio::this_coro::cancellation_state;
  bool cancelled = state.cancelled() != asio::cancellation_type::none;
  if (!cancelled) {
    co_await awaited->changed->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (awaited->outcome) co_return std::move(*awaited->outcome);
  bool deadline_passed = !cancelled && !woken;
  awaited->cancel.emit(asio::cancellation_type::all);
  while (!awaited->outcome) {
    awaited->changed->expires_at(base::Deadline::max());
    co_await awaited->changed->async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return deadline_passed ? refuse(Code::kTimeout, "the deadline passed")
                            : refuse(Code::kCancelled, "cancelled");
}

}  // namespace tool::pipeline
