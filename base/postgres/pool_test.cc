#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/postgres/fixture_test.h"
#include "base/runtime/gather.h"

namespace base::pg {
namespace {

using namespace std::chrono_literals;

class PoolTest : public PoolFixture {};

TEST_F(PoolTest, values_come_back_as_they_went) {
  using Texts = std::vector<std::optional<std::string>>;
  Texts texts{"", "a'b", "q\"", "back\\slash", "c,d", "{e}", "NULL", std::nullopt, "\xc3\xa4", " "};
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  Query query{
      {"SELECT $1::bigint AS n, $2::text AS t, $3::bytea, $4::boolean, $5::text, $6::bytea"},
      {param(std::int64_t{-5}), param("o'clock"), bytes_param(all_bytes), param(true), std::nullopt,
       bytes_param("")}};
  auto rows = run(pool_->query(soon(), query));
  ASSERT_TRUE(rows) << rows.error().detail();
  EXPECT_EQ((*rows)->column_name(0), "n");
  EXPECT_EQ((*rows)->int64(0, 0), -5);
  EXPECT_EQ((*rows)->text(0, 1), "o'clock");
  EXPECT_EQ((*rows)->bytes(0, 2), all_bytes);
  EXPECT_TRUE((*rows)->boolean(0, 3));
  EXPECT_TRUE((*rows)->is_null(0, 4));
  EXPECT_EQ((*rows)->bytes(0, 5), "");

  Query unnest{{"SELECT t FROM unnest($1::text[]) WITH ORDINALITY AS u(t, n) ORDER BY n"},
               {array_param(texts)}};
  rows = run(pool_->query(soon(), unnest));
  ASSERT_TRUE(rows) << rows.error().detail();
  ASSERT_EQ((*rows)->size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) EXPECT_EQ((*rows)->opt_text(i, 0), texts[i]);

  std::vector<std::int64_t> numbers{std::numeric_limits<std::int64_t>::min(), 0, 7};
  rows = run(pool_->query(
      soon(), {{"SELECT n FROM unnest($1::bigint[]) AS u(n) ORDER BY n"}, {array_param(numbers)}}));
  ASSERT_TRUE(rows) << rows.error().detail();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*rows)->int64(i, 0), numbers[i]);
}

