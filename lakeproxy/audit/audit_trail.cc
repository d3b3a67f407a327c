#include "lakeproxy/audit/audit_trail.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "lakeproxy/audit/audit_log.h"

namespace lake::audit {

namespace asio = boost::asio;
using base::ErrorKind;
using base::Status;
using base::Task;

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeToWrite{10};
constexpr std::chrono::seconds kTimeToPurge{60};
constexpr std::chrono::hours kBetweenPurges{1};
constexpr std::chrono::milliseconds kRound{1'000};  // A new refusal is stored by then.
constexpr std::size_t kMostSums = 64;

base::RequestContext within(std::chrono::seconds time) {
  base::RequestContext own;
  own.deadline = Steady::now() + time;
  return own;
}

// Equal but for their detail.
using SumKey =
    std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;

SumKey key_of(const AuditRecord& record) {
  return {record.operation, record.decision, record.object,
          record.principal, record.issuer,   record.actor};
}

// Refusals that are counted.
struct Sum {
  AuditRecord record;
  std::string request_id;
  base::WallTime first, last;
  std::int64_t count = 0;  ///< Since the last line.
  Steady::time_point due;  ///< When the next line may be written.
};

AuditLine line_of(const Sum& sum) {
  AuditLine line = line_of(sum.record, sum.first, sum.request_id);
  if (sum.count == 1) return line;
  line.detail["count"] = sum.count;
  line.detail["last"] = to_text(sum.last);
  return line;
}

}  // namespace

struct AuditTrail::State : std::enable_shared_from_this<State> {
  State(base::pg::Pool& pool, base::TaskGroup& group, const base::Clock& time,
        base::log::Logger logger, AuditOptions given, std::shared_ptr<AuditBatches> shared)
      : options(std::move(given)),
        log(pool, options.metadata_schema),
        batches(shared != nullptr ? std::move(shared) : std::make_shared<AuditBatches>()),
        tasks(&group),
        clock(&time),
        output(logger) {}

  void start(const AuditBatches::Joined& joined);
  std::vector<AuditLine> take_due_sums(Steady::time_point now);
  void put_back(const std::vector<std::pair<SumKey, Sum>>& unstored);
  static Task<void> write_batches(std::shared_ptr<State> state);
  static Task<void> write_sums(std::shared_ptr<State> state);
  static Task<void> purge(std::shared_ptr<State> state);

  AuditOptions options;
  AuditLog log;
  std::shared_ptr<AuditBatches> batches;
  base::TaskGroup* tasks;
  const base::Clock* clock;
  base::log::Logger output;

  std::map<SumKey, Sum> sums;
  std::vector<std::pair<SumKey, Sum>> taken;  ///< On their way to PostgreSQL.
  asio::steady_timer* pause = nullptr;        ///< Between two rounds; null: none is to come.
  bool is_summing = false;
  bool hurries = false;

  Steady::time_point next_purge = Steady::now();
};

// One insert at a time; what comes meanwhile goes into the next.
Task<void> AuditTrail::State::write_batches(std::shared_ptr<State> state) {
  for (;;) {
    co_await AuditBatches::gather(state->batches);
    auto batch = state->batches->take();
    if (batch == nullptr) co_return;
    auto written = co_await state->log.append(within(kTimeToWrite), AuditBatches::lines_of(*batch),
                                              state->batches->newest());
    state->batches->finish(*batch, written);
    const bool purges = state->options.retention.count() > 0 && Steady::now() >= state->next_purge;
    if (written && purges && !state->hurries) {
      state->next_purge = Steady::now() + kBetweenPurges;
      state->tasks->spawn(purge(state));
    }
  }
}

Task<void> AuditTrail::State::purge(std::shared_ptr<State> state) {
  const base::WallTime limit = state->clock->now() - state->options.retention;
  for (std::int64_t removed = 1; removed > 0 && !state->hurries;) {
    auto done = co_await state->log.purge(within(kTimeToPurge), limit);
    if (!done) {
      state->output.warning("old audit records could not be removed",
                            {{"error", done.error().message()}, {"detail", done.error().detail()}});
      co_return;
    }
    removed = *done;
  }
}

std::vector<AuditLine> AuditTrail::State::take_due_sums(Steady::time_point now) {
  std::vector<AuditLine> lines;
  for (auto at = sums.begin(); at != sums.end();) {
    Sum& sum = at->second;
    if (!hurries && now < sum.due) {
      ++at;
    } else if (sum.count == 0) {
      at = sums.erase(at);
    } else {
      lines.push_back(line_of(sum));
      taken.emplace_back(at->first, sum);
      sum.count = 0;
      sum.due = now + options.sum_time;
      ++at;
    }
  }
  return lines;
}

void AuditTrail::State::put_back(const std::vector<std::pair<SumKey, Sum>>& unstored) {
  for (const auto& [key, before] : unstored) {
    auto [at, is_new] = sums.try_emplace(key, before);
    if (is_new) continue;
    Sum& sum = at->second;
    if (sum.count == 0) sum.last = before.last;
    sum.record = before.record;
    sum.request_id = before.request_id;
    sum.first = before.first;
    sum.count += before.count;
    sum.due = Steady::now();
  }
}

Task<void> AuditTrail::State::write_sums(std::shared_ptr<State> state) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  state->pause = &pause;
  while (!state->sums.empty()) {
    auto lines = state->take_due_sums(Steady::now());
    if (!lines.empty()) {
      auto stored = co_await state->log.append(within(kTimeToWrite), std::move(lines));
      const auto taken = std::exchange(state->taken, {});
      if (!stored) {
        state->output.warning("refusals could not be stored in the audit trail",
                              {{"error", stored.error().message()},
                               {"detail", stored.error().detail()},
                               {"kinds", taken.size()}});
        if (state->hurries) break;
        state->put_back(taken);
      }
    }
    boost::system::error_code ended;
    pause.expires_after(state->hurries ? std::chrono::milliseconds(0)
                                       : std::min(state->options.sum_time, kRound));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  }
  state->pause = nullptr;
  state->is_summing = false;
}

