#pragma once

// PostgreSQL as coroutines. Statements of one call travel in one pipeline: one
// network round trip however many they are.
// Source: PostgreSQL 15 documentation, chapter 34 (libpq), "Pipeline Mode".

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace base::pg {

/// SQL with $1.. parameters. Prepared once per connection under a name derived
/// from the text, so keep the set of texts small: values are parameters.
struct Statement {
  std::string sql;
};

/// Connections of a pool: those that a call has or waits for to be made, and those
/// that wait for a call.
struct PoolUse {
  std::size_t in_use = 0;
  std::size_t idle = 0;
  friend bool operator==(const PoolUse&, const PoolUse&) = default;
};

/// One parameter in PostgreSQL's text form, or NULL.
using Param = std::optional<std::string>;

[[nodiscard]] Param param(std::int64_t value);
[[nodiscard]] Param param(std::optional<std::int64_t> value);
[[nodiscard]] Param param(bool value);
[[nodiscard]] inline Param param(std::string value) { return value; }
[[nodiscard]] inline Param param(std::string_view value) { return std::string(value); }
[[nodiscard]] inline Param param(const char* value) { return std::string(value); }
/// "\x..." for a bytea parameter.
[[nodiscard]] Param bytes_param(std::string_view bytes);
/// "{...}" for a bigint[] or text[] parameter: one round trip for many rows by
/// way of unnest().
[[nodiscard]] Param array_param(const std::vector<std::int64_t>& values);
[[nodiscard]] Param array_param(const std::vector<std::optional<std::string>>& values);

struct Query {
  Statement statement;
  std::vector<Param> params;
};

/// The rows of one statement. Values are text; get() parses them strictly.
/// Holds the libpq result; views live as long as it does.
class Rows {
 public:
  virtual ~Rows() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;
  /// Rows changed by INSERT, UPDATE, DELETE; 0 otherwise.
  [[nodiscard]] virtual std::int64_t affected() const = 0;
  [[nodiscard]] virtual std::string_view column_name(std::size_t column) const = 0;
  [[nodiscard]] virtual bool is_null(std::size_t row, std::size_t column) const = 0;
  /// Empty for NULL.
  [[nodiscard]] virtual std::string_view text(std::size_t row, std::size_t column) const = 0;

  [[nodiscard]] bool empty() const { return size() == 0; }
  /// Abort on NULL or on text of another form: the statement and the code that
  /// reads it are one unit, so a mismatch is a defect.
  [[nodiscard]] std::int64_t int64(std::size_t row, std::size_t column) const;
  [[nodiscard]] bool boolean(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::optional<std::int64_t> opt_int64(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::optional<bool> opt_boolean(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::optional<std::string> opt_text(std::size_t row, std::size_t column) const;
  /// A bytea value, decoded.
  [[nodiscard]] std::string bytes(std::size_t row, std::size_t column) const;
};
using RowsPtr = std::unique_ptr<const Rows>;

/// reason() of an Error that carries one, for callers that tell clashes apart.
inline constexpr std::string_view kUniqueViolation = "unique_violation";            // 23505
inline constexpr std::string_view kSerializationFailure = "serialization_failure";  // 40001, 40P01
inline constexpr std::string_view kUndefinedTable = "undefined_table";              // 42P01
inline constexpr std::string_view kDuplicateObject = "duplicate_object";  // 42P07, 42710, 42P06
/// A table changed under a prepared statement inside a transaction (0A000,
/// 26000); kind kConflict: run the transaction again.
inline constexpr std::string_view kStatementStale = "statement_stale";
/// COMMIT answered ROLLBACK; kind kConflict.
inline constexpr std::string_view kRolledBack = "rolled_back";

/// A transaction. Ends by commit(), rollback() or destruction (which rolls
/// back; the connection returns to the pool only once that is done).
class Transaction {
 public:
  virtual ~Transaction() = default;
  /// Runs the queries in order in one round trip; the first error ends the
  /// transaction and is the answer. Errors as in Pool::query.
  [[nodiscard]] virtual Task<Result<std::vector<RowsPtr>>> run(std::vector<Query> queries) = 0;
  /// run(queries) and COMMIT in the same round trip.
  /// Errors: as run: certainly not committed (also kUnavailable when COMMIT was
  ///         certainly not sent); kOutcomeUnknown  the connection broke, or the
  ///         deadline and commit_answer_time of PoolOptions passed, after COMMIT was
  ///         sent and before its answer.
  [[nodiscard]] virtual Task<Result<std::vector<RowsPtr>>> run_and_commit(
      std::vector<Query> queries) = 0;
  [[nodiscard]] virtual Task<void> rollback() = 0;
  /// Runs several statements without parameters inside the transaction; the
  /// connection is closed, not reused, after the transaction, since a script
  /// may change settings of the session.
  /// Errors: as run; kInternal  the script ended the transaction itself.
  [[nodiscard]] virtual Task<Result<void>> script(std::string sql) = 0;
  /// What follows may take until `deadline`, if that is later than before.
  virtual void extend(Deadline deadline) = 0;
};

struct PoolOptions {
  /// libpq key words and values; the password is apart so that the rest can be shown.
  /// Several hosts, parted by commas, with one port or a port for each: they are tried
  /// in their order, and only one that takes writes is kept.
  std::string host, port, user, database;
  Secret password;
  std::string application_name;
  std::size_t connections = 4;  ///< At most, for this pool.
  std::chrono::milliseconds connect_time{5'000};
  std::chrono::milliseconds acquire_time{5'000};
  std::size_t statements_cached = 512;  ///< Prepared per connection.
  /// The server ends a statement that runs longer (SQLSTATE 57014). A client
  /// that gives up closes its connection, and the server notices only then.
  std::chrono::milliseconds statement_time{60'000};
  /// The server ends a session whose transaction waits so long for the client's
  /// next word: a client that froze keeps its locks no longer than this.
  std::chrono::milliseconds idle_transaction_time{10'000};
  /// Either side gives a connection up whose peer has acknowledged nothing for so
  /// long, as when the network was cut.
  std::chrono::milliseconds peer_time{15'000};
  /// The answer to COMMIT is awaited at least so long after it was sent, whatever
  /// the deadline: without it nobody knows whether the changes are there.
  std::chrono::milliseconds commit_answer_time{10'000};
  /// Told of each change of the pool's use, on its event loop; may be empty.
  std::function<void(PoolUse before, PoolUse now)> use_changed;
  /// libpq's sslmode, and a file with the certificates of trusted authorities.
  std::string tls_mode = "prefer";
  std::string tls_root_certificates;
};

/// Connections for one event loop; not thread-safe. Broken connections are
/// replaced; after a restart of the server the pool recovers by itself. Dies
/// before the event loop does.
class Pool {
 public:
  /// Connects lazily, on first use.
  [[nodiscard]] static std::unique_ptr<Pool> create(PoolOptions options);
  virtual ~Pool() = default;

  /// One statement outside a transaction (its own).
  /// Errors: by SQLSTATE: kConflict (23505, 40001, 40P01; see reason),
  ///         kUnavailable (08*, 53*, 57P0*, no connection in time, or a
  ///         server that takes no writes: 25006, 55000; nothing done), kTimeout (57014 or deadline;
  ///         nothing done), kCancelled, kOutcomeUnknown (sent, and broken, timed out or cancelled
  ///         before the answer), kInvalid (22*, a parameter with a zero byte), else kInternal with
  ///         the SQLSTATE and message in detail().
  /// A statement that begins with SELECT, VALUES, TABLE or SHOW counts as one
  /// that changes nothing, so its outcome is never unknown: losing the
  /// connection is kUnavailable and the deadline is kTimeout.
  [[nodiscard]] virtual Task<Result<RowsPtr>> query(RequestContext context, Query query) = 0;
  /// Several read-only statements in one round trip, in one snapshot
  /// (REPEATABLE READ, READ ONLY).
  [[nodiscard]] virtual Task<Result<std::vector<RowsPtr>>> read(RequestContext context,
                                                                std::vector<Query> queries) = 0;
  /// Opens a READ COMMITTED transaction; BEGIN and `first` share a round trip,
  /// and `first`'s rows stand in `rows`.
  struct Begun {
    std::unique_ptr<Transaction> transaction;
    std::vector<RowsPtr> rows;
  };
  [[nodiscard]] virtual Task<Result<Begun>> begin(RequestContext context,
                                                  std::vector<Query> first) = 0;
  /// Runs a script of several statements without parameters (migrations). Its
  /// connection is closed afterwards, since a script may change settings.
  /// Errors: as query; the statements before the failing one are undone unless
  ///         the script commits by itself.
  [[nodiscard]] virtual Task<Result<void>> script(RequestContext context, std::string sql) = 0;
  [[nodiscard]] virtual PoolUse use() const = 0;
  /// Closes all connections; waits for none. Later calls fail with kUnavailable.
  virtual void close() = 0;
};

}  // namespace base::pg
