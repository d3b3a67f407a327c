#include "lakeproxy/to_iceberg/publish/record_queue.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "lakeproxy/ducklake/lake/reasons.h"

namespace lake::publish {

namespace asio = boost::asio;
using base::ErrorKind;
using base::Status;
using base::Task;

namespace {

// A batch's own, whoever waits for it and however long.
constexpr std::chrono::seconds kTimeToWrite{10};

// Ends with the timer or with its cancellation.
Task<void> wait(asio::steady_timer* timer) {
  boost::system::error_code ended;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ended));
}

base::Error stale() {
  return base::fail(ErrorKind::kConflict, "the publication was not recorded in time")
      .with_reason(ducklake::kStale);
}

base::metrics::Counter counter(base::metrics::Registry& metrics, const char* result) {
  return metrics.counter("lakeproxy_publication_records_total",
                         "Publications of tables, by what became of their records.",
                         {{"result", result}});
}

using PendingList = std::vector<PendingRecord*>;

// Each table's in their order.
std::vector<PendingList> by_table(PendingList all_pending) {
  std::map<std::pair<std::string, std::int64_t>, PendingList> tables;
  for (PendingRecord* pending : all_pending) {
    const ducklake::Published& published = pending->published();
    tables[{published.metadata_schema, published.table.value}].push_back(pending);
  }
  std::vector<PendingList> parts;
  for (auto& [table, part] : tables) parts.push_back(std::move(part));
  return parts;
}

}  // namespace

PendingRecord::PendingRecord(ducklake::Published published, std::shared_ptr<PendingRecord> before)
    : published_(std::move(published)), before_(std::move(before)) {}

std::shared_ptr<PendingRecord> PendingRecord::before() {
  std::lock_guard lock(mutex_);
  if (before_ && before_->is_recorded()) before_ = nullptr;
  return before_;
}

void PendingRecord::record() {
  state_ = State::kRecorded;
  std::lock_guard lock(mutex_);
  before_ = nullptr;
}

void PendingRecord::fail() {
  State state = state_;
  while (state != State::kRecorded && !state_.compare_exchange_weak(state, State::kFailed)) {
  }
}

RecordMetrics::RecordMetrics(base::metrics::Registry& metrics)
    : transactions(metrics.counter("lakeproxy_publication_record_transactions_total",
                                   "Transactions that recorded publications.")),
      recorded(counter(metrics, "recorded")),
      stale(counter(metrics, "stale")),
      failed(counter(metrics, "failed")),
      waiting(metrics.gauge("lakeproxy_publication_records_waiting",
                            "Tasks that wait until a publication is recorded.")) {}

struct RecordQueue::Batch {
  Batch(const asio::any_io_executor& loop, std::chrono::milliseconds wait)
      : closing(loop, wait), done(loop, asio::steady_timer::time_point::max()) {}

  /// Adds one and those before it, the oldest first.
  void add(const std::shared_ptr<PendingRecord>& pending);

  std::vector<std::shared_ptr<PendingRecord>> all_pending;
  asio::steady_timer closing;  ///< Cancelled when the batch waits no longer.
  asio::steady_timer done;     ///< Cancelled when it is written.
  bool is_done = false;
  std::map<const PendingRecord*, base::Error> errors;  ///< Other than stale().
};

void RecordQueue::Batch::add(const std::shared_ptr<PendingRecord>& pending) {
  std::vector<std::shared_ptr<PendingRecord>> chain;
  for (auto next = pending; next && !next->is_recorded(); next = next->before()) {
    chain.push_back(next);
  }
  for (auto& one : chain | std::views::reverse) {
    if (std::ranges::find(all_pending, one) == all_pending.end()) all_pending.push_back(one);
  }
}

RecordQueue::RecordQueue(base::pg::Pool& pool, const RecordMetrics& metrics, RecordOptions options)
    : pool_(&pool), metrics_(&metrics), options_(options) {}

RecordQueue::~RecordQueue() = default;

