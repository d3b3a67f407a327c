#include "base/jose/shared_call.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace base::jose {
namespace {

namespace asio = boost::asio;

// A place among those who wait, given up in whatever way the wait ends.
class Place {
 public:
  Place(std::list<asio::steady_timer*>& waiting, asio::steady_timer& timer)
      : waiting_(waiting), at_(waiting.insert(waiting.end(), &timer)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { waiting_.erase(at_); }

 private:
  std::list<asio::steady_timer*>& waiting_;
  std::list<asio::steady_timer*>::iterator at_;
};

}  // namespace

Task<Status> SharedCall::join(Deadline until, std::function<Task<void>()> call) {
  if (!running_) {
    running_ = true;
    tasks_.spawn(run(std::move(call)));
  }
  // In here a cancellation ends the wait and is then a result like any other.
  bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto ended = co_await wait_for_end(until);
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return ended;
}

Task<void> SharedCall::run(std::function<Task<void>()> call) {
  co_await call();
  running_ = false;
  // A time in the past wakes those who wait, and those who are about to.
  for (auto* timer : waiting_) timer->expires_at(Deadline::min());
}

Task<Status> SharedCall::wait_for_end(Deadline until) {
  asio::steady_timer timer(co_await asio::this_coro::executor, until);
  Place place(waiting_, timer);
  if (running_) co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  auto cancellation = co_await asio::this_coro::cancellation_state;
  if (cancellation.cancelled() != asio::cancellation_type::none) {
    co_return fail(ErrorKind::kCancelled, "the request was cancelled");
  }
  if (timer.expiry() == Deadline::min() || !running_) co_return Status{};
  co_return fail(ErrorKind::kTimeout, "the identity provider did not answer in time");
}

}  // namespace base::jose
