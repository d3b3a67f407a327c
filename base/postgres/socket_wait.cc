#include "base/postgres/socket_wait.h"

#include <fcntl.h>

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace base::pg {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

namespace {

bool is_cancelled(const asio::cancellation_state& state) {
  return state.cancelled() != asio::cancellation_type::none;
}

Descriptor::wait_type to_wait_type(Interest interest) {
  return interest == Interest::kWrite ? Descriptor::wait_write : Descriptor::wait_read;
}

}  // namespace

bool SocketWait::watch(int socket) {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
  int duplicate = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) return false;
  boost::system::error_code failed;
  descriptor_.assign(duplicate, failed);
  if (failed) ::close(duplicate);
  return !failed;
}

Task<Loss> SocketWait::wait(Interest interest, Deadline deadline) {
  if (is_cancelled(co_await asio::this_coro::cancellation_state)) co_return Loss::kCancelled;
  using asio::experimental::make_parallel_group;
  using asio::experimental::wait_for_one;
  timer_.expires_at(deadline);
  boost::system::error_code socket_error;
  boost::system::error_code timer_error;
  if (interest == Interest::kReadOrWrite) {
    auto [order, read_error, write_error, late] =
        co_await make_parallel_group(descriptor_.async_wait(Descriptor::wait_read, asio::deferred),
                                     descriptor_.async_wait(Descriptor::wait_write, asio::deferred),
                                     timer_.async_wait(asio::deferred))
            .async_wait(wait_for_one(), asio::use_awaitable);
    socket_error = read_error ? write_error : read_error;
    timer_error = late;
  } else {
    auto [order, ready, late] =
        co_await make_parallel_group(descriptor_.async_wait(to_wait_type(interest), asio::deferred),
                                     timer_.async_wait(asio::deferred))
            .async_wait(wait_for_one(), asio::use_awaitable);
    socket_error = ready;
    timer_error = late;
  }
  if (!socket_error) co_return Loss::kNone;
  if (is_cancelled(co_await asio::this_coro::cancellation_state)) co_return Loss::kCancelled;
  co_return timer_error ? Loss::kBroken : Loss::kDeadline;
}

void SocketWait::cancel() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

}  // namespace base::pg