TEST_F(PoolTest, a_zero_byte_in_text_is_refused_not_cut) {
  auto rows = run(pool_->query(soon(), {{"SELECT $1::text"}, {param(std::string("a\0b", 3))}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kInvalid);
}

TEST_F(PoolTest, affected_counts_changes_only) {
  Query add{{fmt::format("INSERT INTO {}.items SELECT g FROM generate_series(1, 3) g", schema_)},
            {}};
  EXPECT_EQ((*run(pool_->query(soon(), add)))->affected(), 3);
  EXPECT_EQ((*run(pool_->query(soon(), count())))->affected(), 0);
  Query remove{{fmt::format("DELETE FROM {}.items WHERE id < $1", schema_)},
               {param(std::int64_t{3})}};
  EXPECT_EQ((*run(pool_->query(soon(), remove)))->affected(), 2);
}

TEST_F(PoolTest, each_sqlstate_class_arrives_as_its_kind) {
  ASSERT_TRUE(run(pool_->query(soon(), insert(1))));
  std::string raise = "DO $$BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{}'; END$$";
  struct Case {
    std::string sql;
    ErrorKind kind;
    std::string_view reason;
  };
  const Case cases[] = {
      {fmt::format("INSERT INTO {}.items VALUES (1)", schema_), ErrorKind::kConflict,
       kUniqueViolation},
      {fmt::format(fmt::runtime(raise), "40001"), ErrorKind::kConflict, kSerializationFailure},
      {fmt::format(fmt::runtime(raise), "40P01"), ErrorKind::kConflict, kSerializationFailure},
      {fmt::format(fmt::runtime(raise), "08000"), ErrorKind::kUnavailable, ""},
      {fmt::format(fmt::runtime(raise), "53100"), ErrorKind::kUnavailable, ""},
      {fmt::format(fmt::runtime(raise), "57P03"), ErrorKind::kUnavailable, ""},
      {fmt::format(fmt::runtime(raise), "57014"), ErrorKind::kTimeout, ""},
      {"SELECT 'x'::bigint", ErrorKind::kInvalid, ""},
      {"SELECT 1/0", ErrorKind::kInvalid, ""},
      {"SELECT * FROM nowhere", ErrorKind::kInternal, kUndefinedTable},
      {fmt::format("CREATE TABLE {}.items (x int)", schema_), ErrorKind::kInternal,
       kDuplicateObject},
      {fmt::format("CREATE SCHEMA {}", schema_), ErrorKind::kInternal, kDuplicateObject},
      {"SELEC 1", ErrorKind::kInternal, ""},
      {fmt::format(fmt::runtime(raise), "0A000"), ErrorKind::kInternal, ""},
  };
  for (const auto& c : cases) {
    auto rows = run(pool_->query(soon(), {{c.sql}, {}}));
    ASSERT_FALSE(rows) << c.sql;
    EXPECT_EQ(rows.error().kind(), c.kind) << c.sql;
    EXPECT_EQ(rows.error().reason(), c.reason) << c.sql;
    EXPECT_THAT(rows.error().detail(), ::testing::HasSubstr("SQLSTATE")) << c.sql;
  }
  EXPECT_EQ(pool_->use().idle, 1u) << "errors must not cost the connection";
}

TEST_F(PoolTest, an_error_found_at_the_end_of_the_pipeline_is_the_answer) {
  ASSERT_TRUE(run(pool_->script(
      soon(), fmt::format("CREATE TABLE {0}.late (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED);"
                          "INSERT INTO {0}.late VALUES (1)",
                          schema_))));
  auto rows =
      run(pool_->query(soon(), {{fmt::format("INSERT INTO {}.late VALUES (1)", schema_)}, {}}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().reason(), kUniqueViolation);
  ASSERT_TRUE(run(pool_->query(soon(), count())));
  EXPECT_EQ(pool_->use().idle, 1u);
}

TEST_F(PoolTest, read_answers_in_order_from_one_snapshot_and_refuses_writes) {
  std::vector<Query> all;
  for (std::int64_t i = 0; i < 50; ++i) all.push_back({{"SELECT $1::bigint"}, {param(i)}});
  all.push_back({{"SHOW transaction_isolation"}, {}});
  auto rows = run(pool_->read(soon(), all));
  ASSERT_TRUE(rows) << rows.error().detail();
  ASSERT_EQ(rows->size(), 51u);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ((*rows)[i]->int64(0, 0), static_cast<std::int64_t>(i));
  }
  EXPECT_EQ((*rows)[50]->text(0, 0), "repeatable read");

  rows = run(pool_->read(soon(), queries(count(), insert(1))));
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().detail(), ::testing::HasSubstr("25006"));
  EXPECT_EQ(stored(), 0);
}

TEST_F(PoolTest, large_results_and_large_parameters_pass) {
  std::string large(8 << 20, 'x');
  auto rows = run(pool_->read(soon(), queries({{"SELECT $1::text"}, {param(large)}},
                                              {{"SELECT repeat('y', 8000000)"}, {}})));
  ASSERT_TRUE(rows) << rows.error().detail();
  EXPECT_EQ((*rows)[0]->text(0, 0), large);
  EXPECT_EQ((*rows)[1]->text(0, 0).size(), 8000000u);
}

TEST_F(PoolTest, a_table_that_changed_under_a_prepared_statement_is_read_again) {
  Query all{{fmt::format("SELECT * FROM {}.items", schema_)}, {}};
  auto one = server_options();
  one.connections = 1;
  auto pool = Pool::create(one);
  ASSERT_TRUE(run(pool->query(soon(), all)));
  auto add_column = [&](const char* name) {
    return run(
        pool_->script(soon(), fmt::format("ALTER TABLE {}.items ADD {} text", schema_, name)));
  };
  ASSERT_TRUE(add_column("more"));
  auto rows = run(pool->query(soon(), all));
  ASSERT_TRUE(rows) << rows.error().detail();
  EXPECT_EQ((*rows)->columns(), 3u);
  ASSERT_TRUE(add_column("second"));
  auto read = run(pool->read(soon(), queries(all)));
  ASSERT_TRUE(read) << read.error().detail();
  ASSERT_TRUE(add_column("third"));
  auto begun = run(pool->begin(soon(), queries(all)));
  ASSERT_TRUE(begun) << begun.error().detail();
  EXPECT_EQ(begun->rows[0]->columns(), 5u);
  ASSERT_TRUE(run(begun->transaction->run_and_commit(queries(insert(1)))));
  EXPECT_EQ(stored(), 1);
}

TEST_F(PoolTest, a_statement_that_the_server_forgot_is_prepared_again) {
  auto one = server_options();
  one.connections = 1;
  auto pool = Pool::create(one);
  ASSERT_TRUE(run(pool->query(soon(), count())));
  ASSERT_TRUE(run(pool->query(soon(), {{"DEALLOCATE ALL"}, {}})));
  EXPECT_TRUE(run(pool->query(soon(), count())));
  ASSERT_TRUE(run(pool->query(soon(), {{"DEALLOCATE ALL"}, {}})));
  EXPECT_TRUE(run(pool->read(soon(), queries(count()))));
}

TEST_F(PoolTest, prepared_statements_stay_bounded_on_the_server) {
  auto options = server_options();
  options.connections = 1;
  options.statements_cached = 4;
  auto pool = Pool::create(options);
  for (int i = 0; i < 40; ++i) {
    auto rows = run(pool->query(soon(), {{fmt::format("SELECT {}", i)}, {}}));
    ASSERT_TRUE(rows) << rows.error().detail();
    EXPECT_EQ((*rows)->int64(0, 0), i);
  }
  auto rows = run(pool->query(soon(), {{"SELECT count(*) FROM pg_prepared_statements"}, {}}));
  ASSERT_TRUE(rows);
  EXPECT_LE((*rows)->int64(0, 0), 5);
}

TEST_F(PoolTest, a_failed_preparation_is_not_remembered) {
  Query missing{{fmt::format("SELECT * FROM {}.later", schema_)}, {}};
  EXPECT_EQ(run(pool_->query(soon(), missing)).error().reason(), kUndefinedTable);
  ASSERT_TRUE(run(pool_->script(soon(), fmt::format("CREATE TABLE {}.later ()", schema_))));
  EXPECT_TRUE(run(pool_->query(soon(), missing)));
}

TEST_F(PoolTest, script_runs_all_statements_or_none_and_leaves_no_settings) {
  auto failed = run(
      pool_->script(soon(), fmt::format("INSERT INTO {0}.items VALUES (1); SELECT 1/0; INSERT INTO "
                                        "{0}.items VALUES (2)",
                                        schema_)));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(stored(), 0);
  ASSERT_TRUE(run(pool_->script(soon(), "SET search_path = nowhere; BEGIN")));
  auto path = run(pool_->query(soon(), {{"SHOW search_path"}, {}}));
  ASSERT_TRUE(path);
  EXPECT_NE((*path)->text(0, 0), "nowhere");
  auto copied = run(pool_->script(soon(), "COPY (SELECT 1) TO STDOUT"));
  EXPECT_FALSE(copied);
}

TEST_F(PoolTest, more_callers_than_connections_wait_in_turn) {
  auto options = server_options();
  options.connections = 2;
  auto pool = Pool::create(options);
  std::vector<Task<Result<RowsPtr>>> tasks;
  for (std::int64_t i = 0; i < 64; ++i) {
    tasks.push_back(pool->query(soon(), {{"SELECT $1::bigint, pg_backend_pid()"}, {param(i)}}));
  }
  auto results = run(gather(std::move(tasks)));
  std::set<std::string> backends;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().detail();
    EXPECT_EQ((*results[i])->int64(0, 0), static_cast<std::int64_t>(i));
    backends.insert(std::string((*results[i])->text(0, 1)));
  }
  EXPECT_EQ(backends.size(), 2u);
  EXPECT_EQ(pool->use().in_use, 0u);
  EXPECT_EQ(pool->use().idle, 2u);
}

