#include "base/postgres/pipeline.h"

namespace base::pg {
namespace {

// Between two commands libpq may say "nothing" once or twice; more often than
// this means that it and we disagree about what was sent.
constexpr int kEmptyReadsAllowed = 3;

std::string field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

}  // namespace

ServerError server_error(const PGresult* result) {
  std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return {.sqlstate = field(result, PG_DIAG_SQLSTATE),
          .severity = severity == "PANIC"   ? Severity::kPanic
                      : severity == "FATAL" ? Severity::kFatal
                                            : Severity::kError,
          .message = field(result, PG_DIAG_MESSAGE_PRIMARY),
          .constraint = field(result, PG_DIAG_CONSTRAINT_NAME),
          .function = field(result, PG_DIAG_SOURCE_FUNCTION)};
}

bool Pipeline::add_cleanup(const std::vector<std::string>& statements) {
  for (const auto& sql : statements) {
    if (PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) !=
        1) {
      return false;
    }
    steps_.push_back({.kind = Kind::kCleanup});
  }
  return statements.empty() || add_sync();
}

// A stale cache finds nothing, also not what was added this moment.
const std::string* Pipeline::prepared(std::string_view sql) {
  if (const std::string* name = cache_.find(sql)) return name;
  const std::string& name = cache_.add(sql);
  if (PQsendPrepare(connection_, name.c_str(), std::string(sql).c_str(), 0, nullptr) != 1) {
    return nullptr;
  }
  steps_.push_back({.kind = Kind::kPrepare, .name = name});
  return &name;
}

bool Pipeline::add(Role role, std::string_view sql, const std::vector<Param>& params) {
  const std::string* name = prepared(sql);
  if (name == nullptr) return false;
  std::vector<const char*> values;
  values.reserve(params.size());
  for (const auto& value : params) values.push_back(value ? value->c_str() : nullptr);
  if (PQsendQueryPrepared(connection_, name->c_str(), static_cast<int>(values.size()),
                          values.data(), nullptr, nullptr, 0) != 1) {
    return false;
  }
  steps_.push_back({.kind = Kind::kExecute, .role = role});
  ++unanswered_;
  return true;
}

bool Pipeline::add_sync() {
  if (PQpipelineSync(connection_) != 1) return false;
  steps_.push_back({.kind = Kind::kSync});
  return true;
}

Pipeline::Progress Pipeline::drain(Outcome& outcome) {
  while (next_ < steps_.size()) {
    if (PQisBusy(connection_) != 0) return Progress::kWaits;
    if (!take(ResultPtr(PQgetResult(connection_)), outcome)) return Progress::kLost;
  }
  // libpq calls itself idle only after it has said "nothing" behind the sync.
  return PQgetResult(connection_) == nullptr ? Progress::kDone : Progress::kLost;
}

void Pipeline::salvage(Outcome& outcome) {
  while (next_ < steps_.size()) {
    if (!take(ResultPtr(PQgetResult(connection_)), outcome)) return;
  }
}

bool Pipeline::take(ResultPtr result, Outcome& outcome) {
  if (result == nullptr) return take_end();
  empty_reads_ = 0;
  Step& step = steps_[next_];
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY: take_success(step, std::move(result), outcome); return true;
    case PGRES_FATAL_ERROR: return take_error(step, result.get(), outcome);
    case PGRES_PIPELINE_ABORTED:
      if (step.kind == Kind::kPrepare) cache_.forget(step.name);
      step.answered = true;
      return true;
    case PGRES_PIPELINE_SYNC: ++next_; return step.kind == Kind::kSync;
    default:
      // COPY has no place in a pipeline.
      outcome.loss_detail = "unexpected result status";
      return false;
  }
}

bool Pipeline::take_end() {
  if (steps_[next_].answered && steps_[next_].kind != Kind::kSync) {
    ++next_;
    return true;
  }
  return ++empty_reads_ <= kEmptyReadsAllowed;
}

void Pipeline::take_success(Step& step, ResultPtr result, Outcome& outcome) {
  step.answered = true;
  if (step.kind != Kind::kExecute) return;
  if (--unanswered_ == 0) outcome.all_answered = true;
  if (step.role == Role::kClosing) outcome.closing_tag = PQcmdStatus(result.get());
  if (step.role == Role::kQuery) outcome.rows.push_back(make_rows(std::move(result)));
}

bool Pipeline::take_error(const Step& step, const PGresult* result, Outcome& outcome) {
  ServerError error = server_error(result);
  if (error.sqlstate.empty()) {
    // libpq speaks, not the server: the connection is gone.
    outcome.loss_detail = PQresultErrorMessage(result);
    return false;
  }
  if (step.kind == Kind::kPrepare) cache_.forget(step.name);
  steps_[next_].answered = true;
  // A name that cannot be dropped is no failure of the caller's statements,
  // unless the whole session ends with it.
  bool counts = step.kind != Kind::kCleanup || error.severity != Severity::kError;
  if (counts && !outcome.error) outcome.error = std::move(error);
  return true;
}

}  // namespace base::pg
