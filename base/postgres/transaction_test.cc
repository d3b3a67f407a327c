#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/postgres/fixture_test.h"

namespace base::pg {
namespace {

class TransactionTest : public PoolFixture {};

TEST_F(TransactionTest, begin_returns_the_rows_of_its_first_queries) {
  auto begun =
      run(pool_->begin(soon(), queries({{"SHOW transaction_isolation"}, {}}, {{"SELECT 2"}, {}})));
  ASSERT_TRUE(begun) << begun.error().detail();
  ASSERT_EQ(begun->rows.size(), 2u);
  EXPECT_EQ(begun->rows[0]->text(0, 0), "read committed");
  EXPECT_EQ(begun->rows[1]->int64(0, 0), 2);
}

TEST_F(TransactionTest, nothing_is_seen_before_commit_and_all_after) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  ASSERT_TRUE(run(begun->transaction->run(queries(insert(2)))));
  EXPECT_EQ(stored(), 0);
  auto rows = run(begun->transaction->run_and_commit(queries(insert(3), count())));
  ASSERT_TRUE(rows) << rows.error().detail();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[1]->int64(0, 0), 3);
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(pool_->use().in_use, 0u);
  auto again = run(begun->transaction->run(queries(count())));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kInternal);
}

TEST_F(TransactionTest, commit_alone_is_enough) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  ASSERT_TRUE(run(begun->transaction->run_and_commit({})));
  EXPECT_EQ(stored(), 1);
}

TEST_F(TransactionTest, destruction_rolls_back_and_keeps_the_connection) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  begun->transaction.reset();
  EXPECT_EQ(pool_->use().in_use, 1u) << "back only once the rollback is done";
  loop_.restart();
  loop_.run();
  EXPECT_EQ(pool_->use().in_use, 0u);
  EXPECT_EQ(pool_->use().idle, 1u);
  EXPECT_EQ(stored(), 0);
}

TEST_F(TransactionTest, rollback_undoes) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  run(begun->transaction->rollback());
  run(begun->transaction->rollback());
  EXPECT_EQ(pool_->use().idle, 1u);
  EXPECT_EQ(stored(), 0);
}

TEST_F(TransactionTest, an_error_in_the_middle_commits_nothing) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  std::vector<Query> all = queries(insert(2), insert(1));
  all.push_back(insert(3));
  auto rows = run(begun->transaction->run_and_commit(std::move(all)));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kConflict);
  EXPECT_EQ(rows.error().reason(), kUniqueViolation);
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(pool_->use().idle, 1u);
  EXPECT_TRUE(run(pool_->query(soon(), insert(9))));
}

TEST_F(TransactionTest, an_error_in_run_ends_the_transaction) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  ASSERT_FALSE(run(begun->transaction->run(queries({{"SELECT 1/0"}, {}}))));
  EXPECT_FALSE(run(begun->transaction->run_and_commit(queries(insert(2)))));
  EXPECT_EQ(stored(), 0);
  EXPECT_EQ(pool_->use().idle, 1u);
}

TEST_F(TransactionTest, an_error_in_begin_leaves_no_transaction) {
  auto begun = run(pool_->begin(soon(), queries(insert(1), insert(1))));
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().reason(), kUniqueViolation);
  EXPECT_EQ(pool_->use().idle, 1u);
  EXPECT_EQ(stored(), 0);
}

TEST_F(TransactionTest, an_error_at_commit_is_the_answer) {
  ASSERT_TRUE(run(pool_->script(
      soon(), fmt::format("CREATE TABLE {}.late (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)",
                          schema_))));
  Query twice{{fmt::format("INSERT INTO {}.late VALUES (1), (1)", schema_)}, {}};
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  auto rows = run(begun->transaction->run_and_commit(queries(twice)));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().reason(), kUniqueViolation);
  EXPECT_EQ(stored(), 0);
}

TEST_F(TransactionTest, a_statement_that_ends_the_transaction_is_noticed) {
  auto begun = run(pool_->begin(soon(), queries(insert(1))));
  ASSERT_TRUE(begun);
  ASSERT_TRUE(run(begun->transaction->run(queries({{"ROLLBACK"}, {}}))));
  auto rows = run(begun->transaction->run_and_commit({}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kInternal);
  EXPECT_EQ(stored(), 0);
}

TEST_F(TransactionTest, two_writers_of_one_row_clash_when_serializable) {
  ASSERT_TRUE(run(pool_->query(soon(), insert(1))));
  Query serializable{{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"}, {}};
  Query change{{fmt::format("UPDATE {}.items SET note = 'y' WHERE id = 1", schema_)}, {}};
  auto first = run(pool_->begin(soon(), queries(serializable, count())));
  ASSERT_TRUE(first) << first.error().detail();
  ASSERT_TRUE(run(pool_->query(soon(), change)));
  auto clash = run(first->transaction->run_and_commit(queries(change)));
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().reason(), kSerializationFailure);
}

TEST_F(TransactionTest, a_stale_statement_inside_is_a_conflict_once) {
  auto options = server_options();
  options.connections = 1;
  auto pool = Pool::create(options);
  Query all{{fmt::format("SELECT * FROM {}.items", schema_)}, {}};
  ASSERT_TRUE(run(pool->query(soon(), all)));
  ASSERT_TRUE(run(pool_->script(soon(), fmt::format("ALTER TABLE {}.items ADD c int", schema_))));
  for (bool expected : {false, true}) {
    auto begun = run(pool->begin(soon(), queries(insert(1))));
    ASSERT_TRUE(begun);
    auto rows = run(begun->transaction->run(queries(all)));
    ASSERT_EQ(rows.has_value(), expected);
    if (!rows) EXPECT_EQ(rows.error().reason(), kStatementStale);
  }
}

TEST_F(TransactionTest, a_script_belongs_to_the_transaction) {
  auto begun = run(pool_->begin(soon(), {}));
  ASSERT_TRUE(begun);
  std::string two =
      fmt::format("INSERT INTO {0}.items VALUES (1); INSERT INTO {0}.items VALUES (2)", schema_);
  ASSERT_TRUE(run(begun->transaction->script(two)));
  EXPECT_EQ(stored(), 0);
  ASSERT_TRUE(run(begun->transaction->run_and_commit(queries(insert(3)))));
  EXPECT_EQ(stored(), 3);
  EXPECT_EQ(pool_->use().idle, 0u) << "the script may have changed settings";
}

TEST_F(TransactionTest, a_script_that_commits_by_itself_is_refused) {
  auto begun = run(pool_->begin(soon(), {}));
  ASSERT_TRUE(begun);
  auto done = run(begun->transaction->script("COMMIT"));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kInternal);
  EXPECT_FALSE(run(begun->transaction->run(queries(count()))));
}

}  // namespace
}  // namespace base::pg
