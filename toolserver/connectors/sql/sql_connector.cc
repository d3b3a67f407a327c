#include "toolserver/connectors/sql/sql_connector.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_call.h"
#include "toolserver/connectors/sql/sql_capabilities.h"
#include "toolserver/connectors/sql/sql_work.h"

namespace tool::connectors {

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

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
  Running(asio::any_io_executor executor, base::Deadline deadline)
      : call(deadline), timer(std::move(executor)) {}

  SqlCall call;
  asio::steady_timer timer;
  std::optional<Outcome<ToolResult>> answer;  // Of the loop.
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
    : work_(std::move(work)), pool_(pool) {}

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
  auto executor = co_await asio::this_coro::executor;
  auto deadline = std::min(call->context.deadline, steady_clock::now() + work_->options().time);
  auto running = std::make_shared<Running>(executor, deadline);
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
