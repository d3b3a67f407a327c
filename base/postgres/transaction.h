#pragma once

#include <memory>

#include "base/postgres/pool_core.h"

namespace base::pg {

/// A transaction on a lease whose BEGIN has succeeded. Its statements run
/// under the deadline of `context`.
[[nodiscard]] std::unique_ptr<Transaction> make_transaction(Lease lease, RequestContext context);

/// Whether the queries can be sent at all. Errors: kInvalid  a parameter holds
/// a zero byte, which the text form cannot carry, or there are over 65,535.
[[nodiscard]] Status check(const std::vector<Query>& queries);

/// Runs `call` with cancellation reported as kCancelled instead of thrown.
template <class T>
Task<T> report_cancellation(Task<T> call) {
  namespace this_coro = boost::asio::this_coro;
  bool before = co_await this_coro::throw_if_cancelled();
  co_await this_coro::throw_if_cancelled(false);
  T result = co_await std::move(call);
  co_await this_coro::throw_if_cancelled(before);
  co_return result;
}

}  // namespace base::pg
