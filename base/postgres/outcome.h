#pragma once

// A pipeline can end in many ways: answered, refused in the middle, cut off
// before, while or after its last statement went out. From what was seen on
// the wire, settle() concludes what a caller may rely on. It is a plain
// function so that every case can stand in a table.

#include <optional>
#include <string>
#include <vector>

#include "base/postgres/session.h"
#include "base/postgres/sqlstate.h"

namespace base::pg {

/// What a batch does if all of it runs.
enum class Effect {
  kReads,              ///< Changes nothing that outlives it.
  kInsideTransaction,  ///< Its changes wait for a later COMMIT.
  kCommits,            ///< Ends with an explicit COMMIT.
  kOwnTransaction,     ///< The server commits at the end of the pipeline.
};

/// How far the batch may have reached the server.
enum class Sent { kNothing, kWithoutClosing, kAll };

/// Why the answers stopped.
enum class Loss { kNone, kBroken, kDeadline, kCancelled };

/// What was seen while a batch ran.
struct Outcome {
  std::vector<RowsPtr> rows;         ///< Of the queries that were answered, in order.
  std::optional<ServerError> error;  ///< The first; the server skipped everything behind it.
  std::string closing_tag;           ///< The answer to the closing statement, if it came.
  Sent sent = Sent::kNothing;
  Loss loss = Loss::kNone;
  std::string loss_detail;
  bool all_answered = false;   ///< Every statement was (the end of the pipeline need not be).
  std::vector<Query> queries;  ///< Given back, for a second run.
};

/// The caller's answer. Errors: as Pool::query and Transaction::run_and_commit.
[[nodiscard]] Result<std::vector<RowsPtr>> settle(Outcome outcome, Effect effect);

/// kReads for a statement that begins with SELECT, VALUES, TABLE or SHOW, else
/// kOwnTransaction.
[[nodiscard]] Effect effect_alone(const Statement& statement);

}  // namespace base::pg
