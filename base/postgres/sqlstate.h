#pragma once

// A SQLSTATE has five characters and says what went wrong; a caller wants to
// know what to do. Messages are never looked at: they change with the
// server's language and version.
// Source: PostgreSQL 15 documentation, appendix A.

#include <string>
#include <string_view>

#include "base/core/error.h"

namespace base::pg {

/// How far an error reaches, from its severity field.
enum class Severity {
  kError,  ///< Ends the transaction.
  kFatal,  ///< Ends the session; what was not confirmed before did not happen.
  kPanic,  ///< Ends the server, perhaps in the middle of a commit.
};

/// An error as the server reported it.
struct ServerError {
  std::string sqlstate;
  Severity severity = Severity::kError;
  std::string message;     ///< Primary message; may quote data, for logs only.
  std::string constraint;  ///< Empty unless one was broken.
  std::string function;    ///< The server's function that raised it.
};

/// What a SQLSTATE means to a caller; reason is empty or one of session.h's.
struct Meaning {
  ErrorKind kind;
  std::string_view reason;
};
[[nodiscard]] Meaning meaning_of(std::string_view sqlstate);

/// True when a prepared statement no longer fits its tables, or is gone: the
/// same call succeeds once it is prepared anew.
[[nodiscard]] bool is_stale_statement(const ServerError& error);

/// True when the server is read-only or in recovery (a standby, or a primary that
/// an operator has closed): another connection may find one that takes writes.
[[nodiscard]] bool takes_no_writes(const ServerError& error);

/// The error for the caller: SQLSTATE and message stand in detail().
[[nodiscard]] Error to_error(const ServerError& error);

/// The sentence for each kind; it names nothing inside the database.
[[nodiscard]] std::string_view message_for(ErrorKind kind);

}  // namespace base::pg
