#include <boost/asio/this_coro.hpp>

#include "base/postgres/pool_core.h"
#include "base/postgres/transaction.h"

namespace base::pg {
namespace {

constexpr std::string_view kBegin = "BEGIN ISOLATION LEVEL READ COMMITTED";
constexpr std::string_view kBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

struct Ran {
  Lease lease;
  Outcome outcome;
};

bool found_dead(const Outcome& outcome) {
  return outcome.loss == Loss::kBroken && outcome.sent == Sent::kNothing;
}

// Runs the batch on a connection that is there. One that died while it was
// idle is replaced: nothing was sent on it. A batch that met a statement whose
// tables have changed is undone as a whole, so it runs again, prepared anew.
Task<Result<Ran>> run_first(std::shared_ptr<PoolCore> core, RequestContext context, Batch batch) {
  CO_RETURN_IF_ERROR(check(batch.queries));
  CO_ASSIGN_OR_RETURN(Lease lease, co_await core->acquire(context));
  std::string_view opening = batch.opening;
  std::string_view closing = batch.closing;
  auto again = [&](Outcome& outcome) {
    return Batch{.opening = opening, .queries = std::move(outcome.queries), .closing = closing};
  };
  Outcome outcome = co_await lease.connection().run(std::move(batch), context.deadline);
  if (found_dead(outcome)) {
    CO_RETURN_IF_ERROR(co_await lease.reconnect(context.deadline));
    outcome = co_await lease.connection().run(again(outcome), context.deadline);
  }
  if (outcome.error && is_stale_statement(*outcome.error) && outcome.loss == Loss::kNone) {
    if (lease.connection().in_transaction()) {
      co_await lease.connection().run({.closing = "ROLLBACK"}, context.deadline);
    }
    outcome = co_await lease.connection().run(again(outcome), context.deadline);
  }
  co_return Ran{std::move(lease), std::move(outcome)};
}

Task<Result<RowsPtr>> run_query(std::shared_ptr<PoolCore> core, RequestContext context,
                                Query query) {
  Effect effect = effect_alone(query.statement);
  Batch batch;
  batch.queries.push_back(std::move(query));
  CO_ASSIGN_OR_RETURN(Ran ran, co_await run_first(core, context, std::move(batch)));
  CO_ASSIGN_OR_RETURN(auto rows, settle(std::move(ran.outcome), effect));
  co_return std::move(rows.front());
}

Task<Result<std::vector<RowsPtr>>> run_read(std::shared_ptr<PoolCore> core, RequestContext context,
                                            std::vector<Query> queries) {
  Batch batch{.opening = kBeginRead, .queries = std::move(queries), .closing = "COMMIT"};
  CO_ASSIGN_OR_RETURN(Ran ran, co_await run_first(core, context, std::move(batch)));
  co_return settle(std::move(ran.outcome), Effect::kReads);
}

Task<Result<Pool::Begun>> run_begin(std::shared_ptr<PoolCore> core, RequestContext context,
                                    std::vector<Query> first) {
  Batch batch{.opening = kBegin, .queries = std::move(first), .closing = {}};
  CO_ASSIGN_OR_RETURN(Ran ran, co_await run_first(core, context, std::move(batch)));
  CO_ASSIGN_OR_RETURN(auto rows, settle(std::move(ran.outcome), Effect::kInsideTransaction));
  co_return Pool::Begun{.transaction = make_transaction(std::move(ran.lease), context),
                        .rows = std::move(rows)};
}

Task<Result<void>> run_script(std::shared_ptr<PoolCore> core, RequestContext context,
                              std::string sql) {
  CO_ASSIGN_OR_RETURN(Lease lease, co_await core->acquire(context));
  Outcome outcome = co_await lease.connection().run_script(sql, context.deadline);
  if (found_dead(outcome)) {
    CO_RETURN_IF_ERROR(co_await lease.reconnect(context.deadline));
    outcome = co_await lease.connection().run_script(std::move(sql), context.deadline);
  }
  CO_RETURN_IF_ERROR(settle(std::move(outcome), Effect::kOwnTransaction));
  co_return Status();
}

class CorePool final : public Pool {
 public:
  explicit CorePool(PoolOptions options) : core_(std::make_shared<PoolCore>(std::move(options))) {}
  ~CorePool() override { core_->close(); }

  Task<Result<RowsPtr>> query(RequestContext context, Query query) override {
    return report_cancellation(run_query(core_, context, std::move(query)));
  }
  Task<Result<std::vector<RowsPtr>>> read(RequestContext context,
                                          std::vector<Query> queries) override {
    return report_cancellation(run_read(core_, context, std::move(queries)));
  }
  Task<Result<Begun>> begin(RequestContext context, std::vector<Query> first) override {
    return report_cancellation(run_begin(core_, context, std::move(first)));
  }
  Task<Result<void>> script(RequestContext context, std::string sql) override {
    return report_cancellation(run_script(core_, context, std::move(sql)));
  }
  PoolUse use() const override { return core_->use(); }
  void close() override { core_->close(); }

 private:
  // Shared with the calls under way, which may outlive the pool.
  std::shared_ptr<PoolCore> core_;
};

}  // namespace

std::unique_ptr<Pool> Pool::create(PoolOptions options) {
  return std::make_unique<CorePool>(std::move(options));
}

}  // namespace base::pg
