#pragma once

// One session with the server. It runs one batch at a time and knows whether
// it can be used again: a batch that was not read to its end leaves answers of
// unknown number on the wire, so such a connection is closed, never reused.

#include <memory>
#include <string>
#include <utility>

#include "base/postgres/connect.h"
#include "base/postgres/pipeline.h"
#include "base/postgres/session.h"

namespace base::pg {

class Connection {
 public:
  /// Connects. Errors: as connect().
  [[nodiscard]] static Task<Result<std::unique_ptr<Connection>>> open(
      std::shared_ptr<const PoolOptions> options, Deadline deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Runs the batch in one round trip. Sends nothing when the deadline has
  /// passed, the caller was cancelled or the server has hung up. Aborts when
  /// another run is under way.
  [[nodiscard]] Task<Outcome> run(Batch batch, Deadline deadline);
  /// Runs statements by the simple protocol; closing_tag is the last one's.
  /// Afterwards the connection is not kept.
  [[nodiscard]] Task<Outcome> run_script(std::string sql, Deadline deadline);

  /// Waits until the server has sent a notification (LISTEN), between two runs.
  /// Those that came until now are taken, and their payloads given, each once.
  [[nodiscard]] Task<Loss> hear(std::vector<std::string>* payloads, Deadline deadline);

  /// False once it broke, or a run was left half-way.
  [[nodiscard]] bool usable() const { return !broken_ && !running_; }
  /// False when it must be closed as soon as its transaction ends.
  [[nodiscard]] bool worth_keeping() const { return usable() && !scripted_; }
  [[nodiscard]] bool in_transaction() const;
  /// Whether a transaction is open that has not failed.
  [[nodiscard]] bool transaction_is_sound() const;
  /// True once for each transaction: a rollback that could not run is not
  /// tried again.
  [[nodiscard]] bool claim_rollback() { return !std::exchange(rollback_claimed_, true); }
  /// Ends a run that waits, as if the server had hung up. Nothing runs later.
  void abort();
  [[nodiscard]] boost::asio::any_io_executor executor() { return socket_.executor(); }

 private:
  Connection(ConnectionPtr connection, const boost::asio::any_io_executor& executor,
             const PoolOptions& options);
  static void on_notice(void* self, const PGresult* notice);

  [[nodiscard]] Task<Loss> not_now(Deadline deadline);
  [[nodiscard]] bool server_is_there();
  [[nodiscard]] bool receive();
  [[nodiscard]] Task<Loss> send_all(Deadline deadline);
  [[nodiscard]] Task<Loss> exchange(Pipeline& pipeline, Outcome& outcome, Deadline deadline);
  [[nodiscard]] bool queue(Pipeline& pipeline, const Batch& batch);
  [[nodiscard]] Task<Loss> send_and_receive(Pipeline& pipeline, const Batch& batch,
                                            Outcome& outcome, Deadline deadline);
  [[nodiscard]] Task<Loss> drain_script(Outcome& outcome, Deadline deadline);

  ConnectionPtr connection_;
  SocketWait socket_;
  StatementCache cache_;
  std::chrono::milliseconds commit_answer_time_;
  bool broken_ = false;
  bool running_ = false;
  bool scripted_ = false;
  bool rollback_claimed_ = false;
};

}  // namespace base::pg
