#pragma once

#include <duckdb.h>

#include <string>
#include <vector>

#include "base/duckdb/connection_impl.h"
#include "base/duckdb/stream.h"

namespace base::duckdb {

struct Stream::Impl {
  explicit Impl(Connection::Impl& of) : connection(of) {}
  ~Impl() {
    duckdb_destroy_data_chunk(&chunk);
    for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
    duckdb_destroy_arrow_options(&arrow);
    duckdb_destroy_result(&result);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Takes names and types from the result.
  void describe();

  Connection::Impl& connection;
  duckdb_result result{};
  duckdb_data_chunk chunk = nullptr;
  duckdb_arrow_options arrow = nullptr;
  std::vector<std::string> names;
  std::vector<duckdb_logical_type> types;
};

}  // namespace base::duckdb
