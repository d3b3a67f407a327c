#pragma once

// A lake of its own for each test, on the binary's PostgreSQL, and a loop to
// run calls on.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>

#include "base/core/embedded_text.h"
#include "base/testing/postgres_server.h"
#include "lakeproxy/ducklake/lake/open_lake.h"

namespace base::embedded {
std::span<const Text> lake_upgrades();
}  // namespace base::embedded

namespace lake::ducklake {

class LakeFixture : public ::testing::Test {
 protected:
  LakeFixture() : database_(base::testing::PostgresServer::shared().make_database()) {
    pool_ = make_pool();
  }

  [[nodiscard]] std::unique_ptr<base::pg::Pool> make_pool() const {
    auto& server = base::testing::PostgresServer::shared();
    base::pg::PoolOptions options;
    options.host = server.host();
    options.port = fmt::to_string(server.port());
    options.user = server.user();
    options.database = database_;
    return base::pg::Pool::create(std::move(options));
  }

  [[nodiscard]] static base::RequestContext soon() {
    return {.request_id = 1,
            .deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60)};
  }

  template <class T>
  T run(base::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(loop_, std::move(task), [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    loop_.restart();
    loop_.run();
    return std::move(result.value());
  }

  /// Runs a script in the lake's schema.
  void exec(const std::string& sql) {
    auto done = run(pool_->script(
        soon(), fmt::format("SET search_path TO {};\n{}", options_.metadata_schema, sql)));
    ASSERT_TRUE(done) << done.error().message() << ": " << done.error().detail();
  }

  void open() {
    auto opened = run(open_lake(soon(), *pool_, options_));
    ASSERT_TRUE(opened) << opened.error().message() << ": " << opened.error().detail();
    // The tests of a folder run once for each format: see cmake/modules.cmake.
    const char* format = std::getenv("TEST_LAKE_FORMAT");
    if (format != nullptr && std::string_view(format) == "1.1" && version() == "1.0") {
      migrate_to_1_1();
    }
  }

  [[nodiscard]] std::string version() {
    return ask("SELECT value FROM @ducklake_metadata WHERE key = 'version'");
  }

  /// As DuckDB 2.0 does at its first attach.
  void migrate_to_1_1() {
    for (const base::embedded::Text& step : base::embedded::lake_upgrades()) {
      exec("BEGIN;" + std::string(step.text) + "COMMIT");
    }
  }

  /// A snapshot as DuckDB writes it, with the rows of `sql`; returns nothing,
  /// ids count up from 1.
  void snapshot(std::int64_t id, const std::string& changes, const std::string& sql = "") {
    exec(fmt::format(
        "BEGIN; INSERT INTO ducklake_snapshot VALUES ({0}, '2026-01-01 00:00:00+00'::timestamptz + "
        "interval '{0} minutes', 0, 100, 100); "
        "INSERT INTO ducklake_snapshot_changes VALUES ({0}, '{1}', NULL, NULL, NULL); {2}; COMMIT",
        id, changes, sql));
  }

  [[nodiscard]] std::string text(const std::string& sql) {
    auto rows = run(pool_->query(soon(), {{sql}, {}}));
    EXPECT_TRUE(rows) << rows.error().detail();
    return rows && !(*rows)->empty() ? std::string((*rows)->text(0, 0)) : "";
  }

  /// The first column of the first row of a query in the lake's schema, which '@' stands for.
  [[nodiscard]] std::string ask(std::string sql) {
    for (std::size_t at = 0; (at = sql.find('@', at)) != std::string::npos;) {
      sql.replace(at, 1, options_.metadata_schema + ".");
    }
    return text("SELECT (" + sql + ")::text");
  }
  /// What the newest snapshot says it changed.
  [[nodiscard]] std::string line() {
    return ask(
        "SELECT changes_made FROM @ducklake_snapshot_changes ORDER BY snapshot_id DESC "
        "LIMIT 1");
  }

  boost::asio::io_context loop_;
  std::string database_;
  LakeOptions options_{.catalog = "lake", .metadata_schema = "lk", .data_path = "s3://lake/data/"};
  std::unique_ptr<base::pg::Pool> pool_;
};

}  // namespace lake::ducklake
