#pragma once

// The engine's own handle, shared by those who still use it. After a defect in
// itself the engine refuses everything until it is opened anew; whoever meets
// that says so here, and the next connection goes to a new one.

#include <duckdb.h>

#include <atomic>

#include "base/core/result.h"

namespace base::duckdb {

class Database {
 public:
  explicit Database(duckdb_database handle) : handle_(handle) {}
  ~Database() { duckdb_close(&handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] duckdb_database handle() const { return handle_; }
  [[nodiscard]] bool ended() const { return ended_; }
  void set_ended() { ended_ = true; }

 private:
  duckdb_database handle_;
  std::atomic<bool> ended_ = false;
};

}  // namespace base::duckdb
