#include "base/postgres/transaction.h"

#include <boost/asio/this_coro.hpp>

namespace base::pg {
namespace {

// The protocol counts parameters in 16 bits.
constexpr std::size_t kMostParams = 65'535;
constexpr std::chrono::seconds kRollbackTime{5};

class LeasedTransaction final : public Transaction {
 public:
  LeasedTransaction(Lease lease, RequestContext context)
      : lease_(std::move(lease)), context_(context) {}

  Task<Result<std::vector<RowsPtr>>> run(std::vector<Query> queries) override {
    return report_cancellation(
        run_batch({.queries = std::move(queries)}, Effect::kInsideTransaction));
  }

  Task<Result<std::vector<RowsPtr>>> run_and_commit(std::vector<Query> queries) override {
    return report_cancellation(
        run_batch({.queries = std::move(queries), .closing = "COMMIT"}, Effect::kCommits));
  }

  Task<Result<void>> script(std::string sql) override {
    return report_cancellation(run_script(std::move(sql)));
  }

  void extend(Deadline deadline) override {
    context_.deadline = std::max(context_.deadline, deadline);
  }

  Task<void> rollback() override {
    if (!lease_) co_return;
    auto deadline = std::chrono::steady_clock::now() + kRollbackTime;
    // The lease rolls back by itself what this cannot.
    co_await report_cancellation(lease_->connection().run({.closing = "ROLLBACK"}, deadline));
    lease_.reset();
  }

 private:
  static Error ended() {
    return Error(ErrorKind::kInternal, std::string(message_for(ErrorKind::kInternal)))
        .with_detail("the transaction has ended");
  }

  Task<Result<std::vector<RowsPtr>>> run_batch(Batch batch, Effect effect) {
    if (!lease_) co_return ended();
    Status fit = check(batch.queries);
    // A COMMIT outside a transaction would succeed, and commit nothing.
    if (fit && lease_->connection().usable() && !lease_->connection().transaction_is_sound()) {
      fit = ended();
    }
    if (!fit) {
      lease_.reset();
      co_return std::move(fit).error();
    }
    Outcome outcome = co_await lease_->connection().run(std::move(batch), context_.deadline);
    auto result = settle(std::move(outcome), effect);
    if (!result || effect == Effect::kCommits) lease_.reset();
    co_return result;
  }

  Task<Result<void>> run_script(std::string sql) {
    if (!lease_) co_return ended();
    Outcome outcome = co_await lease_->connection().run_script(std::move(sql), context_.deadline);
    auto result = settle(std::move(outcome), Effect::kInsideTransaction);
    bool sound = result && lease_->connection().transaction_is_sound();
    if (!sound) lease_.reset();
    if (!result) co_return std::move(result).error();
    if (sound) co_return Status();
    co_return Error(ErrorKind::kInternal, std::string(message_for(ErrorKind::kInternal)))
        .with_detail("the script ended the transaction");
  }

  std::optional<Lease> lease_;  // Empty once the transaction has ended.
  RequestContext context_;
};

}  // namespace

std::unique_ptr<Transaction> make_transaction(Lease lease, RequestContext context) {
  return std::make_unique<LeasedTransaction>(std::move(lease), context);
}

Status check(const std::vector<Query>& queries) {
  for (const auto& query : queries) {
    if (query.params.size() > kMostParams) {
      return fail(ErrorKind::kInvalid, "a statement has too many values");
    }
    for (const auto& value : query.params) {
      if (value && value->contains('\0')) {
        return fail(ErrorKind::kInvalid, "text must not hold a zero byte");
      }
    }
  }
  return {};
}

}  // namespace base::pg
