#include "lakeproxy/ducklake/read/reader_fixture_test.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using model::SnapshotId;

TEST_F(Reader, reads_the_files_of_a_range) {
  make_table();
  snapshot(2, "inserted_into_table:1",
           data_file(1, 2) +
               "; INSERT INTO ducklake_file_column_stats VALUES (1, 1, 1, 50, 10, 0, '1', '9', "
               "NULL, NULL); INSERT INTO lakeproxy_nan_count VALUES (1, 1, 0);"
               "INSERT INTO ducklake_file_partition_value VALUES (1, 1, 1, 'b'), (1, 1, 0, NULL);"
               "INSERT INTO lakeproxy_file VALUES (1, 1, 0, '[]', '{4,100}', 3, '\\x0102')");
  snapshot(3, "inserted_into_table:1",
           "INSERT INTO ducklake_data_file VALUES (2, 1, 3, NULL, NULL, 's3://else/g.parquet', "
           "false, 'parquet', 5, 500, 50, 10, NULL, NULL, NULL, NULL)");
  snapshot(4, "deleted_from_table:1",
           "INSERT INTO ducklake_delete_file VALUES (3, 1, 4, NULL, 1, 'd.puffin', true, 'puffin', "
           "2, 100, 10, NULL, NULL)");
  const model::LakeTable table = load();
  auto lake = reader();
  auto all = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(4)));
  ASSERT_TRUE(all) << all.error().message() << all.error().detail();
  ASSERT_EQ(all->commits.size(), 3);
  EXPECT_EQ(all->commits[0].changes_made, "inserted_into_table:1");
  EXPECT_EQ(all->commits[0].committed_ms, 1767225720000 - 1000);
  ASSERT_EQ(all->data_files.size(), 2);
  const model::LakeDataFile& file = all->data_files.at(model::DataFileId(1));
  EXPECT_EQ(file.path, "s3://lake/data/main/t/f1.parquet");
  EXPECT_EQ(file.begin, SnapshotId(2));
  EXPECT_EQ(file.row_id_start, 0);
  ASSERT_EQ(file.stats.size(), 1);
  EXPECT_EQ(file.stats[0].max_value, "9");
  EXPECT_EQ(file.stats[0].nan_count, 0);
  EXPECT_TRUE(file.stats[0].nan_count_settled);
  EXPECT_EQ(file.partition_values, (std::vector<std::optional<std::string>>{std::nullopt, "b"}));
  ASSERT_TRUE(file.iceberg);
  EXPECT_EQ(file.iceberg->split_offsets, (Ids{4, 100}));
  EXPECT_EQ(file.iceberg->sort_order_id, 3);
  EXPECT_EQ(file.iceberg->key_metadata, "\x01\x02");
  EXPECT_EQ(all->data_files.at(model::DataFileId(2)).path, "s3://else/g.parquet");
  ASSERT_EQ(all->delete_files.size(), 1);
  EXPECT_EQ(all->delete_files[0].path, "s3://lake/data/main/t/d.puffin");

  auto last = run(lake.read_changes(soon(), &table, SnapshotId(3), SnapshotId(4)));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->commits.size(), 1);
  EXPECT_EQ(last->data_files.size(), 1) << "the one that the delete file refers to";
  EXPECT_TRUE(last->data_files.contains(model::DataFileId(1)));

  exec("UPDATE ducklake_data_file SET file_format = 'orc' WHERE data_file_id = 2");
  auto orc = run(lake.read_changes(soon(), &table, std::nullopt, SnapshotId(4)));
  ASSERT_FALSE(orc);
  EXPECT_EQ(orc.error().kind(), ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace lake::ducklake
