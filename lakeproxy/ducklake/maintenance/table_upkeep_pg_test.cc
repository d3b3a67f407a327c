#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/maintenance/table_upkeep.h"

namespace lake::ducklake {
namespace {

using std::chrono::hours;

const model::TableId kTable(1);

// Table 1 in the folder main/t/, with what DuckDB would have written.
class TableUpkeepTest : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    snapshot(1, "created_table:\"main\".\"t\"",
             "INSERT INTO ducklake_table VALUES (1, gen_random_uuid(), 1, NULL, 0, 't', 't/', "
             "true)");
    snapshot(2, "inserted_into_table:1");
    snapshot(3, "inserted_into_table:1");
  }

  TableUpkeep upkeep() { return {*pool_, options_}; }
  void schedule(std::int64_t id, const std::string& path, const std::string& ago) {
    exec(
        fmt::format("INSERT INTO ducklake_files_scheduled_for_deletion VALUES ({}, '{}', true, "
                    "now() - interval '{}')",
                    id, path, ago));
  }
  std::vector<std::int64_t> removable(std::chrono::microseconds grace) {
    auto files = run(upkeep().removable(soon(), kTable, grace, 100));
    EXPECT_TRUE(files) << files.error().detail();
    std::vector<std::int64_t> ids;
    for (const auto& file : *files) ids.push_back(file.data_file_id);
    return ids;
  }
};

using Ids = std::vector<std::int64_t>;

TEST_F(TableUpkeepTest, totals_count_what_is_live_wherever_it_stands) {
  exec(
      "INSERT INTO ducklake_data_file VALUES (10, 1, 2, NULL, 0, 'a', true, 'parquet', 100, 1000, "
      "1, 0, NULL, NULL, NULL, NULL), (11, 1, 2, 3, 0, 'b', true, 'parquet', 50, 500, 1, 100, "
      "NULL, NULL, NULL, NULL);"
      "INSERT INTO ducklake_delete_file VALUES (12, 1, 2, NULL, 10, 'd', true, 'parquet', 7, 70, "
      "1, NULL, NULL), (13, 1, 2, NULL, 11, 'e', true, 'parquet', 9, 90, 1, NULL, NULL);"
      "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, end_snapshot "
      "bigint, a bigint); INSERT INTO ducklake_inlined_data_1_1 VALUES (150, 2, NULL, 1), (151, "
      "2, 3, 1); INSERT INTO ducklake_inlined_data_tables VALUES (1, 'ducklake_inlined_data_1_1', "
      "1); CREATE TABLE ducklake_inlined_delete_1 (file_id bigint, row_id bigint, begin_snapshot "
      "bigint); INSERT INTO ducklake_inlined_delete_1 VALUES (10, 3, 3), (11, 4, 2)");
  auto totals = run(upkeep().totals(soon(), kTable));
  ASSERT_TRUE(totals) << totals.error().detail();
  EXPECT_EQ(totals->files, 1);
  EXPECT_EQ(totals->delete_files, 1);
  EXPECT_EQ(totals->bytes, 1070);
  EXPECT_EQ(totals->rows, 100 - 7 - 1 + 1);
  EXPECT_EQ(totals->inlined, 2);
}

TEST_F(TableUpkeepTest, files_go_after_their_grace_and_from_their_own_table) {
  schedule(20, "main/t/old.parquet", "25 hours");
  schedule(21, "main/t/young.parquet", "23 hours");
  schedule(22, "main/tt/neighbour.parquet", "25 hours");
  schedule(23, "main/t/needed.parquet", "25 hours");
  exec(
      "INSERT INTO ducklake_data_file VALUES (30, 1, 2, NULL, 0, 'needed.parquet', true, "
      "'parquet', 1, 1, 1, 0, NULL, NULL, NULL, NULL)");
  EXPECT_EQ(removable(hours(24)), Ids{20});
  EXPECT_EQ(removable(hours(1)), (Ids{20, 21}));
  auto files = run(upkeep().removable(soon(), kTable, hours(24), 100));
  ASSERT_TRUE(run(upkeep().forget(soon(), *files)));
  EXPECT_EQ(removable(hours(24)), Ids{});
  EXPECT_EQ(text("SELECT count(*) FROM lk.ducklake_files_scheduled_for_deletion"), "3");
}

TEST_F(TableUpkeepTest, a_file_stays_while_a_list_that_names_it_may_be_read) {
  exec(
      "INSERT INTO lakeproxy_snapshot VALUES (1, 2, '{\"manifest-list\": \"one\"}'); "
      "UPDATE lakeproxy_snapshot SET recorded_at = now() - interval '90 hours'");
  schedule(20, "main/t/old.parquet", "50 hours");
  schedule(21, "main/t/older.parquet", "100 hours");
  exec("UPDATE lakeproxy_snapshot SET snapshot_json = '{\"manifest-list\": \"two\"}'");
  EXPECT_EQ(removable(hours(24)), Ids{21}) << "the list came after the older one was let go of";
  exec("UPDATE lakeproxy_superseded SET superseded_at = now() - interval '25 hours'");
  EXPECT_EQ(removable(hours(24)), (Ids{21, 20}));
}

TEST_F(TableUpkeepTest, snapshots_expire_by_the_lakes_option) {
  auto expirable = [&] {
    auto found = run(upkeep().expirable(soon(), 100));
    EXPECT_TRUE(found) << found.error().detail();
    return found ? *found : Ids{};
  };
  exec(
      "UPDATE ducklake_snapshot SET snapshot_time = now() - interval '40 days' + snapshot_id * "
      "interval '10 days'");
  EXPECT_EQ(expirable(), Ids{}) << "the option is not set";
  exec("INSERT INTO ducklake_metadata VALUES ('expire_older_than', '15 days', NULL, NULL)");
  EXPECT_EQ(expirable(), (Ids{0, 1, 2}));
  exec(
      "INSERT INTO lakeproxy_table (table_id, revision, refs, updated_ms) VALUES (1, 1, "
      "'{\"t\": {\"snapshot-id\": 1, \"type\": \"tag\"}}', 0)");
  EXPECT_EQ(expirable(), (Ids{0, 2}));
  exec("UPDATE ducklake_metadata SET value = '1 day' WHERE key = 'expire_older_than'");
  EXPECT_EQ(expirable(), (Ids{0, 2})) << "the newest stays";
  exec("UPDATE ducklake_metadata SET value = 'soon' WHERE key = 'expire_older_than'");
  EXPECT_EQ(run(upkeep().expirable(soon(), 100)).error().kind(), base::ErrorKind::kInvalid);
}

TEST_F(TableUpkeepTest, one_lock_for_each_table) {
  auto first = run(upkeep().lock(soon(), kTable));
  ASSERT_TRUE(first);
  EXPECT_EQ(run(upkeep().lock(soon(), kTable)).error().kind(), base::ErrorKind::kUnavailable);
  auto other = run(upkeep().lock(soon(), model::TableId(2)));
  ASSERT_TRUE(other);
  auto freed = run([](base::pg::Transaction* held) -> base::Task<base::Status> {
    co_await held->rollback();
    co_return base::Status{};
  }(first->get()));
  ASSERT_TRUE(freed);
  EXPECT_TRUE(run(upkeep().lock(soon(), kTable)));
}

}  // namespace
}  // namespace lake::ducklake
