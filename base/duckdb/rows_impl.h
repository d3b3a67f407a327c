#pragma once

#include <duckdb.h>

#include "base/duckdb/connection.h"

namespace base::duckdb {

struct Rows::Impl {
  Impl() = default;
  ~Impl() {
    duckdb_destroy_data_chunk(&chunk);
    duckdb_destroy_result(&result);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  duckdb_result result{};
  duckdb_data_chunk chunk = nullptr;
  std::uint64_t left = 0;  ///< Rows after the current one.
  idx_t row = 0;           ///< In the chunk.
  idx_t chunk_rows = 0;
};

}  // namespace base::duckdb
