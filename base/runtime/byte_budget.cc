#include "base/runtime/byte_budget.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace base {

namespace asio = boost::asio;

// The timer belongs to the waiter's event loop; the rest to the mutex.
struct ByteBudget::Waiter {
  Waiter(std::size_t wanted, asio::any_io_executor loop)
      : bytes(wanted), executor(std::move(loop)), woken(executor) {}
  std::size_t bytes;
  asio::any_io_executor executor;
  asio::steady_timer woken;
  bool granted = false;
};

namespace {

// The other half is for the work itself.
Deadline half_way(Deadline deadline) {
  const auto now = std::chrono::steady_clock::now();
  return deadline == Deadline::max() || deadline < now ? deadline : now + (deadline - now) / 2;
}

Error busy() {
  return fail(ErrorKind::kRateLimited,
              "The server is busy with other large requests; try again later.");
}

}  // namespace

ByteBudget::Share::Share(Share&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}

ByteBudget::Share& ByteBudget::Share::operator=(Share&& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ByteBudget::Share::~Share() {
  if (budget_ != nullptr) budget_->give_back(bytes_);
}

Task<Result<ByteBudget::Share>> ByteBudget::take(RequestContext context, std::size_t bytes) {
  bytes = std::min(bytes, bytes_);
  if (take_now(bytes)) co_return Share(*this, bytes);
  auto waiter = join(bytes, co_await asio::this_coro::executor);
  if (!waiter) co_return busy();
  waiter->woken.expires_at(half_way(context.deadline));
  boost::system::error_code woken;
  co_await waiter->woken.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (leave(waiter)) co_return Share(*this, bytes);
  if (woken) co_return fail(ErrorKind::kCancelled, "The caller went away.");
  co_return busy();
}

bool ByteBudget::take_now(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (!queue_.empty() || bytes > free_) return false;
  free_ -= bytes;
  return true;
}

// Null when too many wait already.
std::shared_ptr<ByteBudget::Waiter> ByteBudget::join(std::size_t bytes,
                                                     asio::any_io_executor loop) {
  auto waiter = std::make_shared<Waiter>(bytes, std::move(loop));
  std::lock_guard lock(mutex_);
  if (queue_.size() >= most_waiting_) return nullptr;
  queue_.push_back(waiter);
  grant();  // Bytes may have come back since take_now().
  return waiter;
}

// Ends the wait; whether it was granted.
bool ByteBudget::leave(const std::shared_ptr<Waiter>& waiter) {
  std::lock_guard lock(mutex_);
  if (waiter->granted) return true;
  std::erase(queue_, waiter);
  grant();  // Those behind it may want less.
  return false;
}

void ByteBudget::give_back(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  free_ += bytes;
  grant();
}

// The grant is seen under the mutex; the post only ends the wait, and finds the
// loop waiting, since the wait began in the step that joined the queue.
void ByteBudget::grant() {
  while (!queue_.empty() && queue_.front()->bytes <= free_) {
    auto next = std::move(queue_.front());
    queue_.pop_front();
    free_ -= next->bytes;
    next->granted = true;
    const asio::any_io_executor loop = next->executor;
    asio::post(loop, [next = std::move(next)] { next->woken.cancel(); });
  }
}

}  // namespace base
