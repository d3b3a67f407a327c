#include "base/postgres/outcome.h"

namespace base::pg {
namespace {

// Where the batch stood relative to the point at which its changes last.
enum class Changes { kNone, kUnknown, kLasting };

Changes after_loss(const Outcome& outcome, Effect effect) {
  if (outcome.sent == Sent::kNothing) return Changes::kNone;
  switch (effect) {
    case Effect::kReads:
    case Effect::kInsideTransaction: return Changes::kNone;
    case Effect::kCommits:
      // The answer to COMMIT is written after the commit is durable.
      if (outcome.closing_tag == "COMMIT") return Changes::kLasting;
      return outcome.sent == Sent::kAll ? Changes::kUnknown : Changes::kNone;
    case Effect::kOwnTransaction: return Changes::kUnknown;
  }
  std::unreachable();
}

// A session that ends with FATAL says so before its next commit, and never
// between a commit and its answer. Only a pipeline's own commit has its answer
// (the end of the pipeline) behind the answers of its statements.
Changes after_error(const Outcome& outcome, Effect effect) {
  switch (outcome.error->severity) {
    case Severity::kError: return Changes::kNone;
    case Severity::kPanic: return after_loss(outcome, effect);
    case Severity::kFatal: break;
  }
  if (effect == Effect::kCommits && outcome.closing_tag == "COMMIT") return Changes::kLasting;
  if (effect == Effect::kOwnTransaction && outcome.all_answered) return Changes::kUnknown;
  return Changes::kNone;
}

ErrorKind kind_of(Loss loss) {
  switch (loss) {
    case Loss::kDeadline: return ErrorKind::kTimeout;
    case Loss::kCancelled: return ErrorKind::kCancelled;
    case Loss::kNone:
    case Loss::kBroken: return ErrorKind::kUnavailable;
  }
  std::unreachable();
}

Error make_error(ErrorKind kind, std::string detail) {
  return Error(kind, std::string(message_for(kind))).with_detail(std::move(detail));
}

Error fatal_error(const ServerError& error) {
  Error mapped = to_error(error);
  if (error.severity == Severity::kError || mapped.kind() != ErrorKind::kInternal) return mapped;
  // The session is gone for a reason of the server's own.
  return make_error(ErrorKind::kUnavailable, mapped.detail());
}

}  // namespace

Result<std::vector<RowsPtr>> settle(Outcome outcome, Effect effect) {
  if (outcome.error) {
    Changes changes = after_error(outcome, effect);
    if (changes == Changes::kNone) return fatal_error(*outcome.error);
    if (changes == Changes::kUnknown) {
      return make_error(ErrorKind::kOutcomeUnknown, to_error(*outcome.error).detail());
    }
    return std::move(outcome.rows);
  }
  if (outcome.loss != Loss::kNone) {
    Changes changes = after_loss(outcome, effect);
    if (changes == Changes::kLasting) return std::move(outcome.rows);
    return make_error(
        changes == Changes::kUnknown ? ErrorKind::kOutcomeUnknown : kind_of(outcome.loss),
        std::move(outcome.loss_detail));
  }
  if (effect == Effect::kCommits && outcome.closing_tag != "COMMIT") {
    return make_error(ErrorKind::kConflict, "COMMIT answered " + outcome.closing_tag)
        .with_reason(kRolledBack);
  }
  return std::move(outcome.rows);
}

Effect effect_alone(const Statement& statement) {
  std::string_view sql = statement.sql;
  sql.remove_prefix(std::min(sql.find_first_not_of(" \t\r\n"), sql.size()));
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (std::string_view word : {"select", "values", "table", "show"}) {
    if (sql.size() > word.size() &&
        std::ranges::equal(sql.substr(0, word.size()), word, {}, lower) &&
        std::string_view(" \t\r\n(*").contains(sql[word.size()])) {
      return Effect::kReads;
    }
  }
  return Effect::kOwnTransaction;
}

}  // namespace base::pg
