#include <cstdlib>

#include "base/duckdb/rows_impl.h"

namespace base::duckdb {
namespace {

// A statement whose columns are not those that its reader was written for is
// a defect that nothing sensible can follow.
duckdb_vector vector_of(duckdb_data_chunk chunk, std::size_t column) {
  if (chunk == nullptr || column >= duckdb_data_chunk_get_column_count(chunk)) {
    std::abort();
  }
  return duckdb_data_chunk_get_vector(chunk, column);
}

bool is_valid(duckdb_vector vector, idx_t row) {
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  return validity == nullptr || duckdb_validity_row_is_valid(validity, row);
}

}  // namespace

Rows::Rows(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

Result<bool> Rows::next() {
  if (impl_->left == 0) return false;
  --impl_->left;
  if (++impl_->row < impl_->chunk_rows) return true;
  duckdb_destroy_data_chunk(&impl_->chunk);
  impl_->chunk = duckdb_fetch_chunk(impl_->result);
  impl_->row = 0;
  impl_->chunk_rows = impl_->chunk == nullptr ? 0 : duckdb_data_chunk_get_size(impl_->chunk);
  // The result is complete by now and its length known, so an early end can
  // only be a part that could not be read back into memory.
  if (impl_->chunk_rows == 0) {
    impl_->left = 0;
    return fail(ErrorKind::kTooLarge, "more than the engine's memory can hold");
  }
  return true;
}

bool Rows::is_null(std::size_t column) const {
  return !is_valid(vector_of(impl_->chunk, column), impl_->row);
}

std::int64_t Rows::int64(std::size_t column) const {
  duckdb_vector vector = vector_of(impl_->chunk, column);
  if (duckdb_column_type(&impl_->result, column) != DUCKDB_TYPE_BIGINT ||
      !is_valid(vector, impl_->row)) {
    std::abort();
  }
  return static_cast<const std::int64_t*>(duckdb_vector_get_data(vector))[impl_->row];
}

std::string_view Rows::bytes(std::size_t column) const {
  duckdb_vector vector = vector_of(impl_->chunk, column);
  duckdb_type type = duckdb_column_type(&impl_->result, column);
  if ((type != DUCKDB_TYPE_VARCHAR && type != DUCKDB_TYPE_BLOB) || !is_valid(vector, impl_->row)) {
    std::abort();
  }
  auto* text = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector)) + impl_->row;
  return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
}

}  // namespace base::duckdb
