#pragma once

// What a connection, its statements and its appenders share.

#include <duckdb.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "base/core/result.h"
#include "base/duckdb/connection.h"
#include "base/duckdb/database.h"

namespace base::duckdb {

struct Connection::Impl {
  explicit Impl(std::shared_ptr<Database> of) : database(std::move(of)) {}
  ~Impl() { duckdb_disconnect(&handle); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] bool expired() const { return std::chrono::steady_clock::now() >= deadline; }
  /// The error that `message` of the engine stands for; of `type` where the
  /// engine says which.
  [[nodiscard]] Error error(const char* message) const;
  [[nodiscard]] Error error(duckdb_error_type type, const char* message) const;
  [[nodiscard]] Error timed_out() const {
    return fail(ErrorKind::kTimeout, "the engine did not finish in time");
  }

  std::shared_ptr<Database> database;
  duckdb_connection handle = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

}  // namespace base::duckdb
