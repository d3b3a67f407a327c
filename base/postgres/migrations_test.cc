#include "base/postgres/migrations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>

#include "base/postgres/fixture_test.h"
#include "base/runtime/gather.h"

namespace base::pg {
namespace {

class MigrationsTest : public PoolFixture {
 protected:
  std::string table() const { return versions() + ".versions"; }
  std::string versions() const { return schema_ + "_v"; }

  void SetUp() override {
    PoolFixture::SetUp();
    ASSERT_TRUE(
        run(pool_->script(soon(), fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", versions()))));
  }

  Migration adds(int version, std::int64_t id) const {
    return {.version = version,
            .sql = fmt::format("INSERT INTO {0}.items VALUES ({1}); SELECT 1", schema_, id)};
  }

  Result<void> migrate_to(std::vector<Migration> migrations) {
    return run(migrate(*pool_, soon(), table(), std::move(migrations)));
  }
};

TEST_F(MigrationsTest, each_runs_once) {
  auto done = migrate_to({adds(1, 1)});
  ASSERT_TRUE(done) << done.error().detail();
  EXPECT_EQ(stored(), 1);
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(5, 2)}));
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(5, 2)}));
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, a_failing_one_leaves_those_before_it) {
  EXPECT_FALSE(migrate_to({adds(1, 1), adds(2, 1), adds(3, 3)}));
  EXPECT_EQ(stored(), 1);
  EXPECT_TRUE(migrate_to({adds(1, 1), adds(2, 2)}));
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, unknown_changed_and_skipped_versions_are_refused) {
  ASSERT_TRUE(migrate_to({adds(1, 1), adds(3, 3)}));
  EXPECT_EQ(migrate_to({adds(1, 1)}).error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(migrate_to({adds(1, 9), adds(3, 3)}).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(migrate_to({adds(1, 1), adds(2, 2), adds(3, 3)}).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(migrate_to({}).error().kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(stored(), 2);
}

TEST_F(MigrationsTest, names_and_order_are_checked) {
  for (const char* bad : {"", "versions", "a.b.c", "A.b", "a.b;", "a.\"b\"", ".b", "a."}) {
    EXPECT_EQ(run(migrate(*pool_, soon(), bad, {})).error().kind(), ErrorKind::kInvalid) << bad;
  }
  EXPECT_EQ(migrate_to({adds(2, 1), adds(1, 2)}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(migrate_to({adds(1, 1), adds(1, 2)}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(migrate_to({adds(0, 1)}).error().kind(), ErrorKind::kInvalid);
}

TEST_F(MigrationsTest, one_that_ends_its_transaction_is_refused) {
  EXPECT_FALSE(migrate_to({{.version = 1, .sql = "COMMIT"}}));
}

class LargeTableTest : public MigrationsTest {
 protected:
  std::vector<std::string> steps_;

  Result<void> migrate_large(const MigrationIndex& index) {
    Migration migration{.version = 1,
                        .sql = fmt::format("CREATE INDEX IF NOT EXISTS {} ON {}.{} {}", index.name,
                                           schema_, index.table, index.rest),
                        .indexes = {index}};
    return run(migrate(*pool_, soon(), table(), {std::move(migration)},
                       [this](std::string_view step) { steps_.emplace_back(step); }));
  }
  [[nodiscard]] MigrationIndex index() const {
    return {.schema = schema_, .name = "by_note", .table = "items", .rest = "(note)"};
  }
  void fill() {
    ASSERT_TRUE(run(
        pool_->script(soon(), fmt::format("INSERT INTO {}.items SELECT i, repeat('x', 100) FROM "
                                          "generate_series(1, 150000) AS i",
                                          schema_))));
  }
  [[nodiscard]] std::string valid() const {
    auto rows = ask({{"SELECT string_agg(indisvalid::text, ' ') FROM pg_index JOIN pg_class c ON "
                      "c.oid = indexrelid JOIN pg_namespace n ON n.oid = relnamespace WHERE "
                      "relname = 'by_note' AND nspname = $1"},
                     {param(schema_)}});
    return std::string((*rows)->text(0, 0));
  }
};

TEST_F(LargeTableTest, of_a_small_table_the_index_is_the_migrations_own) {
  ASSERT_TRUE(migrate_large(index()));
  EXPECT_EQ(steps_, (std::vector<std::string>{"migration 1"}));
  EXPECT_EQ(valid(), "true");
}

TEST_F(LargeTableTest, nobody_waits_while_an_index_is_built) {
  fill();
  // A writer that has not ended: a build waits for it, and a plain one would make
  // everybody behind it wait as well.
  auto writer = Pool::create(server_options());
  auto open = run(writer->begin(within(std::chrono::seconds(60)), queries(insert(-1))));
  ASSERT_TRUE(open);
  std::optional<Result<void>> done;
  Migration migration{
      .version = 1,
      .sql = fmt::format("CREATE INDEX IF NOT EXISTS by_note ON {}.items (note)", schema_),
      .indexes = {index()}};
  boost::asio::co_spawn(
      loop_, migrate(*pool_, within(std::chrono::seconds(60)), table(), {migration}),
      [&](std::exception_ptr, Result<void> result) { done.emplace(std::move(result)); });
  loop_.restart();
  auto waits = [] {
    auto rows = ask({{"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                      "query LIKE '%by_note%' AND pid <> pg_backend_pid()"},
                     {}});
    return rows && (*rows)->int64(0, 0) > 0;
  };
  while (!waits()) loop_.poll();
  Query other = insert(-2);
  boost::asio::io_context beside;
  std::optional<Result<RowsPtr>> inserted;
  auto third = Pool::create(server_options());
  boost::asio::co_spawn(
      beside, third->query(within(std::chrono::seconds(3)), std::move(other)),
      [&](std::exception_ptr, Result<RowsPtr> rows) { inserted.emplace(std::move(rows)); });
  beside.run();
  EXPECT_TRUE(*inserted);
  boost::asio::co_spawn(loop_, open->transaction->run_and_commit({}), boost::asio::detached);
  while (!done) loop_.run_one();
  EXPECT_TRUE(*done) << done->error().detail();
  EXPECT_EQ(valid(), "true");
}

TEST_F(LargeTableTest, an_index_of_a_build_that_was_cut_off_is_made_again) {
  fill();
  ASSERT_TRUE(
      run(pool_->script(soon(), fmt::format("UPDATE {}.items SET note = id % 2", schema_))));

  EXPECT_FALSE(run(pool_->script(
      soon(),
      fmt::format("CREATE UNIQUE INDEX CONCURRENTLY by_note ON {}.items (note)", schema_))));
  ASSERT_EQ(valid(), "false");
  ASSERT_TRUE(migrate_large(index()));
  EXPECT_EQ(steps_, (std::vector<std::string>{"index by_note", "migration 1"}));
  EXPECT_EQ(valid(), "true");
}

TEST_F(LargeTableTest, what_an_index_stands_on_is_made_before_it_and_may_be_there) {
  fill();
  const std::string function = fmt::format(
      "CREATE OR REPLACE FUNCTION {}.first_of(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ "
      "SELECT substring($1 FOR 1) $$",
      schema_);
  MigrationIndex by_first = index();
  by_first.rest = fmt::format("({}.first_of(note))", schema_);
  EXPECT_FALSE(migrate_large(by_first)) << "nobody has made the function";
  by_first.needs = function;
  for (int round = 0; round < 2; ++round) {
    steps_.clear();
    ASSERT_TRUE(migrate_large(by_first));
    EXPECT_EQ(valid(), "true");
    // As after a start that ended before its migration did.
    ASSERT_TRUE(run(pool_->script(
        soon(), fmt::format("DELETE FROM {}; DROP INDEX {}.by_note", table(), schema_))));
    EXPECT_EQ(steps_, (std::vector<std::string>{"index by_note", "migration 1"}));
  }
}

TEST_F(MigrationsTest, a_text_may_change_where_the_record_vouches_for_the_old_one) {
  ASSERT_TRUE(migrate_to({adds(1, 1)}));
  Migration changed = adds(1, 9);
  EXPECT_EQ(migrate_to({changed}).error().kind(), ErrorKind::kCorrupt);
  changed.recorded_as = adds(1, 1).sql;
  EXPECT_TRUE(migrate_to({changed}));
  Migration second = adds(2, 2);
  second.recorded_as = "what it was before";
  EXPECT_TRUE(migrate_to({changed, second})) << "and it is the other text that runs";
  EXPECT_EQ(stored(), 2);
  EXPECT_EQ(migrate_to({changed, adds(2, 2)}).error().kind(), ErrorKind::kCorrupt);
}

TEST_F(MigrationsTest, one_that_waits_leaves_nothing_in_the_server_when_it_gives_up) {
  std::optional<Result<void>> first;
  std::vector<std::string> steps;
  auto pool = Pool::create(server_options());
  boost::asio::co_spawn(
      loop_, migrate(*pool_, soon(), table(), {{.version = 1, .sql = "SELECT pg_sleep(1.2)"}}),
      [&](std::exception_ptr, Result<void> result) { first.emplace(std::move(result)); });
  loop_.restart();
  loop_.run_for(std::chrono::milliseconds(300));
  std::optional<Result<void>> second;
  boost::asio::co_spawn(
      loop_,
      migrate(*pool, within(std::chrono::milliseconds(400)), table(), {},
              [&](std::string_view step) { steps.emplace_back(step); }),
      [&](std::exception_ptr, Result<void> result) { second.emplace(std::move(result)); });
  while (!second) loop_.run_one();
  ASSERT_FALSE(*second);
  EXPECT_EQ(second->error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(steps, (std::vector<std::string>{"waits for another process"}));
  auto waiting =
      ask({{"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"}, {}});
  ASSERT_TRUE(waiting);
  EXPECT_EQ((*waiting)->int64(0, 0), 0);
  while (!first) loop_.run_one();
  EXPECT_TRUE(*first);
}

TEST_F(MigrationsTest, several_starts_at_once_apply_each_once) {
  std::vector<std::unique_ptr<Pool>> pools;
  std::vector<Task<Result<void>>> tasks;
  for (int i = 0; i < 6; ++i) {
    pools.push_back(Pool::create(server_options()));
    tasks.push_back(migrate(*pools.back(), soon(), table(), {adds(1, 1), adds(2, 2), adds(3, 3)}));
  }
  for (auto& result : run(gather(std::move(tasks)))) {
    EXPECT_TRUE(result) << result.error().detail();
  }
  EXPECT_EQ(stored(), 3);
}

}  // namespace
}  // namespace base::pg
