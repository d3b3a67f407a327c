#include "lakeproxy/audit/audit_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "base/runtime/request_context.h"

namespace lake::audit {

namespace asio = boost::asio;
using base::ErrorKind;
using base::Result;
using base::Status;
using base::Task;

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 2048;
// The time for a client's next request and its question for the version.
constexpr std::chrono::microseconds kLongestGathering{500};
// Of one line: they are part of its detail, which is bounded.
constexpr std::size_t kMostRequests = 500;

struct ByWhatIsSaid {
  static auto all_of(const AuditRecord& record) {
    return std::tie(record.object, record.principal, record.operation, record.decision,
                    record.detail, record.issuer, record.actor, record.masked_cols,
                    record.applied_policies);
  }
  bool operator()(const AuditRecord& a, const AuditRecord& b) const {
    return all_of(a) < all_of(b);
  }
};

// Reads that say the same.
struct Reads {
  std::size_t place = 0;  ///< Of the first, among those of the batch.
  base::WallTime first, last;
  std::vector<std::uint64_t> requests;
};

std::string text_of(std::uint64_t request_id) {
  return base::RequestContext{.request_id = request_id}.id_text();
}

AuditLine line_of(AuditRecord record, const Reads& reads) {
  AuditLine line = line_of(std::move(record), reads.first, text_of(reads.requests.front()));
  if (reads.requests.size() == 1) return line;
  line.detail["count"] = static_cast<std::int64_t>(reads.requests.size());
  line.detail["last"] = to_text(reads.last);
  base::json::Array others;
  for (std::size_t i = 1; i < reads.requests.size(); ++i) {
    others.emplace_back(text_of(reads.requests[i]));
  }
  line.detail["request_ids"] = std::move(others);
  return line;
}

}  // namespace

// Those of one event loop who wait for a batch. The timer is the loop's, the number the mutex's.
struct AuditBatches::Wake {
  explicit Wake(asio::any_io_executor loop, Steady::time_point latest = Steady::time_point::max())
      : executor(std::move(loop)), woken(executor, latest) {}
  asio::any_io_executor executor;
  asio::steady_timer woken;  ///< Cancelled when there is no more to wait for.
  std::size_t waiting = 0;
};

// Its own loop is to end its timer, so no part of it stays here.
void AuditBatches::wake(std::shared_ptr<Wake> sleeper) {
  const asio::any_io_executor loop = sleeper->executor;
  asio::post(loop, [sleeper = std::move(sleeper)] { sleeper->woken.cancel(); });
}

struct AuditBatches::Batch {
  std::vector<std::pair<std::size_t, AuditLine>> lines;  ///< By their place.
  std::map<AuditRecord, Reads, ByWhatIsSaid> reads;
  std::size_t requests = 0;
  std::vector<std::shared_ptr<Wake>> wakes;
  std::optional<Status> written;
};

// Whoever waits, as long as it does: a loop that ends takes its timer along.
class AuditBatches::Waiting {
 public:
  Waiting(std::shared_ptr<AuditBatches> batches, std::shared_ptr<Batch> batch,
          const asio::any_io_executor& loop)
      : batches_(std::move(batches)), batch_(std::move(batch)) {
    std::lock_guard lock(batches_->mutex_);
    if (batch_->written) return;
    auto found = std::ranges::find(batch_->wakes, loop, &Wake::executor);
    wake_ = found != batch_->wakes.end() ? *found
                                         : batch_->wakes.emplace_back(std::make_shared<Wake>(loop));
    ++wake_->waiting;
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    if (wake_ == nullptr) return;
    std::lock_guard lock(batches_->mutex_);
    if (--wake_->waiting == 0) std::erase(batch_->wakes, wake_);
  }

  /// Null: it is written.
  [[nodiscard]] Wake* wake() const { return wake_.get(); }
  [[nodiscard]] std::optional<Status> written() const {
    std::lock_guard lock(batches_->mutex_);
    return batch_->written;
  }

 private:
  std::shared_ptr<AuditBatches> batches_;
  std::shared_ptr<Batch> batch_;
  std::shared_ptr<Wake> wake_;
};

Status AuditBatches::check_room() const {
  if (open_ == nullptr || open_->requests < kMostWaiting) return {};
  return base::fail(ErrorKind::kUnavailable, "Too many requests wait for the audit trail.");
}