TEST_F(PoolTest, every_change_of_use_is_told) {
  auto options = server_options();
  options.connections = 2;
  PoolUse told;
  std::size_t most = 0;
  options.use_changed = [&](PoolUse before, PoolUse now) {
    EXPECT_EQ(before, told);
    EXPECT_NE(before, now);
    told = now;
    most = std::max(most, now.in_use);
  };
  auto pool = Pool::create(options);
  std::vector<Task<Result<RowsPtr>>> tasks;
  for (int i = 0; i < 8; ++i) tasks.push_back(pool->query(soon(), count()));
  for (auto& result : run(gather(std::move(tasks)))) EXPECT_TRUE(result);
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(told, (PoolUse{.in_use = 0, .idle = 2}));
  ASSERT_TRUE(run(pool->begin(soon(), queries(insert(1)))));
  EXPECT_EQ(told, (PoolUse{.in_use = 1, .idle = 1})) << "until it is rolled back behind us";
  ASSERT_TRUE(run(pool->query(soon(), count())));
  EXPECT_EQ(told, (PoolUse{.in_use = 0, .idle = 2}));
  EXPECT_FALSE(run(pool->query(within(20ms), {{"SELECT pg_sleep(5)"}, {}})));
  EXPECT_EQ(told, (PoolUse{.in_use = 0, .idle = 1})) << "a broken connection is gone";
  pool->close();
  EXPECT_EQ(told, PoolUse{});
}

