#include "base/http/lane.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <span>

namespace base::http {
namespace {

namespace asio = boost::asio;

// A limit is kept to within a quarter of the shortest one.
std::chrono::milliseconds sweep_period(const ServerLimits& limits) {
  using std::chrono::milliseconds;
  milliseconds shortest =
      std::min({limits.idle, limits.header_time, limits.body_time, limits.write_time});
  return std::clamp(shortest / 4, milliseconds(5), milliseconds(250));
}

}  // namespace

void Census::enter() {
  std::lock_guard lock(mutex_);
  ++count_;
}

void Census::leave() {
  // Notified under the lock: whoever waits may destroy this right after.
  std::lock_guard lock(mutex_);
  if (--count_ == 0) empty_.notify_all();
}

std::size_t Census::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void Census::wait_until_empty() {
  std::unique_lock lock(mutex_);
  empty_.wait(lock, [&] { return count_ == 0; });
}

bool Census::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return empty_.wait_until(lock, deadline, [&] { return count_ == 0; });
}

Lane::Lane(asio::io_context& loop, AnyHandler handler, const ServerLimits& limits,
           const Refusal& refusal, Census& connections, Census& sweeps)
    : loop_(loop),
      handler_(std::move(handler)),
      limits_(limits),
      refusal_(refusal),
      connections_(connections),
      sweeps_(sweeps),
      timer_(loop),
      period_(sweep_period(limits)) {}

void Lane::start() {
  sweeps_.enter();
  asio::co_spawn(loop_, sweep(), [this](std::exception_ptr error) {
    if (error) std::terminate();
    // Posted, so that the coroutine itself is gone when the count says so.
    asio::post(loop_, [sweeps = &sweeps_] { sweeps->leave(); });
  });
}

Task<void> Lane::sweep() {
  while (!stopped_) {
    timer_.expires_after(period_);
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    auto now = std::chrono::steady_clock::now();
    for (LaneMember& member : members_) {
      if (now >= member.deadline) member.interrupt();
    }
  }
}

std::uint64_t Lane::random_id() {
  if (ids_left_ == 0) {
    random_.fill(std::as_writable_bytes(std::span(ids_)));
    ids_left_ = ids_.size();
  }
  return ids_[--ids_left_];
}

void Lane::drain() {
  draining_ = true;
  for (LaneMember& member : members_) {
    if (member.resting) member.interrupt();
    // A copy, since the call may set another.
    if (std::function<void()> call = member.on_drain) call();
  }
}

void Lane::abort_all() {
  for (LaneMember& member : members_) member.abort();
}

void Lane::stop_sweep() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace base::http
