#pragma once

// Several processes of different versions start against one database. Each
// brings the schema to the version it knows, one at a time, and refuses to
// work on a schema that it does not know.

#include <string>
#include <vector>

#include "base/postgres/session.h"

namespace base::pg {

struct Migration {
  int version = 0;  ///< From 1 upwards; gaps are allowed.
  std::string sql;  ///< One or more statements, none of which ends the transaction.
};

/// Applies those of `migrations` (in rising order) that `version_table`
/// ("schema.table", lower-case) does not list yet, each in a transaction of
/// its own together with its record. Makes the table and its schema when
/// missing. Safe when several processes do so at once: the second waits for the
/// first and finds nothing to do. No statement time-out applies inside; the
/// deadline of `context` does.
/// Errors: kInvalid      a bad table name, or versions that do not rise;
///         kUnsupported  the database is at a newer version than any known;
///         kCorrupt      a migration that was applied has another text now, or
///                       one below the newest applied was not applied;
///         else as Pool::script; those before the failing one stay applied.
[[nodiscard]] Task<Result<void>> migrate(Pool& pool, RequestContext context,
                                         std::string version_table,
                                         std::vector<Migration> migrations);

}  // namespace base::pg
