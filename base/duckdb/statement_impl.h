#pragma once

#include <duckdb.h>

#include "base/duckdb/connection.h"
#include "base/duckdb/connection_impl.h"

namespace base::duckdb {

struct Statement::Impl {
  explicit Impl(Connection::Impl& of) : connection(of) {}
  ~Impl() { duckdb_destroy_prepare(&handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Connection::Impl& connection;
  duckdb_prepared_statement handle = nullptr;
};

}  // namespace base::duckdb
