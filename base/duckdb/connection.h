#pragma once

// Statements with typed parameters, and rows that are read one after another.
// Files and values come from strangers, so every statement can be given a time
// at which it ends.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "base/core/result.h"

namespace base::duckdb {

class Database;
class Appender;
class Stream;

/// Views are borrowed until the call that takes the parameter returns.
struct Text {
  std::string_view value;  ///< UTF-8; may hold NULs.
};
struct Blob {
  std::string_view value;
};
struct Null {};
struct Boolean {
  bool value;
};
struct Unsigned {
  std::uint64_t value;
};
using Param = std::variant<Null, std::int64_t, double, Text, Blob, Boolean, Unsigned>;

/// The rows of a result, in its order. Used from one thread.
class Rows {
 public:
  Rows(Rows&&) noexcept;
  Rows& operator=(Rows&&) noexcept;
  ~Rows();

  /// Steps to the next row; false after the last.
  /// Errors: kTooLarge  a part that was written to scratch does not fit again.
  [[nodiscard]] Result<bool> next();
  /// The following are for a row that next() reached, and abort when the
  /// column has another type or does not exist; that is a broken statement.
  [[nodiscard]] bool is_null(std::size_t column) const;
  /// Of a BIGINT that is not null.
  [[nodiscard]] std::int64_t int64(std::size_t column) const;
  /// Of a VARCHAR or BLOB that is not null; valid until next().
  [[nodiscard]] std::string_view bytes(std::size_t column) const;

 private:
  friend class Statement;
  struct Impl;
  explicit Rows(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A prepared statement; its connection outlives it.
class Statement {
 public:
  Statement(Statement&&) noexcept;
  Statement& operator=(Statement&&) noexcept;
  ~Statement();

  /// Runs it to its end, with as many parameters as it has.
  /// Errors: kInvalid  the statement, the number of parameters or a value;
  ///         kTooLarge, kTimeout (the connection's deadline), kCancelled
  ///         (interrupt()), kForbidden, kUnsupported; kInternal.
  [[nodiscard]] Result<Rows> execute(std::span<const Param> params);
  /// Starts it; the rows come as the stream is read, which must end before
  /// the statement does. Errors: as execute().
  [[nodiscard]] Result<Stream> stream(std::span<const Param> params);
  /// Whether it is a SELECT, by the engine's own classification.
  [[nodiscard]] bool is_select() const;
  [[nodiscard]] std::size_t param_count() const;

 private:
  friend class Connection;
  struct Impl;
  explicit Statement(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Used from one thread at a time, but for interrupt().
class Connection {
 public:
  /// Errors: kInternal  the database has ended; kTooLarge.
  [[nodiscard]] static Result<Connection> open(std::shared_ptr<Database> database);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// Statements that run at `deadline` are interrupted and fail as kTimeout;
  /// later ones do not start.
  void set_deadline(std::chrono::steady_clock::time_point deadline);
  /// Ends the statement that runs now, from any thread. One that begins later
  /// does not notice.
  void interrupt();
  /// Makes progress() known; costs a little.
  /// Errors: kInternal.
  [[nodiscard]] Status track_progress();
  /// How much of the statement that runs now is done, 0 to 1; nothing when the
  /// engine cannot tell. From any thread.
  [[nodiscard]] std::optional<double> progress() const;
  /// How many statements the text holds. The engine may look at files for
  /// some kinds other than SELECT.
  /// Errors: kInvalid  it does not parse.
  [[nodiscard]] Result<std::size_t> count_statements(std::string_view sql);

  /// Errors: kInvalid  not one statement, or one that the engine refuses.
  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  /// prepare() and execute(); their errors.
  [[nodiscard]] Result<Rows> execute(std::string_view sql, std::span<const Param> params = {});
  /// Adds rows to the temporary table of that name, fast.
  /// Errors: kInvalid  no such table.
  [[nodiscard]] Result<Appender> append_to(std::string_view temporary_table);

 private:
  friend class Statement;
  friend class Stream;
  friend class Appender;
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Rows on their way into a table; its connection outlives it. Nothing is
/// there for sure until finish() succeeded.
class Appender {
 public:
  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) noexcept;
  ~Appender();

  /// One value for each column. Errors: kInvalid  their number or a value
  ///         (text that is not UTF-8); kTooLarge; kTimeout; kInternal.
  [[nodiscard]] Status append(std::span<const Param> row);
  /// Errors: as append().
  [[nodiscard]] Status finish();

 private:
  friend class Connection;
  struct Impl;
  explicit Appender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace base::duckdb
