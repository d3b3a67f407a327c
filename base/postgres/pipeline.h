#pragma once

// One trip to the server: statements go out in a row, each prepared first if
// it is new, then a sync; answers come back in the same order. An error makes
// the server skip everything up to the sync, so the trip always ends there.
// This class queues and matches; it never waits.
// Source: PostgreSQL 15 documentation, chapter 34, "Pipeline Mode".

#include <libpq-fe.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/postgres/outcome.h"
#include "base/postgres/rows.h"
#include "base/postgres/statement_cache.h"

namespace base::pg {

/// What travels in one trip. Empty opening and closing are left out.
struct Batch {
  std::string_view opening;  ///< BEGIN in one of its forms; a literal.
  std::vector<Query> queries;
  std::string_view closing;  ///< COMMIT or ROLLBACK; a literal.
};

class Pipeline {
 public:
  enum class Role { kOpening, kQuery, kClosing };
  enum class Progress { kDone, kWaits, kLost };

  /// Both outlive the pipeline; `connection` is in pipeline mode and idle.
  Pipeline(PGconn* connection, StatementCache& cache) : connection_(connection), cache_(cache) {}

  /// Queue; false when libpq refuses, after which the connection is lost.
  [[nodiscard]] bool add_cleanup(const std::vector<std::string>& statements);
  /// Has the statement prepared, unless it is: add() of it then sends its values alone.
  [[nodiscard]] bool prepare(std::string_view sql) { return prepared(sql) != nullptr; }
  [[nodiscard]] bool add(Role role, std::string_view sql, const std::vector<Param>& params);
  [[nodiscard]] bool add_sync();

  /// Takes the answers that have come.
  [[nodiscard]] Progress drain(Outcome& outcome);
  /// After the connection broke: takes what came before.
  void salvage(Outcome& outcome);

 private:
  enum class Kind { kCleanup, kPrepare, kExecute, kSync };
  struct Step {
    Kind kind;
    Role role = Role::kQuery;
    std::string name = {};  // Of the statement to prepare.
    bool answered = false;
  };

  /// Its name, valid until the next call; null when libpq refuses.
  [[nodiscard]] const std::string* prepared(std::string_view sql);
  [[nodiscard]] bool take(ResultPtr result, Outcome& outcome);
  [[nodiscard]] bool take_end();
  void take_success(Step& step, ResultPtr result, Outcome& outcome);
  [[nodiscard]] bool take_error(const Step& step, const PGresult* result, Outcome& outcome);

  PGconn* connection_;
  StatementCache& cache_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::size_t unanswered_ = 0;  // Steps that execute.
  int empty_reads_ = 0;
};

/// The error in a result of status PGRES_FATAL_ERROR; no SQLSTATE when libpq
/// made it itself.
[[nodiscard]] ServerError server_error(const PGresult* result);

}  // namespace base::pg
