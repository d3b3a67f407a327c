#include "toolserver/connectors/sql/sql_connector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <filesystem>
#include <utility>

#include "toolserver/connectors/sql/sql_arguments.h"
#include "toolserver/connectors/sql/sql_capabilities.h"
#include "toolserver/connectors/sql/sql_child.h"

namespace tool::connectors {

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The engine counts what it stores towards its memory, and not what it makes
// for the rows that it works on; nor the program itself and its threads' stacks.
std::uint64_t process_memory(const SqlOptions& options) {
  constexpr std::uint64_t kProgram = 1ULL << 30;
  constexpr std::uint64_t kStack = 8ULL << 20;
  return 2 * options.memory_bytes + 4 * options.bytes + kProgram +
         (options.threads + options.calls) * kStack;
}

// In seconds, which never fall: those that passed and, where the engine can
// tell which part is done, those that it should take in all.
void report(const Progress& progress, const std::string& text, steady_clock::time_point start) {
  constexpr double kLeastPart = 0.001;
  auto note = read_note(text);
  if (!note) return;
  std::chrono::duration<double> passed = steady_clock::now() - start;
  std::optional<double> total;
  if (note->part >= kLeastPart) total = passed.count() / note->part;
  progress(passed.count(), total, fmt::format("seconds, {} rows", note->rows));
}

Fault not_answered(const base::Error& error) {
  switch (error.kind()) {
    case base::ErrorKind::kTimeout:
      return refuse(Code::kTimeout, "sql: the statement did not finish in time");
    case base::ErrorKind::kCancelled:
      return refuse(Code::kCancelled, "sql: the call was cancelled");
    case base::ErrorKind::kRateLimited:
      return Fault{
          Code::kBusy, "sql: too many calls wait for the engine", std::chrono::seconds(1), {}};
    default:
      return Fault{Code::kUpstream,
                   "sql: the engine's process ended while the statement ran, as it does at the end "
                   "of its memory; nothing was changed",
                   {},
                   error.detail()};
  }
}

}  // namespace

isolate::Walls walls_of(const SqlOptions& options) {
  isolate::Walls walls;
  walls.memory_bytes = process_memory(options);
  walls.files = 256;
  walls.demand = options.demand;
  // Without the engine's fence a link may lead anywhere.
  std::string readable = options.enable_external_access ? "/" : options.data_dir;
  if (!readable.empty()) walls.places.push_back({std::move(readable), isolate::Access::kRead});
  // The engine looks at them when it opens, and fails where it cannot read what is there.
  for (const char* path : {"/proc/self/cgroup", "/sys/fs/cgroup"}) {
    walls.places.push_back({path, isolate::Access::kRead});
  }
  return walls;
}

base::Task<Outcome<ToolResult>> run_order(isolate::PartClient* engine, SqlOrder order,
                                          base::Deadline deadline, Progress progress) {
  const auto start = steady_clock::now();
  order.time = std::chrono::duration_cast<milliseconds>(deadline - start);
  std::function<void(const std::string&)> on_note;
  if (progress) {
    on_note = [progress = std::move(progress), start](const std::string& note) {
      report(progress, note, start);
    };
  }
  auto bytes = co_await engine->call(encode(order), deadline, std::move(on_note));
  if (!bytes) co_return not_answered(bytes.error());
  auto answer = read_answer(*bytes);
  if (!answer) {
    co_return Fault{
        Code::kInternal, "sql: the engine's answer is none", {}, answer.error().message()};
  }
  co_return *std::move(answer);
}

SqlConnector::SqlConnector(SqlOptions options, std::shared_ptr<Saved> saved,
                           std::unique_ptr<isolate::PartClient> engine)
    : options_(std::move(options)), saved_(std::move(saved)), engine_(std::move(engine)) {}

SqlConnector::~SqlConnector() = default;

base::Result<std::unique_ptr<SqlConnector>> SqlConnector::open(SqlOptions options,
                                                               OnEvent on_event) {
  RETURN_IF_ERROR(check(options));
  auto saved = std::make_shared<Saved>();
  isolate::PartOptions part{.role = std::string(kSqlRole), .walls = walls_of(options)};
  part.answer_bytes = sql_answer_bytes(options.bytes);
  part.on_event = std::move(on_event);
  // Where a process ended before its first call, the tables may be the reason.
  part.opening = [options, saved](bool after_failure) {
    SqlOpening opening{options, {}};
    std::lock_guard lock(saved->mutex);
    if (after_failure) saved->tables.clear();
    for (const auto& [name, table] : saved->tables) opening.tables.push_back(table);
    return encode(opening);
  };
  ASSIGN_OR_RETURN(auto engine, isolate::PartClient::start(std::move(part)));
  return std::unique_ptr<SqlConnector>(
      new SqlConnector(std::move(options), std::move(saved), std::move(engine)));
}

std::vector<Capability> SqlConnector::capabilities() const { return sql_capabilities(options_); }

std::size_t SqlConnector::most_at_once() const { return options_.calls; }

base::Task<Outcome<ToolResult>> SqlConnector::invoke(Approved<Invocation> call, Progress progress) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  auto request = sql_request(*call, options_);
  if (!request) co_return std::move(request).error();
  auto deadline = std::min(call->context.deadline, steady_clock::now() + options_.time);
  auto answer = co_await run_order(
      engine_.get(),
      {.tool = call->tool.text(), .args = call->args, .dry_run = call->dry_run, .time = {}},
      deadline, std::move(progress));
  if (!answer || answer->is_error || call->dry_run) co_return answer;
  std::lock_guard lock(saved_->mutex);
  if (const auto* load = std::get_if<LoadRequest>(&*request)) {
    saved_->tables[load->table.key()] = {load->table.text(), load->file.path()};
  } else if (const auto* unload = std::get_if<UnloadRequest>(&*request)) {
    saved_->tables.erase(unload->table.key());
  }
  co_return answer;
}

base::Task<Outcome<void>> SqlConnector::keeps_to_tables(const Invocation& call,
                                                        std::string argument,
                                                        std::vector<std::string> tables) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto* value = call.args.if_contains(argument);
  bool is_text = value != nullptr && value->is_string();
  if (is_text && argument == "sql" && call.tool.text() == "sql.query") {
    auto deadline = std::min(call.context.deadline, steady_clock::now() + options_.time);
    auto answer = co_await run_order(
        engine_.get(),
        {.tool = call.tool.text(), .args = call.args, .tables = std::move(tables), .time = {}},
        deadline, {});
    if (!answer) co_return std::move(answer).error();
    co_return Outcome<void>();
  }
  if (!is_text || argument != "table") {
    co_return refuse(Code::kPolicy, "args." + argument + ": the tool cannot tell its tables");
  }
  if (std::ranges::find(tables, lower_ascii(value->get_string())) == tables.end()) {
    co_return refuse(Code::kPolicy,
                     "args.table: must be one of " + fmt::format("{}", fmt::join(tables, ", ")));
  }
  co_return Outcome<void>();
}

}  // namespace tool::connectors