TEST_F(PoolTest, an_exhausted_pool_says_unavailable_in_acquire_time) {
  auto options = server_options();
  options.connections = 1;
  options.acquire_time = 50ms;
  auto pool = Pool::create(options);
  auto held = run(pool->begin(soon(), {}));
  ASSERT_TRUE(held);
  EXPECT_EQ(pool->use().in_use, 1u);
  auto refused = run(pool->query(soon(), count()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  refused = run(pool->query(within(10ms), count()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kTimeout);
  run(held->transaction->rollback());
  EXPECT_TRUE(run(pool->query(soon(), count())));
}

TEST_F(PoolTest, a_closed_pool_refuses) {
  ASSERT_TRUE(run(pool_->query(soon(), count())));
  pool_->close();
  auto refused = run(pool_->query(soon(), count()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(pool_->use().idle, 0u);
}

TEST_F(PoolTest, bad_addresses_and_bad_names_are_unavailable) {
  auto nobody = server_options();
  nobody.port = fmt::to_string(testing::free_port());
  EXPECT_EQ(run(Pool::create(nobody)->query(soon(), count())).error().kind(),
            ErrorKind::kUnavailable);
  auto database = server_options();
  database.database = "missing";
  EXPECT_EQ(run(Pool::create(database)->query(soon(), count())).error().kind(),
            ErrorKind::kUnavailable);
  auto unknown = server_options();
  unknown.host = "no-such-host.invalid";
  EXPECT_EQ(run(Pool::create(unknown)->query(soon(), count())).error().kind(),
            ErrorKind::kUnavailable);
}

TEST_F(PoolTest, host_names_and_unix_sockets_work) {
  auto named = server_options();
  named.host = "localhost";
  auto by_name = Pool::create(named);
  auto rows = run(by_name->query(soon(), count()));
  EXPECT_TRUE(rows) << rows.error().detail();
  auto local = server_options();
  local.host = testing::PostgresServer::shared().socket_folder();
  auto by_socket = Pool::create(local);
  EXPECT_TRUE(run(by_socket->query(soon(), count())));
}

}  // namespace
}  // namespace base::pg
