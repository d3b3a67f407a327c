#include "base/duckdb/connection.h"

#include <string>

#include "base/duckdb/connection_impl.h"
#include "base/duckdb/errors.h"
#include "base/duckdb/statement_impl.h"

namespace base::duckdb {

Error Connection::Impl::error(const char* message) const {
  return error(error_class(message == nullptr ? "" : message), message);
}

Error Connection::Impl::error(duckdb_error_type type, const char* message) const {
  if (ends_database(type)) database->set_ended();
  // We interrupt at the deadline, a caller may at any time.
  if (type == DUCKDB_ERROR_INTERRUPT && expired()) return timed_out();
  return engine_error(type, message == nullptr ? "" : message);
}

Connection::Connection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::open(std::shared_ptr<Database> database) {
  auto impl = std::make_unique<Impl>(std::move(database));
  if (duckdb_connect(impl->database->handle(), &impl->handle) == DuckDBError) {
    return fail(ErrorKind::kInternal, "the engine gives no connection");
  }
  return Connection(std::move(impl));
}

void Connection::set_deadline(std::chrono::steady_clock::time_point deadline) {
  impl_->deadline = deadline;
}

void Connection::interrupt() { duckdb_interrupt(impl_->handle); }

Status Connection::track_progress() {
  // The engine would write a bar to the terminal.
  RETURN_IF_ERROR(execute("PRAGMA disable_print_progress_bar"));
  RETURN_IF_ERROR(execute("PRAGMA enable_progress_bar"));
  return {};
}

std::optional<double> Connection::progress() const {
  double percentage = duckdb_query_progress(impl_->handle).percentage;
  if (percentage < 0 || percentage > 100) return std::nullopt;
  return percentage / 100;
}

Result<std::size_t> Connection::count_statements(std::string_view sql) {
  std::string text(sql);
  if (text.find('\0') != std::string::npos) {
    return fail(ErrorKind::kInvalid, "a statement cannot hold a NUL");
  }
  duckdb_extracted_statements extracted = nullptr;
  std::size_t count = duckdb_extract_statements(impl_->handle, text.c_str(), &extracted);
  const char* reason = count == 0 ? duckdb_extract_statements_error(extracted) : nullptr;
  std::string message = reason == nullptr ? "" : reason;
  duckdb_destroy_extracted(&extracted);
  if (!message.empty()) return impl_->error(message.c_str());
  return count;
}

Result<Statement> Connection::prepare(std::string_view sql) {
  std::string text(sql);
  // The engine would read a shorter statement than the one that was meant.
  if (text.find('\0') != std::string::npos) {
    return fail(ErrorKind::kInvalid, "a statement cannot hold a NUL");
  }
  auto impl = std::make_unique<Statement::Impl>(*impl_);
  if (duckdb_prepare(impl_->handle, text.c_str(), &impl->handle) == DuckDBError) {
    return impl_->error(duckdb_prepare_error(impl->handle));
  }
  return Statement(std::move(impl));
}

Result<Rows> Connection::execute(std::string_view sql, std::span<const Param> params) {
  ASSIGN_OR_RETURN(Statement statement, prepare(sql));
  return statement.execute(params);
}

}  // namespace base::duckdb
