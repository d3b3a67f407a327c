#include "toolserver/connectors/sql/sql_connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/connectors/sql/sql_capabilities.h"
#include "toolserver/connectors/sql/sql_work.h"

namespace tool::connectors {

// All places, and those that each principal holds.
class SqlPlaces {
 public:
  using Caller = std::pair<std::string, std::string>;  // Issuer and subject.

  explicit SqlPlaces(std::size_t most) : most_(most) {}

  /// Null, or why there is none for `caller`: one principal holds at most half.
  const char* take(const Caller& caller) {
    std::lock_guard lock(mutex_);
    if (taken_ >= most_) return "sql: too many statements run now";
    std::size_t& own = by_caller_[caller];
    if (own >= std::max<std::size_t>(1, most_ / 2))
      return "sql: too many statements of yours run now";
    ++own;
    ++taken_;
    return nullptr;
  }
  void give_back(const Caller& caller) {
    std::lock_guard lock(mutex_);
    --taken_;
    auto found = by_caller_.find(caller);
    if (--found->second == 0) by_caller_.erase(found);
  }

 private:
  const std::size_t most_;
  std::mutex mutex_;
  std::size_t taken_ = 0;                    // Guarded by mutex_, as the next.
  std::map<Caller, std::size_t> by_caller_;  // Without those that hold none.
};
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A place among the calls that may run; given back when the work has ended.
class Place {
 public:
  Place(std::shared_ptr<SqlPlaces> places, SqlPlaces::Caller caller)
      : places_(std::move(places)), caller_(std::move(caller)) {}
  Place(Place&& other) noexcept = default;
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (places_ != nullptr) places_->give_back(caller_);
  }

 private:
  std::shared_ptr<SqlPlaces> places_;
  SqlPlaces::Caller caller_;
};

Outcome<ToolResult> perform(SqlWork& work, const SqlRequest& request, SqlCall& call) {
  struct Perform {
    SqlWork& work;
    SqlCall& call;
    Outcome<ToolResult> operator()(const QueryRequest& query) const {
      return work.query(query, call);
    }
    Outcome<ToolResult> operator()(const LoadRequest& load) const { return work.load(load, call); }
    Outcome<ToolResult> operator()(const UnloadRequest& unload) const {
      return work.unload(unload, call);
    }
    Outcome<ToolResult> operator()(const ListRequest&) const { return work.list_tables(); }
    Outcome<ToolResult> operator()(const DescribeRequest& describe) const {
      return work.describe(describe.table.text());
    }
  };
  // It may have waited for a thread.
  if (auto ended = call.ended()) return *std::move(ended);
  try {
    return std::visit(Perform{work, call}, request);
  } catch (const std::bad_alloc&) {
    return refuse(Code::kLimit, "sql: the answer needs more memory than there is");
  }
}

// Shared by the loop and the thread, so that neither has to outlive the other.
struct Running {
  Running(asio::any_io_executor executor, base::Deadline deadline, Place held)
      : call(deadline), timer(std::move(executor)), place(std::move(held)) {}

  SqlCall call;
  asio::steady_timer timer;
  std::optional<Outcome<ToolResult>> answer;  // Of the loop.
  Place place;
  const steady_clock::time_point start = steady_clock::now();
};

// In seconds, which never fall: those that passed and, where the engine can
// tell which part is done, those that it should take in all.
void report(Running& running, const Progress& progress) {
  constexpr double kLeastPart = 0.001;
  if (!progress) return;
  std::chrono::duration<double> passed = steady_clock::now() - running.start;
  auto part = running.call.progress();
  std::optional<double> total;
  if (part && *part >= kLeastPart) total = passed.count() / *part;
  progress(passed.count(), total, fmt::format("seconds, {} rows", running.call.rows()));
}

// Waits for the answer, with a look at the clock and at the caller in between.
base::Task<void> watch(std::shared_ptr<Running> running, Progress progress) {
  constexpr milliseconds kTick{20};
  constexpr milliseconds kReport{500};
  auto cancellation = co_await asio::this_coro::cancellation_state;
  auto next_report = steady_clock::now() + kReport;
  while (!running->answer) {
    running->timer.expires_after(kTick);
    co_await running->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (running->answer) break;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      running->call.cancel();
    } else if (running->call.expired()) {
      running->call.stop();
    } else if (steady_clock::now() >= next_report) {
      next_report += kReport;
      report(*running, progress);
    }
  }
}

}  // namespace

SqlConnector::SqlConnector(std::shared_ptr<SqlWork> work, base::BlockingPool& pool)
    : work_(std::move(work)),
      pool_(pool),
      places_(std::make_shared<SqlPlaces>(work_->options().calls)) {}

SqlConnector::~SqlConnector() = default;

base::Result<std::unique_ptr<SqlConnector>> SqlConnector::open(SqlOptions options,
                                                               base::BlockingPool& pool) {
  ASSIGN_OR_RETURN(std::unique_ptr<SqlWork> work, SqlWork::open(std::move(options)));
  return std::unique_ptr<SqlConnector>(new SqlConnector(std::move(work), pool));
}

std::vector<Capability> SqlConnector::capabilities() const {
  return sql_capabilities(work_->options());
}

std::size_t SqlConnector::most_at_once() const { return work_->options().calls; }

base::Task<Outcome<ToolResult>> SqlConnector::invoke(Approved<Invocation> call, Progress progress) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  auto request = sql_request(*call, work_->options());
  if (!request) co_return std::move(request).error();
  SqlPlaces::Caller caller{call->principal.issuer, call->principal.subject};
  if (const char* reason = places_->take(caller)) {
    co_return Fault{Code::kBusy, reason, std::chrono::seconds(1), {}};
  }
  Place place(places_, std::move(caller));
  auto executor = co_await asio::this_coro::executor;
  auto deadline = std::min(call->context.deadline, steady_clock::now() + work_->options().time);
  auto running = std::make_shared<Running>(executor, deadline, std::move(place));
  auto job = [work = work_, running, wanted = *std::move(request)]() -> Outcome<ToolResult> {
    return perform(*work, wanted, running->call);
  };
  asio::co_spawn(executor, pool_.run(std::move(job)),
                 [running](std::exception_ptr error, Outcome<ToolResult> answer) {
                   // The work answers with results; what it throws is a defect.
                   if (error) std::terminate();
                   running->answer.emplace(std::move(answer));
                   running->timer.cancel();
                 });
  co_await watch(running, std::move(progress));
  co_return *std::move(running->answer);
}

}  // namespace tool::connectors
