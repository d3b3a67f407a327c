#pragma once

// A call runs on a thread that blocks, and its caller waits on an event loop.
// What the two share: the loop tells the thread to stop, the thread tells the
// loop how far it is.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/duckdb/connection.h"
#include "base/runtime/request_context.h"
#include "toolserver/model/fault.h"

namespace tool::connectors {

/// Safe to use from both threads.
class SqlCall {
 public:
  explicit SqlCall(base::Deadline deadline) : deadline_(deadline) {}

  [[nodiscard]] base::Deadline deadline() const { return deadline_; }
  [[nodiscard]] bool expired() const { return std::chrono::steady_clock::now() >= deadline_; }

  /// Asks the work to end. Said again and again until it does: the engine
  /// forgets an interruption that comes between two statements.
  void stop();
  void cancel() {
    cancelled_ = true;
    stop();
  }
  /// E_CANCELLED or E_TIMEOUT once the work is to end; nothing before.
  [[nodiscard]] std::optional<Fault> ended() const;

  /// Of the engine's statement, 0 to 1.
  [[nodiscard]] std::optional<double> progress();
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  void count_row() { ++rows_; }

  /// The connection in use, for as long as this object lives.
  class Using {
   public:
    Using(SqlCall& call, base::duckdb::Connection& connection);
    ~Using();
    Using(const Using&) = delete;
    Using& operator=(const Using&) = delete;

   private:
    SqlCall& call_;
  };

 private:
  const base::Deadline deadline_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<std::uint64_t> rows_ = 0;
  std::mutex mutex_;
  base::duckdb::Connection* connection_ = nullptr;  // Guarded by mutex_.
};

}  // namespace tool::connectors
