#pragma once

// Several processes of different versions start against one database. Each
// brings the schema to the version it knows, one at a time, and refuses to
// work on a schema that it does not know.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/postgres/session.h"

namespace base::pg {

/// An index that a migration makes IF NOT EXISTS. On a table of more than
/// kLargeTable bytes it is built before, CONCURRENTLY: nobody's writes wait for it.
struct MigrationIndex {
  std::string schema, name, table;  ///< As the catalog has them, without quotes.
  std::string rest;                 ///< What follows the table: "(a, b) WHERE a > 0".
  /// What the index stands on and the migration itself makes, done and committed before;
  /// mostly empty. It may find its work done, and so may the migration behind it.
  std::string needs = {};
};
inline constexpr std::int64_t kLargeTable = std::int64_t{16} << 20;

struct Migration {
  int version = 0;  ///< From 1 upwards; gaps are allowed.
  std::string sql;  ///< One or more statements, none of which ends the transaction.
  /// The text that the record of the migration vouches for, where `sql` has become another
  /// one that does the same; empty: `sql`.
  std::string recorded_as = {};
  std::vector<MigrationIndex> indexes = {};
};

/// Told what is about to be done, which may take long: "waits for another process",
/// "index NAME", "migration N". May be empty.
using MigrationWatch = std::function<void(std::string_view step)>;

/// Applies those of `migrations` (in rising order) that `version_table`
/// ("schema.table", lower-case) does not list yet, each in a transaction of
/// its own together with its record. Makes the table and its schema when
/// missing. Safe when several processes do so at once: the second waits for the
/// first and finds nothing to do, and leaves nothing waiting in the server when it
/// gives up. No statement time-out applies inside, but for indexes of large tables,
/// which need a pool of two connections without one; the deadline of `context` does.
/// Errors: kInvalid      a bad table name, or versions that do not rise;
///         kUnsupported  the database is at a newer version than any known;
///         kCorrupt      a migration that was applied has another text now, or
///                       one below the newest applied was not applied;
///         else as Pool::script; those before the failing one stay applied.
[[nodiscard]] Task<Result<void>> migrate(Pool& pool, RequestContext context,
                                         std::string version_table,
                                         std::vector<Migration> migrations,
                                         MigrationWatch watch = {});

}  // namespace base::pg
