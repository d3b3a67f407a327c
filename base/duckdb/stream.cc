#include "base/duckdb/stream.h"

#include "base/duckdb/stream_impl.h"

namespace base::duckdb {

void Stream::Impl::describe() {
  idx_t count = duckdb_column_count(&result);
  for (idx_t i = 0; i < count; ++i) {
    const char* name = duckdb_column_name(&result, i);
    names.emplace_back(name == nullptr ? "" : name);
    types.push_back(duckdb_column_logical_type(&result, i));
  }
  arrow = duckdb_result_get_arrow_options(&result);
}

Stream::Stream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

const std::vector<std::string>& Stream::names() const { return impl_->names; }
const std::vector<duckdb_logical_type>& Stream::types() const { return impl_->types; }
duckdb_arrow_options Stream::arrow_options() const { return impl_->arrow; }

Result<duckdb_data_chunk> Stream::next() {
  duckdb_destroy_data_chunk(&impl_->chunk);
  if (impl_->connection.expired()) return impl_->connection.timed_out();
  impl_->chunk = duckdb_fetch_chunk(impl_->result);
  if (impl_->chunk != nullptr && duckdb_data_chunk_get_size(impl_->chunk) > 0) return impl_->chunk;
  const char* reason = duckdb_result_error(&impl_->result);
  if (reason != nullptr && *reason != '\0') {
    return impl_->connection.error(duckdb_result_error_type(&impl_->result), reason);
  }
  return nullptr;
}

}  // namespace base::duckdb