AuditBatches::Joined AuditBatches::join_open() {
  if (open_ == nullptr) open_ = std::make_shared<Batch>();
  ++open_->requests;
  if (gathering_ != nullptr && open_->requests >= expected_)
    wake(std::exchange(gathering_, nullptr));
  return {open_, !std::exchange(is_writing_, true)};
}

Result<AuditBatches::Joined> AuditBatches::add(AuditLine line) {
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(check_room());
  Joined joined = join_open();
  joined.batch->lines.emplace_back(joined.batch->requests, std::move(line));
  return joined;
}

Result<AuditBatches::Joined> AuditBatches::add_read(AuditRecord record, base::WallTime time,
                                                    std::uint64_t request_id) {
  std::lock_guard lock(mutex_);
  RETURN_IF_ERROR(check_room());
  Joined joined = join_open();
  Batch& batch = *joined.batch;
  auto [at, is_new] = batch.reads.try_emplace(std::move(record));
  if (!is_new && at->second.requests.size() >= kMostRequests) {
    // A line is full; the next one begins.
    batch.lines.emplace_back(at->second.place, line_of(at->first, at->second));
    at->second = {};
    is_new = true;
  }
  Reads& reads = at->second;
  if (is_new) {
    reads.place = batch.requests;
    reads.first = time;
  }
  reads.last = time;
  reads.requests.push_back(request_id);
  return joined;
}

// Whoever joins behind the look posts to this loop, and finds it waiting.
Task<void> AuditBatches::gather(std::shared_ptr<AuditBatches> batches) {
  const auto loop = co_await asio::this_coro::executor;
  std::shared_ptr<Wake> sleeper;
  {
    std::lock_guard lock(batches->mutex_);
    const Batch* open = batches->open_.get();
    if (open == nullptr || open->requests >= batches->expected_) co_return;
    sleeper = std::make_shared<Wake>(loop, Steady::now() + batches->took_);
    batches->gathering_ = sleeper;
  }
  boost::system::error_code ended;
  co_await sleeper->woken.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  std::lock_guard lock(batches->mutex_);
  batches->gathering_ = nullptr;
}

std::shared_ptr<AuditBatches::Batch> AuditBatches::take() {
  std::lock_guard lock(mutex_);
  if (open_ == nullptr) is_writing_ = false;
  taken_ = Steady::now();
  return std::exchange(open_, nullptr);
}

std::vector<AuditLine> AuditBatches::lines_of(Batch& batch) {
  auto placed = std::move(batch.lines);
  for (auto& [record, reads] : batch.reads) {
    placed.emplace_back(reads.place, line_of(record, reads));
  }
  batch.reads.clear();
  std::ranges::sort(placed, {}, &std::pair<std::size_t, AuditLine>::first);
  std::vector<AuditLine> lines;
  lines.reserve(placed.size());
  for (auto& [place, line] : placed) lines.push_back(std::move(line));
  return lines;
}

std::optional<ChainPlace> AuditBatches::newest() const {
  std::lock_guard lock(mutex_);
  return newest_;
}

void AuditBatches::finish(Batch& batch, const Result<ChainPlace>& written) {
  std::lock_guard lock(mutex_);
  took_ = std::min<Steady::duration>(Steady::now() - taken_, kLongestGathering);
  expected_ = batch.requests + (open_ == nullptr ? 0 : open_->requests);
  if (written) {
    newest_ = *written;
    batch.written.emplace();
  } else {
    // It may stand after all: the next one looks.
    newest_.reset();
    const base::Error& error = written.error();
    batch.written = base::fail(ErrorKind::kUnavailable, "The audit trail cannot be written.")
                        .with_detail(error.message() + ": " + error.detail());
  }
  for (std::shared_ptr<Wake>& sleeper : std::exchange(batch.wakes, {})) wake(std::move(sleeper));
}

// The end is seen under the mutex; the post only ends the wait, and finds the loop waiting, since
// the wait begins in the step that joined.
Task<Status> AuditBatches::wait(std::shared_ptr<AuditBatches> batches,
                                std::shared_ptr<Batch> batch) {
  const auto loop = co_await asio::this_coro::executor;
  const Waiting waiting(std::move(batches), std::move(batch), loop);
  if (Wake* wake = waiting.wake()) {
    boost::system::error_code ended;
    co_await wake->woken.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }
  auto written = waiting.written();
  if (!written) co_return base::fail(ErrorKind::kCancelled, "The caller went away.");
  co_return std::move(*written);
}

}  // namespace lake::audit
