#pragma once

// What the tests against a real server share: a loop to run calls on, and the
// options of the server that this test binary started.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/postgres/session.h"
#include "base/testing/postgres_server.h"

namespace base::pg {

inline PoolOptions server_options() {
  auto& server = testing::PostgresServer::shared();
  PoolOptions options;
  options.host = server.host();
  options.port = fmt::to_string(server.port());
  options.user = server.user();
  options.database = server.database();
  options.application_name = "base_postgres_test";
  return options;
}

inline RequestContext within(std::chrono::milliseconds time) {
  return {.request_id = 1, .deadline = std::chrono::steady_clock::now() + time};
}

inline RequestContext soon() { return within(std::chrono::seconds(20)); }

inline std::vector<Query> queries(Query query) {
  std::vector<Query> all;
  all.push_back(std::move(query));
  return all;
}

inline std::vector<Query> queries(Query first, Query second) {
  auto all = queries(std::move(first));
  all.push_back(std::move(second));
  return all;
}

class PoolFixture : public ::testing::Test {
 protected:
  /// Makes a pool of so many connections, and a schema of the test's own that
  /// holds `items (id bigint PRIMARY KEY, note text)`.
  void SetUp() override {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    schema_ = "t_" + test.substr(0, 50);
    pool_ = Pool::create(server_options());
    auto made = run(pool_->script(
        soon(), fmt::format("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}; "
                            "CREATE TABLE {0}.items (id bigint PRIMARY KEY, note text)",
                            schema_)));
    ASSERT_TRUE(made) << made.error().detail();
  }

  /// Runs the loop until the call, and what it left in the background, ends.
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(loop_, std::move(task), [&](std::exception_ptr error, T value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    loop_.restart();
    loop_.run();
    return std::move(result.value());
  }

  void run(Task<void> task) {
    boost::asio::co_spawn(loop_, std::move(task), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
    loop_.restart();
    loop_.run();
  }

  [[nodiscard]] Query insert(std::int64_t id) const {
    return {{fmt::format("INSERT INTO {}.items (id, note) VALUES ($1, 'x')", schema_)},
            {param(id)}};
  }

  [[nodiscard]] Query count() const {
    return {{fmt::format("SELECT count(*) FROM {}.items", schema_)}, {}};
  }

  /// Asks on a connection and a loop of its own.
  static Result<RowsPtr> ask(Query query) {
    boost::asio::io_context loop;
    auto pool = Pool::create(server_options());
    std::optional<Result<RowsPtr>> result;
    boost::asio::co_spawn(
        loop, pool->query(soon(), std::move(query)),
        [&](std::exception_ptr, Result<RowsPtr> rows) { result.emplace(std::move(rows)); });
    loop.run();
    return std::move(result.value());
  }

  /// How many rows stand in the table.
  std::int64_t stored() {
    auto rows = ask(count());
    return rows ? (*rows)->int64(0, 0) : -1;
  }

  boost::asio::io_context loop_;
  std::string schema_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace base::pg
