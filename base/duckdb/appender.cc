#include <string>

#include "base/core/text.h"
#include "base/duckdb/connection_impl.h"

namespace base::duckdb {

struct Appender::Impl {
  explicit Impl(Connection::Impl& of) : connection(of) {}
  ~Impl() { duckdb_appender_destroy(&handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The appender's own error.
  [[nodiscard]] Error error() const {
    duckdb_error_data data = duckdb_appender_error_data(handle);
    Error made =
        connection.error(duckdb_error_data_error_type(data), duckdb_error_data_message(data));
    duckdb_destroy_error_data(&data);
    return made;
  }

  Connection::Impl& connection;
  duckdb_appender handle = nullptr;
};

namespace {

struct Append {
  duckdb_appender appender;

  duckdb_state operator()(Null) const { return duckdb_append_null(appender); }
  duckdb_state operator()(std::int64_t value) const { return duckdb_append_int64(appender, value); }
  duckdb_state operator()(Boolean value) const { return duckdb_append_bool(appender, value.value); }
  duckdb_state operator()(Unsigned value) const {
    return duckdb_append_uint64(appender, value.value);
  }
  duckdb_state operator()(double value) const { return duckdb_append_double(appender, value); }
  duckdb_state operator()(Text text) const {
    return duckdb_append_varchar_length(appender, text.value.data(), text.value.size());
  }
  duckdb_state operator()(Blob blob) const {
    return duckdb_append_blob(appender, blob.value.data(), blob.value.size());
  }
};

bool is_bad_text(const Param& param) {
  const auto* text = std::get_if<Text>(&param);
  return text != nullptr && !is_utf8(text->value);
}

}  // namespace

Appender::Appender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Appender::Appender(Appender&&) noexcept = default;
Appender& Appender::operator=(Appender&&) noexcept = default;
Appender::~Appender() = default;

Result<Appender> Connection::append_to(std::string_view temporary_table) {
  auto impl = std::make_unique<Appender::Impl>(*impl_);
  std::string name(temporary_table);
  if (duckdb_appender_create_ext(impl_->handle, "temp", "main", name.c_str(), &impl->handle) ==
      DuckDBError) {
    return fail(ErrorKind::kInvalid, "the engine has no such table")
        .with_detail(impl->error().detail());
  }
  return Appender(std::move(impl));
}

Status Appender::append(std::span<const Param> row) {
  if (impl_->connection.expired()) return impl_->connection.timed_out();
  // Checked before the first value goes in, so that no half row is left.
  if (row.size() != duckdb_appender_column_count(impl_->handle)) {
    return fail(ErrorKind::kInvalid, "the row has another number of values than the table");
  }
  for (const Param& param : row) {
    if (is_bad_text(param)) return fail(ErrorKind::kInvalid, "text is not UTF-8");
  }
  for (const Param& param : row) {
    if (std::visit(Append{impl_->handle}, param) == DuckDBError) return impl_->error();
  }
  if (duckdb_appender_end_row(impl_->handle) == DuckDBError) return impl_->error();
  return {};
}

Status Appender::finish() {
  if (impl_->connection.expired()) return impl_->connection.timed_out();
  if (duckdb_appender_close(impl_->handle) == DuckDBError) return impl_->error();
  return {};
}

}  // namespace base::duckdb
