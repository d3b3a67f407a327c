#include "lakeproxy/engine/deletes/position_stream.h"

namespace lake::exporter {
namespace {

bool all_valid(duckdb_vector vector, idx_t rows) {
  std::uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity == nullptr) return true;
  for (idx_t row = 0; row < rows; ++row) {
    if (!duckdb_validity_row_is_valid(validity, row)) return false;
  }
  return true;
}

}  // namespace

base::Result<bool> PositionStream::next() {
  if (++row_ < positions_.size()) return true;
  ASSIGN_OR_RETURN(duckdb_data_chunk chunk, stream_.next());
  row_ = 0;
  positions_ = {};
  if (chunk == nullptr) return false;
  idx_t rows = duckdb_data_chunk_get_size(chunk);
  duckdb_vector first = duckdb_data_chunk_get_vector(chunk, 0);
  duckdb_vector second = duckdb_data_chunk_get_vector(chunk, 1);
  if (!all_valid(first, rows) || !all_valid(second, rows)) {
    return base::fail(base::ErrorKind::kCorrupt, "a row of deletes has a null");
  }
  first_ = duckdb_vector_get_data(first);
  positions_ = {static_cast<const std::int64_t*>(duckdb_vector_get_data(second)), rows};
  return true;
}

std::int64_t PositionStream::number() const {
  return static_cast<const std::int64_t*>(first_)[row_];
}

std::string_view PositionStream::text() const {
  duckdb_string_t* text = static_cast<duckdb_string_t*>(first_) + row_;
  return {duckdb_string_t_data(text), duckdb_string_t_length(*text)};
}

}  // namespace lake::exporter
