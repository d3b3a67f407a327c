#pragma once

// Tests of this folder: an engine with a scratch folder of its own.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/duckdb/engine.h"
#include "base/duckdb/sql_text.h"
#include "base/testing/child_process.h"
#include "lakeproxy/engine/files/scratch.h"

namespace lake::exporter {

inline constexpr auto kNoDeadline = std::chrono::steady_clock::time_point::max();

template <class T>
base::ErrorKind kind_of(const base::Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? base::ErrorKind::kOutcomeUnknown : result.error().kind();
}

class SampleEngine {
 public:
  SampleEngine() {
    auto opened = base::duckdb::Engine::open({.scratch_dir = folder_.path()});
    if (!opened) throw std::runtime_error(opened.error().detail());
    engine_ = std::move(*opened);
  }

  // The file that COPY makes of a query.
  std::string parquet(const std::string& query, const std::string& options = "") {
    auto scratch = *ScratchFolder::make(folder_.path());
    auto connection = *engine_->connect();
    auto done = connection.execute("COPY (" + query + ") TO " +
                                   base::duckdb::quote_literal(scratch.file("f")) +
                                   " (FORMAT parquet" + options + ")");
    EXPECT_TRUE(done) << done.error().detail();
    return *read_file(scratch.file("f"));
  }
  // The first column of each row, as text, joined with '|'.
  std::string ask(const std::string& statement) {
    auto connection = *engine_->connect();
    auto rows = connection.execute(statement);
    EXPECT_TRUE(rows) << rows.error().detail();
    std::string all;
    while (rows && *rows->next()) {
      if (!all.empty()) all += '|';
      all += rows->is_null(0) ? "NULL" : std::string(rows->bytes(0));
    }
    return all;
  }
  base::duckdb::Engine& operator*() { return *engine_; }
  base::duckdb::Engine* operator->() { return engine_.get(); }
  [[nodiscard]] bool scratch_is_empty() const { return std::filesystem::is_empty(folder_.path()); }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  base::testing::TemporaryFolder folder_;
  std::unique_ptr<base::duckdb::Engine> engine_;
};

}  // namespace lake::exporter
