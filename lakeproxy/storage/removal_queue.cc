#include "lakeproxy/storage/removal_queue.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "lakeproxy/storage/store.h"

namespace lake::storage {

namespace asio = boost::asio;
using base::Status;
using base::Task;

namespace {

// Ends with the timer or with its cancellation.
Task<void> wait(asio::steady_timer* timer) {
  boost::system::error_code ended;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

Status status_of(const base::Result<std::vector<RemoveFailure>>& answer,
                 const std::vector<ObjectKey>& keys) {
  if (!answer) return answer.error();
  for (const RemoveFailure& failure : *answer) {
    if (std::ranges::find(keys, failure.key.text(), &ObjectKey::text) != keys.end()) {
      return failure.error;
    }
  }
  return {};
}

}  // namespace

struct RemovalQueue::Batch {
  Batch(const asio::any_io_executor& loop, std::chrono::milliseconds wait)
      : closing(loop, wait), done(loop, asio::steady_timer::time_point::max()) {}

  std::vector<ObjectKey> keys;
  asio::steady_timer closing;  ///< Cancelled when the batch waits no longer.
  asio::steady_timer done;     ///< Cancelled when there is an answer.
  std::optional<base::Result<std::vector<RemoveFailure>>> answer;
};

RemovalQueue::RemovalQueue(ObjectStore& store, RemovalOptions options)
    : store_(&store), options_(options) {}

RemovalQueue::~RemovalQueue() = default;

Task<Status> RemovalQueue::remove(base::RequestContext context, std::vector<ObjectKey> keys) {
  if (keys.empty()) co_return Status{};
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const bool leads = open_ == nullptr;
  if (leads) {
    open_ = std::make_shared<Batch>(co_await asio::this_coro::executor, options_.wait);
  }
  auto batch = open_;
  std::ranges::copy(keys, std::back_inserter(batch->keys));
  if (batch->keys.size() >= options_.objects) {
    open_ = nullptr;
    batch->closing.expires_after(std::chrono::milliseconds(0));
  }
  if (leads) {
    co_await lead(context, batch);
  } else if (!batch->answer) {
    co_await wait(&batch->done);
  }
  co_return status_of(*batch->answer, keys);
}

Task<void> RemovalQueue::lead(base::RequestContext context, std::shared_ptr<Batch> batch) {
  co_await wait(&batch->closing);
  if (open_ == batch) open_ = nullptr;
  batch->answer = co_await store_->remove_many(context, std::move(batch->keys));
  batch->done.cancel();
}

void RemovalQueue::hurry() {
  options_.wait = std::chrono::milliseconds(0);
  if (open_) open_->closing.expires_after(options_.wait);
}

}  // namespace lake::storage