AuditRecord record_of(const auth::Principal& principal, std::string operation, std::string object,
                      std::string decision) {
  AuditRecord record;
  record.operation = std::move(operation);
  record.object = std::move(object);
  record.decision = std::move(decision);
  record.principal = principal.subject;
  record.issuer = principal.issuer;
  record.actor = principal.actor;
  return record;
}

AuditTrail::AuditTrail(base::pg::Pool& pool, base::TaskGroup& tasks, const base::Clock& clock,
                       base::log::Logger log, AuditOptions options,
                       std::shared_ptr<AuditBatches> batches)
    : state_(std::make_shared<State>(pool, tasks, clock, log, std::move(options),
                                     std::move(batches))) {}

AuditTrail::~AuditTrail() { hurry(); }

// Whoever leads starts to write in the step that joined, so that nobody waits for one who has gone.
void AuditTrail::State::start(const AuditBatches::Joined& joined) {
  if (joined.leads) tasks->spawn(write_batches(shared_from_this()));
}

Task<Status> AuditTrail::write(base::RequestContext context, AuditRecord record) {
  auto state = state_;
  AuditLine line = audit::line_of(std::move(record), state->clock->now(), context.id_text());
  CO_ASSIGN_OR_RETURN(auto joined, state->batches->add(std::move(line)));
  state->start(joined);
  co_return co_await AuditBatches::wait(state->batches, std::move(joined.batch));
}

Task<Status> AuditTrail::write_read(base::RequestContext context, AuditRecord record) {
  auto state = state_;
  CO_ASSIGN_OR_RETURN(auto joined, state->batches->add_read(std::move(record), state->clock->now(),
                                                            context.request_id));
  state->start(joined);
  co_return co_await AuditBatches::wait(state->batches, std::move(joined.batch));
}

void AuditTrail::write_summed(const base::RequestContext& context, AuditRecord record) {
  SumKey key = key_of(record);
  if (state_->sums.size() >= kMostSums && !state_->sums.contains(key)) {
    AuditRecord many{.operation = std::move(record.operation),
                     .decision = std::move(record.decision)};
    many.detail = R"({"text":"of many"})";
    record = std::move(many);
    key = key_of(record);
  }
  const base::WallTime now = state_->clock->now();
  auto [at, is_new] = state_->sums.try_emplace(std::move(key));
  Sum& sum = at->second;
  if (is_new) sum.due = Steady::now();
  if (sum.count == 0) {
    sum.record = std::move(record);
    sum.request_id = context.id_text();
    sum.first = now;
  }
  sum.last = now;
  ++sum.count;
  if (!std::exchange(state_->is_summing, true)) {
    state_->tasks->spawn(State::write_sums(state_));
  }
}

void AuditTrail::hurry() {
  state_->hurries = true;
  if (state_->pause != nullptr) state_->pause->cancel();
}

}  // namespace lake::audit
