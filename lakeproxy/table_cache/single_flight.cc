#include "lakeproxy/table_cache/single_flight.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace lake::publish {

namespace asio = boost::asio;

// The timer belongs to the waiter's event loop; the rest to the mutex.
struct SingleFlight::Waiter {
  explicit Waiter(asio::any_io_executor loop)
      : executor(std::move(loop)), woken(executor, asio::steady_timer::time_point::max()) {}
  asio::any_io_executor executor;
  asio::steady_timer woken;
  bool granted = false;
};

SingleFlight::Lease::~Lease() {
  if (waiter_) single_flight_->give_back(key_, waiter_);
}

std::shared_ptr<const CacheEntry> SingleFlight::Lease::result() const {
  std::lock_guard lock(single_flight_->mutex_);
  return single_flight_->queues_.at(key_).result;
}

void SingleFlight::Lease::set_result(std::shared_ptr<const CacheEntry> result) {
  std::lock_guard lock(single_flight_->mutex_);
  single_flight_->queues_.at(key_).result = std::move(result);
}

std::shared_ptr<SingleFlight::Waiter> SingleFlight::join(const std::string& key,
                                                         asio::any_io_executor loop) {
  auto waiter = std::make_shared<Waiter>(std::move(loop));
  std::lock_guard lock(mutex_);
  auto [queue, is_first] = queues_.try_emplace(key);
  waiter->granted = is_first;
  if (!is_first) queue->second.waiting.push_back(waiter);
  return waiter;
}

bool SingleFlight::is_granted(const Waiter& waiter) const {
  std::lock_guard lock(mutex_);
  return waiter.granted;
}

base::Task<base::Result<SingleFlight::Lease>> SingleFlight::take(base::RequestContext context,
                                                                 std::string key) {
  auto waiter = join(key, co_await asio::this_coro::executor);
  // From here on the queue knows of it, so it is left however this ends.
  Lease lease(*this, std::move(key), waiter);
  if (!is_granted(*waiter)) {
    waiter->woken.expires_at(context.deadline);
    boost::system::error_code woken;
    co_await waiter->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  if (is_granted(*waiter)) co_return std::move(lease);
  if (context.expired()) {
    co_return base::fail(base::ErrorKind::kTimeout,
                         "Other requests kept the table busy until the deadline.");
  }
  co_return base::fail(base::ErrorKind::kCancelled, "The caller went away.");
}

// The grant is seen under the mutex; the post only ends the wait, and finds the
// loop waiting, since the wait began in the step that joined the queue.
void SingleFlight::give_back(const std::string& key, const std::shared_ptr<Waiter>& waiter) {
  std::lock_guard lock(mutex_);
  auto queue = queues_.find(key);
  auto& waiting = queue->second.waiting;
  if (!waiter->granted) {
    std::erase(waiting, waiter);
  } else if (waiting.empty()) {
    queues_.erase(queue);
  } else {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    next->granted = true;
    // Its own loop is to end its timer, so no part of it stays here.
    const asio::any_io_executor loop = next->executor;
    asio::post(loop, [next = std::move(next)] { next->woken.cancel(); });
  }
}

}  // namespace lake::publish
