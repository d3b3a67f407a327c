#include "base/postgres/sqlstate.h"

#include <fmt/format.h>

#include "base/postgres/session.h"

namespace base::pg {
namespace {

struct Entry {
  std::string_view prefix;
  Meaning meaning;
};

// The first entry that fits decides.
constexpr Entry kMeanings[] = {
    {"23505", {ErrorKind::kConflict, kUniqueViolation}},
    {"40001", {ErrorKind::kConflict, kSerializationFailure}},
    {"40P01", {ErrorKind::kConflict, kSerializationFailure}},
    {"57014", {ErrorKind::kTimeout, {}}},
    {"25P03", {ErrorKind::kUnavailable, {}}},
    {"57P0", {ErrorKind::kUnavailable, {}}},
    {"25006", {ErrorKind::kUnavailable, {}}},
    {"55000", {ErrorKind::kUnavailable, {}}},
    {"55P03", {ErrorKind::kUnavailable, {}}},
    {"08", {ErrorKind::kUnavailable, {}}},
    {"53", {ErrorKind::kUnavailable, {}}},
    {"22", {ErrorKind::kInvalid, {}}},
    {"42P01", {ErrorKind::kInternal, kUndefinedTable}},
    {"42P07", {ErrorKind::kInternal, kDuplicateObject}},
    {"42710", {ErrorKind::kInternal, kDuplicateObject}},
    {"42P06", {ErrorKind::kInternal, kDuplicateObject}},
};

}  // namespace

Meaning meaning_of(std::string_view sqlstate) {
  for (const auto& entry : kMeanings) {
    if (sqlstate.starts_with(entry.prefix)) return entry.meaning;
  }
  return {ErrorKind::kInternal, {}};
}

bool is_stale_statement(const ServerError& error) {
  // 0A000 is any feature that is not there; the function tells this one apart.
  return error.sqlstate == "26000" ||
         (error.sqlstate == "0A000" && error.function == "RevalidateCachedQuery");
}

bool takes_no_writes(const ServerError& error) {
  return error.sqlstate == "25006" || error.sqlstate == "55000";
}

Error to_error(const ServerError& error) {
  Meaning meaning = is_stale_statement(error) ? Meaning{ErrorKind::kConflict, kStatementStale}
                                              : meaning_of(error.sqlstate);
  std::string detail = fmt::format("SQLSTATE {}: {}", error.sqlstate, error.message);
  if (!error.constraint.empty()) detail += fmt::format(" (constraint {})", error.constraint);
  return Error(meaning.kind, std::string(message_for(meaning.kind)))
      .with_detail(std::move(detail))
      .with_reason(meaning.reason);
}

std::string_view message_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kConflict: return "the change clashes with another one";
    case ErrorKind::kUnavailable: return "the database is not available";
    case ErrorKind::kTimeout: return "the database did not answer in time";
    case ErrorKind::kCancelled: return "the request was cancelled";
    case ErrorKind::kOutcomeUnknown: return "the database did not confirm the change";
    case ErrorKind::kInvalid: return "the database does not accept a value";
    default: return "database error";
  }
}

}  // namespace base::pg
