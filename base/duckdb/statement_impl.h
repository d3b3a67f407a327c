#pragma once

#include <duckdb.h>

#include <span>

#include "base/duckdb/connection.h"
#include "base/duckdb/connection_impl.h"

namespace base::duckdb {

/// Whether the rows are all there when the statement has run.
enum class Delivery : std::uint8_t { kWhole, kStreamed };

struct Statement::Impl {
  explicit Impl(Connection::Impl& of) : connection(of) {}
  ~Impl() { duckdb_destroy_prepare(&handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Errors: as Statement::execute(); then `result` is still to be destroyed.
  [[nodiscard]] Status run(std::span<const Param> params, Delivery delivery, duckdb_result& result);

  Connection::Impl& connection;
  duckdb_prepared_statement handle = nullptr;
};

}  // namespace base::duckdb