Task<Status> RecordQueue::record(std::shared_ptr<PendingRecord> pending, RecordTime time) {
  if (pending->is_recorded()) co_return Status{};
  if (pending->has_failed()) co_return stale();
  if (waiting_ >= options_.most) {
    pending->fail();
    metrics_->failed.add();
    co_return base::fail(ErrorKind::kUnavailable, "too many publications wait for their records");
  }
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const bool leads = open_ == nullptr;
  if (leads) {
    open_ = std::make_shared<Batch>(co_await asio::this_coro::executor, options_.wait);
  }
  auto batch = open_;
  batch->add(pending);
  if (time == RecordTime::kNow) batch->closing.expires_after(std::chrono::milliseconds(0));
  if (batch->all_pending.size() >= options_.publications) {
    open_ = nullptr;
    batch->closing.expires_after(std::chrono::milliseconds(0));
  }
  ++waiting_;
  metrics_->waiting.add(1);
  if (leads) {
    co_await lead(batch);
  } else if (!batch->is_done) {
    co_await wait(&batch->done);
  }
  --waiting_;
  metrics_->waiting.add(-1);
  if (pending->is_recorded()) co_return Status{};
  if (auto error = batch->errors.find(pending.get()); error != batch->errors.end()) {
    co_return error->second;
  }
  co_return stale();
}

Task<void> RecordQueue::lead(std::shared_ptr<Batch> batch) {
  co_await wait(&batch->closing);
  while (written_) {
    auto other = written_;
    co_await wait(&other->done);
  }
  if (open_ == batch) open_ = nullptr;
  written_ = batch;
  co_await write(batch.get());
  written_ = nullptr;
  batch->is_done = true;
  batch->done.cancel();
}

Task<void> RecordQueue::write(Batch* batch) {
  std::vector<PendingRecord*> all_pending;
  for (const auto& pending : batch->all_pending) {
    if (pending->is_recorded()) continue;
    auto before = pending->before();
    if (before && before->has_failed()) pending->fail();
    if (!pending->has_failed()) all_pending.push_back(pending.get());
  }
  if (all_pending.empty()) co_return;
  auto written = co_await write_together(all_pending);
  if (written) co_return;
  const ErrorKind kind = written.error().kind();
  const bool is_away = kind == ErrorKind::kUnavailable || kind == ErrorKind::kTimeout;
  const auto tables = by_table(all_pending);
  if (is_away || tables.size() == 1) {
    give_up(batch, all_pending, written.error());
    co_return;
  }
  // What cannot be written of one table must not keep the others from being recorded.
  for (const PendingList& of_table : tables) {
    auto alone = co_await write_together(of_table);
    if (!alone) give_up(batch, of_table, alone.error());
  }
}

void RecordQueue::give_up(Batch* batch, const std::vector<PendingRecord*>& all_pending,
                          const base::Error& error) {
  for (PendingRecord* pending : all_pending) {
    pending->fail();
    metrics_->failed.add();
    batch->errors.emplace(pending, error);
  }
}

// In one transaction. After an error nothing is known of any of them.
Task<Status> RecordQueue::write_together(std::vector<PendingRecord*> all_pending) {
  std::vector<const ducklake::Published*> published;
  for (const PendingRecord* pending : all_pending) published.push_back(&pending->published());
  base::RequestContext own;
  own.deadline = std::chrono::steady_clock::now() + kTimeToWrite;
  metrics_->transactions.add();
  CO_ASSIGN_OR_RETURN(auto all, co_await ducklake::record_published(own, pool_, published));
  for (std::size_t i = 0; i < all_pending.size(); ++i) {
    if (all[i]) {
      all_pending[i]->record();
      metrics_->recorded.add();
    } else {
      all_pending[i]->fail();
      metrics_->stale.add();
    }
  }
  co_return Status{};
}

void RecordQueue::hurry() {
  options_.wait = std::chrono::milliseconds(0);
  if (open_) open_->closing.expires_after(options_.wait);
}

}  // namespace lake::publish
