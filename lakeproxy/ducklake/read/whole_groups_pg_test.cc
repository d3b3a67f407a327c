// A range of changes is read with everything that the files made for it need:
// positions count all rows of a group, and a new delete file holds what older
// ones have deleted.

#include <set>

#include "lakeproxy/ducklake/lake/lake_fixture_test.h"
#include "lakeproxy/ducklake/read/lake_reader.h"

namespace lake::ducklake {
namespace {

using model::SnapshotId;

class WholeGroups : public LakeFixture {
 protected:
  void SetUp() override {
    open();
    snapshot(1, "created_table:\"main\".\"t\"",
             "INSERT INTO ducklake_table VALUES (1, '11111111-1111-1111-1111-111111111111', 1, "
             "NULL, 0, 't', 't/', true); INSERT INTO ducklake_schema_versions VALUES (1, 1, 1); "
             "INSERT INTO ducklake_column VALUES (1, 1, NULL, 1, 1, 'i', 'int32', NULL, 'NULL', "
             "true, NULL, 'literal', 'duckdb')");
  }

  model::LakeChanges read(std::int64_t after, std::int64_t up_to) {
    LakeReader reader(*pool_, options_);
    auto table = run(reader.load_table(soon(), model::TableId(1)));
    EXPECT_TRUE(table) << table.error().message() << table.error().detail();
    if (!table) return {};
    auto changes = run(reader.read_changes(soon(), &*table, SnapshotId(after), SnapshotId(up_to)));
    EXPECT_TRUE(changes) << changes.error().message() << changes.error().detail();
    return changes ? std::move(*changes) : model::LakeChanges{};
  }
};

TEST_F(WholeGroups, rows_that_began_together) {
  snapshot(2, "inlined_insert:1",
           "CREATE TABLE ducklake_inlined_data_1_1 (row_id bigint, begin_snapshot bigint, "
           "end_snapshot bigint, i integer); INSERT INTO ducklake_inlined_data_tables VALUES (1, "
           "'ducklake_inlined_data_1_1', 1); INSERT INTO ducklake_inlined_data_1_1 VALUES (0, 2, "
           "3, 10), (1, 2, 4, 11), (2, 2, NULL, 12)");
  snapshot(3, "inlined_delete:1", "INSERT INTO ducklake_inlined_data_1_1 VALUES (3, 3, NULL, 13)");
  snapshot(4, "inlined_delete:1");
  snapshot(5, "inlined_insert:1", "INSERT INTO ducklake_inlined_data_1_1 VALUES (4, 5, NULL, 14)");
  struct {
    std::int64_t after, up_to;
    std::set<std::int64_t> rows;
  } cases[] = {{1, 2, {0, 1, 2}}, {2, 3, {0, 1, 2, 3}}, {3, 4, {0, 1, 2}},
               {4, 5, {4}},       {5, 6, {}},           {-1, 5, {0, 1, 2, 3, 4}}};
  for (const auto& c : cases) {
    std::set<std::int64_t> rows;
    for (const auto& table : read(c.after, c.up_to).inlined) {
      for (const auto& row : table.rows) rows.insert(row.row_id);
    }
    EXPECT_EQ(rows, c.rows) << c.after << " to " << c.up_to;
  }
}

TEST_F(WholeGroups, deletes_of_one_file) {
  snapshot(2, "inserted_into_table:1",
           "INSERT INTO ducklake_data_file SELECT n, 1, 2, NULL, NULL, 'f' || n, true, 'parquet', "
           "10, 1000, 100, 0, NULL, NULL, NULL, NULL FROM generate_series(1, 2) AS n");
  snapshot(3, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file VALUES (5, 1, 3, NULL, 1, 'd5', true, 'parquet', 1, "
           "100, NULL, NULL, NULL), (6, 1, 3, NULL, 2, 'd6', true, 'parquet', 1, 100, NULL, NULL, "
           "NULL)");
  snapshot(4, "inlined_delete:1",
           "CREATE TABLE ducklake_inlined_delete_1 (file_id bigint, row_id bigint, begin_snapshot "
           "bigint); INSERT INTO ducklake_inlined_delete_1 VALUES (1, 7, 4)");
  snapshot(5, "inlined_delete:1", "INSERT INTO ducklake_inlined_delete_1 VALUES (1, 8, 5)");
  snapshot(6, "deleted_from_table:1",
           "UPDATE ducklake_data_file SET end_snapshot = 6 WHERE data_file_id = 1");
  struct {
    std::int64_t after, up_to;
    std::set<std::int64_t> files, positions;
  } cases[] = {{1, 2, {}, {}},      {2, 3, {5, 6}, {}},  {3, 4, {5}, {7}},
               {4, 5, {5}, {7, 8}}, {5, 6, {5}, {7, 8}}, {-1, 6, {5, 6}, {7, 8}}};
  for (const auto& c : cases) {
    auto changes = read(c.after, c.up_to);
    std::set<std::int64_t> files, positions;
    for (const auto& file : changes.delete_files) files.insert(file.id);
    for (const auto& row : changes.inlined_deletes) positions.insert(row.row_id);
    EXPECT_EQ(files, c.files) << c.after << " to " << c.up_to;
    EXPECT_EQ(positions, c.positions) << c.after << " to " << c.up_to;
  }
}

TEST_F(WholeGroups, a_commit_brings_the_clients_summary) {
  snapshot(2, "inserted_into_table:1",
           "INSERT INTO ducklake_data_file VALUES (1, 1, 2, NULL, NULL, 'f', true, 'parquet', 10, "
           "1000, 100, 0, NULL, NULL, NULL, NULL)");
  exec("UPDATE ducklake_snapshot_changes SET commit_extra_info = '{}' WHERE snapshot_id = 2");
  auto changes = read(1, 2);
  ASSERT_EQ(changes.commits.size(), 1U);
  EXPECT_EQ(changes.commits[0].extra_info, "{}");
}

}  // namespace
}  // namespace lake::ducklake
