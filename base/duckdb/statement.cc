#include <chrono>
#include <string>
#include <thread>

#include "base/core/text.h"
#include "base/duckdb/rows_impl.h"
#include "base/duckdb/statement_impl.h"
#include "base/duckdb/stream_impl.h"

namespace base::duckdb {
namespace {

// Binds one parameter; false when the engine refuses it.
struct Bind {
  duckdb_prepared_statement statement;
  idx_t index;

  bool operator()(Null) const { return duckdb_bind_null(statement, index) == DuckDBSuccess; }
  bool operator()(std::int64_t value) const {
    return duckdb_bind_int64(statement, index, value) == DuckDBSuccess;
  }
  bool operator()(Boolean value) const {
    return duckdb_bind_boolean(statement, index, value.value) == DuckDBSuccess;
  }
  bool operator()(Unsigned value) const {
    return duckdb_bind_uint64(statement, index, value.value) == DuckDBSuccess;
  }
  bool operator()(double value) const {
    return duckdb_bind_double(statement, index, value) == DuckDBSuccess;
  }
  bool operator()(Text text) const {
    return is_utf8(text.value) && duckdb_bind_varchar_length(statement, index, text.value.data(),
                                                             text.value.size()) == DuckDBSuccess;
  }
  bool operator()(Blob blob) const {
    return duckdb_bind_blob(statement, index, blob.value.data(), blob.value.size()) ==
           DuckDBSuccess;
  }
};

Status bind(duckdb_prepared_statement statement, std::span<const Param> params) {
  if (duckdb_nparams(statement) != params.size()) {
    return fail(ErrorKind::kInvalid, "the statement has another number of parameters");
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!std::visit(Bind{statement, i + 1}, params[i])) {
      return fail(ErrorKind::kInvalid, "the engine refuses a parameter");
    }
  }
  return {};
}

// The engine's work comes in small tasks, done here one after another with a
// look at the clock between them.
[[nodiscard]] duckdb_pending_state work_off(duckdb_pending_result pending,
                                            duckdb_connection connection,
                                            std::chrono::steady_clock::time_point deadline) {
  bool interrupted = false;
  for (;;) {
    duckdb_pending_state state = duckdb_pending_execute_task(pending);
    if (duckdb_pending_execution_is_finished(state)) return state;
    if (!interrupted && std::chrono::steady_clock::now() >= deadline) {
      duckdb_interrupt(connection);
      interrupted = true;
    }
    // The engine's other threads have the rest.
    if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
}

class Pending {
 public:
  Pending() = default;
  ~Pending() { duckdb_destroy_pending(&handle); }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  duckdb_pending_result handle = nullptr;
};

}  // namespace

Statement::Statement(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Statement::Statement(Statement&&) noexcept = default;
Statement& Statement::operator=(Statement&&) noexcept = default;
Statement::~Statement() = default;

Status Statement::Impl::run(std::span<const Param> params, Delivery delivery,
                            duckdb_result& result) {
  if (connection.expired()) return connection.timed_out();
  RETURN_IF_ERROR(bind(handle, params));
  Pending pending;
  auto* start =
      delivery == Delivery::kStreamed ? duckdb_pending_prepared_streaming : duckdb_pending_prepared;
  if (start(handle, &pending.handle) == DuckDBError) {
    return connection.error(duckdb_pending_error(pending.handle));
  }
  if (work_off(pending.handle, connection.handle, connection.deadline) == DUCKDB_PENDING_ERROR) {
    return connection.error(duckdb_pending_error(pending.handle));
  }
  if (duckdb_execute_pending(pending.handle, &result) == DuckDBError) {
    return connection.error(duckdb_result_error(&result));
  }
  return {};
}

Result<Rows> Statement::execute(std::span<const Param> params) {
  auto rows = std::make_unique<Rows::Impl>();
  RETURN_IF_ERROR(impl_->run(params, Delivery::kWhole, rows->result));
  rows->left = duckdb_row_count(&rows->result);
  return Rows(std::move(rows));
}

Result<Stream> Statement::stream(std::span<const Param> params) {
  auto stream = std::make_unique<Stream::Impl>(impl_->connection);
  RETURN_IF_ERROR(impl_->run(params, Delivery::kStreamed, stream->result));
  stream->describe();
  return Stream(std::move(stream));
}

bool Statement::is_select() const {
  return duckdb_prepared_statement_type(impl_->handle) == DUCKDB_STATEMENT_TYPE_SELECT;
}

std::size_t Statement::param_count() const { return duckdb_nparams(impl_->handle); }

}  // namespace base::duckdb
