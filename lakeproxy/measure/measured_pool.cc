#include "lakeproxy/measure/measured_pool.h"

#include <utility>

namespace lake::measure {
namespace {

using base::RequestContext;
using base::Result;
using base::Task;
using base::pg::Pool;
using base::pg::Query;
using base::pg::RowsPtr;
using base::pg::Transaction;

class MeasuredTransaction : public Transaction {
 public:
  MeasuredTransaction(std::unique_ptr<Transaction> inner, WaitMeter* meter, std::uint64_t request)
      : inner_(std::move(inner)), meter_(meter), request_(request) {}

  Task<Result<std::vector<RowsPtr>>> run(std::vector<Query> queries) override {
    auto wait = WaitMeter::wait(meter_, request_, Party::kPostgres);
    co_return co_await inner_->run(std::move(queries));
  }
  Task<Result<std::vector<RowsPtr>>> run_and_commit(std::vector<Query> queries) override {
    auto wait = WaitMeter::wait(meter_, request_, Party::kPostgres);
    co_return co_await inner_->run_and_commit(std::move(queries));
  }
  Task<void> rollback() override {
    auto wait = WaitMeter::wait(meter_, request_, Party::kPostgres);
    co_await inner_->rollback();
  }
  Task<Result<void>> script(std::string sql) override {
    auto wait = WaitMeter::wait(meter_, request_, Party::kPostgres);
    co_return co_await inner_->script(std::move(sql));
  }
  void extend(base::Deadline deadline) override { inner_->extend(deadline); }

 private:
  std::unique_ptr<Transaction> inner_;
  WaitMeter* meter_;
  std::uint64_t request_;
};

class MeasuredPool : public Pool {
 public:
  MeasuredPool(std::unique_ptr<Pool> inner, WaitMeter& meter)
      : inner_(std::move(inner)), meter_(&meter) {}

  Task<Result<RowsPtr>> query(RequestContext context, Query query) override {
    auto wait = WaitMeter::wait(meter_, context.request_id, Party::kPostgres);
    co_return co_await inner_->query(context, std::move(query));
  }
  Task<Result<std::vector<RowsPtr>>> read(RequestContext context,
                                          std::vector<Query> queries) override {
    auto wait = WaitMeter::wait(meter_, context.request_id, Party::kPostgres);
    co_return co_await inner_->read(context, std::move(queries));
  }
  Task<Result<Begun>> begin(RequestContext context, std::vector<Query> first) override {
    auto wait = WaitMeter::wait(meter_, context.request_id, Party::kPostgres);
    CO_ASSIGN_OR_RETURN(Begun begun, co_await inner_->begin(context, std::move(first)));
    begun.transaction = std::make_unique<MeasuredTransaction>(std::move(begun.transaction), meter_,
                                                              context.request_id);
    co_return begun;
  }
  Task<Result<void>> script(RequestContext context, std::string sql) override {
    auto wait = WaitMeter::wait(meter_, context.request_id, Party::kPostgres);
    co_return co_await inner_->script(context, std::move(sql));
  }
  [[nodiscard]] base::pg::PoolUse use() const override { return inner_->use(); }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<Pool> inner_;
  WaitMeter* meter_;
};

}  // namespace

std::unique_ptr<Pool> measured(std::unique_ptr<Pool> pool, WaitMeter& meter) {
  return std::make_unique<MeasuredPool>(std::move(pool), meter);
}

}  // namespace lake::measure
