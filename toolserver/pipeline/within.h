#pragma once

// Waits for a task of somebody else's until a deadline, whatever it does:
// an exception of it becomes a fault, a cancellation of the caller ends it, and
// it is never left running.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/model/fault.h"

namespace tool::pipeline {

/// The caller must have set this_coro::throw_if_cancelled(false).
/// Errors: E_TIMEOUT  the deadline came first; E_CANCELLED  the caller was
/// cancelled; E_INTERNAL  the task threw; and those of the task.
template <class T>
base::Task<Outcome<T>> within(base::Deadline deadline, base::Task<Outcome<T>> task) {
  namespace asio = boost::asio;
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, deadline);
  auto [order, error, outcome, ec] =
      co_await asio::experimental::make_parallel_group(
          asio::co_spawn(executor, std::move(task), asio::deferred),
          timer.async_wait(asio::deferred))
          .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  auto state = co_await asio::this_coro::cancellation_state;
  if (order[0] == 0 && !error) co_return std::move(outcome);
  if (state.cancelled() != asio::cancellation_type::none) {
    co_return refuse(Code::kCancelled, "cancelled");
  }
  if (order[0] != 0) co_return refuse(Code::kTimeout, "the deadline passed");
  Fault fault = refuse(Code::kInternal, "internal error");
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    fault.detail = e.what();
  } catch (...) {
    fault.detail = "unknown exception";
  }
  co_return fault;
}

}  // namespace tool::pipeline
