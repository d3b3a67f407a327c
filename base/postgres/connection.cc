#include "base/postgres/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <cstdlib>

namespace base::pg {
namespace {

namespace asio = boost::asio;

// Below this size libpq writes nothing before the sync, so COMMIT and what
// stands before it leave together.
constexpr std::size_t kSentAtOnce = std::size_t{16} << 10;

std::size_t size_of(const Query& query) {
  std::size_t size = query.statement.sql.size();
  for (const auto& value : query.params) size += value ? value->size() + 4 : 4;
  return size;
}

std::size_t size_of(const std::vector<Query>& queries) {
  std::size_t size = 0;
  for (const auto& query : queries) size += size_of(query);
  return size;
}

}  // namespace

Task<Result<std::unique_ptr<Connection>>> Connection::open(
    std::shared_ptr<const PoolOptions> options, Deadline deadline) {
  auto executor = co_await asio::this_coro::executor;
  CO_ASSIGN_OR_RETURN(ConnectionPtr made, co_await connect(options, deadline));
  std::unique_ptr<Connection> connection(new Connection(std::move(made), executor, *options));
  if (connection->broken_) {
    co_return fail(ErrorKind::kUnavailable, std::string(message_for(ErrorKind::kUnavailable)))
        .with_detail("no file descriptor left");
  }
  co_return connection;
}

Connection::Connection(ConnectionPtr connection, const asio::any_io_executor& executor,
                       const PoolOptions& options)
    : connection_(std::move(connection)),
      socket_(executor),
      cache_(std::max<std::size_t>(options.statements_cached, 1)),
      commit_answer_time_(options.commit_answer_time) {
  PQsetNoticeReceiver(connection_.get(), &Connection::on_notice, this);
  broken_ = !socket_.watch(PQsocket(connection_.get()));
}

// Between two runs an error can only be a farewell: the server is about to
// close the connection.
void Connection::on_notice(void* self, const PGresult* notice) {
  if (server_error(notice).severity != Severity::kError) {
    static_cast<Connection*>(self)->broken_ = true;
  }
}

bool Connection::in_transaction() const {
  return PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

bool Connection::transaction_is_sound() const {
  return PQtransactionStatus(connection_.get()) == PQTRANS_INTRANS;
}

void Connection::abort() {
  broken_ = true;
  socket_.cancel();
}

Task<Outcome> Connection::run(Batch batch, Deadline deadline) {
  if (running_) std::abort();
  Outcome outcome;
  outcome.loss = co_await not_now(deadline);
  if (outcome.loss == Loss::kNone) {
    // Stays set when the caller's frame goes away in the middle.
    running_ = true;
    Pipeline pipeline(connection_.get(), cache_);
    outcome.sent = Sent::kWithoutClosing;
    outcome.loss = co_await send_and_receive(pipeline, batch, outcome, deadline);
    // On a socket that is still open this would block.
    if (PQstatus(connection_.get()) == CONNECTION_BAD) pipeline.salvage(outcome);
    if (outcome.loss != Loss::kNone) broken_ = true;
    if (outcome.error && outcome.error->severity != Severity::kError) broken_ = true;
    if (outcome.error && takes_no_writes(*outcome.error)) broken_ = true;
    if (outcome.error && is_stale_statement(*outcome.error)) cache_.forget_all();
    running_ = false;
    if (!in_transaction()) rollback_claimed_ = false;
  }
  outcome.queries = std::move(batch.queries);
  co_return outcome;
}

Task<Loss> Connection::not_now(Deadline deadline) {
  auto state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none) co_return Loss::kCancelled;
  if (std::chrono::steady_clock::now() >= deadline) co_return Loss::kDeadline;
  if (!server_is_there()) {
    broken_ = true;
    co_return Loss::kBroken;
  }
  co_return Loss::kNone;
}

// Looks without waiting. What was sent unasked (a setting that changed, a
// farewell) is read; the end of the stream is seen before anything is written
// into the void.
bool Connection::server_is_there() {
  while (!broken_) {
    char byte = 0;
    ssize_t got = ::recv(PQsocket(connection_.get()), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || !receive()) return false;
  }
  return false;
}

bool Connection::receive() {
  if (PQconsumeInput(connection_.get()) != 1) return false;
  PQisBusy(connection_.get());  // Parses what came.
  return PQstatus(connection_.get()) == CONNECTION_OK;
}

Task<Loss> Connection::hear(std::vector<std::string>* payloads, Deadline deadline) {
  if (running_) std::abort();
  running_ = true;  // Stays set when the caller's frame goes away in the middle.
  Loss loss = Loss::kNone;
  while (loss == Loss::kNone) {
    if (broken_ || !receive()) {
      broken_ = true;
      loss = Loss::kBroken;
      break;
    }
    while (PGnotify* heard = PQnotifies(connection_.get())) {
      std::string payload = heard->extra;
      PQfreemem(heard);
      if (std::ranges::find(*payloads, payload) == payloads->end()) {
        payloads->push_back(std::move(payload));
      }
    }
    if (!payloads->empty()) break;
    loss = co_await socket_.wait(Interest::kRead, deadline);
  }
  running_ = false;
  co_return loss;
}

// The server's clock for idle transactions runs from its answer to a sync to the
// end of the next message. So values that are too long to leave at once are the
// first message behind a sync: if we freeze in the middle of them, the transaction
// and its locks still end.
bool Connection::queue(Pipeline& pipeline, const Batch& batch) {
  using Role = Pipeline::Role;
  const bool transaction = in_transaction() || !batch.opening.empty();
  std::size_t unsynced = batch.opening.size();
  if (!batch.opening.empty() && !pipeline.add(Role::kOpening, batch.opening, {})) return false;
  for (const auto& query : batch.queries) {
    const std::size_t size = size_of(query);
    if (transaction && unsynced + size > kSentAtOnce) {
      if (!pipeline.prepare(query.statement.sql) || !pipeline.add_sync()) return false;
      unsynced = 0;
    }
    unsynced += size;
    if (!pipeline.add(Role::kQuery, query.statement.sql, query.params)) return false;
  }
  return true;
}

Task<Loss> Connection::send_and_receive(Pipeline& pipeline, const Batch& batch, Outcome& outcome,
                                        Deadline deadline) {
  using Role = Pipeline::Role;
  // Inside a transaction an unused name can wait.
  bool queued = in_transaction() || pipeline.add_cleanup(cache_.take_cleanup());
  if (!queued || !queue(pipeline, batch)) co_return Loss::kBroken;
  if (!batch.closing.empty()) {
    if (size_of(batch.queries) > kSentAtOnce) {
      // COMMIT is held back until all before it is out, so that a connection
      // that breaks on the way has certainly not committed.
      Loss loss = co_await send_all(deadline);
      if (loss == Loss::kNone && !server_is_there()) loss = Loss::kBroken;
      if (loss != Loss::kNone) co_return loss;
    }
    outcome.sent = Sent::kAll;
    if (!pipeline.add(Role::kClosing, batch.closing, {})) co_return Loss::kBroken;
    // A batch that opens its transaction itself only reads.
    if (batch.opening.empty() && batch.closing == "COMMIT") {
      deadline = std::max(deadline, std::chrono::steady_clock::now() + commit_answer_time_);
    }
  }
  if (!pipeline.add_sync()) co_return Loss::kBroken;
  co_return co_await exchange(pipeline, outcome, deadline);
}

// The server may stop reading until its answers are read, so this reads too.
Task<Loss> Connection::send_all(Deadline deadline) {
  for (;;) {
    int left = PQflush(connection_.get());
    if (left == 0) co_return Loss::kNone;
    if (left < 0) co_return Loss::kBroken;
    Loss loss = co_await socket_.wait(Interest::kReadOrWrite, deadline);
    if (loss != Loss::kNone) co_return loss;
    if (!receive()) co_return Loss::kBroken;
  }
}

Task<Loss> Connection::exchange(Pipeline& pipeline, Outcome& outcome, Deadline deadline) {
  for (;;) {
    int left = PQflush(connection_.get());
    if (left < 0) co_return Loss::kBroken;
    switch (pipeline.drain(outcome)) {
      case Pipeline::Progress::kDone: co_return Loss::kNone;
      case Pipeline::Progress::kLost: co_return Loss::kBroken;
      case Pipeline::Progress::kWaits: break;
    }
    Interest interest = left == 0 ? Interest::kRead : Interest::kReadOrWrite;
    Loss loss = co_await socket_.wait(interest, deadline);
    if (loss != Loss::kNone) co_return loss;
    if (PQconsumeInput(connection_.get()) != 1) co_return Loss::kBroken;
  }
}

Task<Outcome> Connection::run_script(std::string sql, Deadline deadline) {
  if (running_) std::abort();
  Outcome outcome;
  outcome.loss = co_await not_now(deadline);
  if (outcome.loss != Loss::kNone) co_return outcome;
  running_ = true;
  scripted_ = true;
  outcome.sent = Sent::kWithoutClosing;
  bool sent = PQexitPipelineMode(connection_.get()) == 1 &&
              PQsendQuery(connection_.get(), sql.c_str()) == 1;
  outcome.loss = sent ? co_await drain_script(outcome, deadline) : Loss::kBroken;
  if (outcome.loss == Loss::kNone && PQenterPipelineMode(connection_.get()) != 1) {
    broken_ = true;
  }
  if (outcome.loss != Loss::kNone) broken_ = true;
  running_ = false;
  co_return outcome;
}

Task<Loss> Connection::drain_script(Outcome& outcome, Deadline deadline) {
  for (;;) {
    int left = PQflush(connection_.get());
    if (left < 0) co_return Loss::kBroken;
    while (PQisBusy(connection_.get()) == 0) {
      ResultPtr result(PQgetResult(connection_.get()));
      if (result == nullptr) co_return Loss::kNone;
      auto status = PQresultStatus(result.get());
      if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
        outcome.loss_detail = "COPY in a script";
        co_return Loss::kBroken;
      }
      outcome.closing_tag = PQcmdStatus(result.get());
      if (status != PGRES_FATAL_ERROR) continue;
      ServerError error = server_error(result.get());
      if (error.sqlstate.empty()) co_return Loss::kBroken;
      // Some of it may have been committed by the script itself.
      outcome.all_answered = true;
      if (!outcome.error) outcome.error = std::move(error);
    }
    Interest interest = left == 0 ? Interest::kRead : Interest::kReadOrWrite;
    Loss loss = co_await socket_.wait(interest, deadline);
    if (loss != Loss::kNone) co_return loss;
    if (PQconsumeInput(connection_.get()) != 1) co_return Loss::kBroken;
  }
}

}  // namespace base::pg
