// What a table of format version 3 makes of the lake's deletes and inlined rows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_chain.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::SnapshotId;
using ::testing::ElementsAre;

class SplitV3Test : public ::testing::Test {
 protected:
  SplitV3Test() { table.metadata.format_version = 3; }

  // Files 1 and 2 of snapshot 1; snapshot 2 deletes a row of each.
  static model::LakeChanges deletes_of_two_files() {
    model::LakeChanges all;
    all.up_to = SnapshotId(2);
    all.commits = {lake_commit(1), lake_commit(2)};
    for (std::int64_t id : {1, 2}) {
      model::LakeDataFile file = lake_file(id, 1);
      file.row_id_start = (id - 1) * 10;
      all.data_files.emplace(file.id, file);
      all.inlined_deletes.push_back(
          {.data_file_id = file.id, .row_id = id, .begin = SnapshotId(2)});
    }
    return all;
  }

  model::LakeTable table = sample_lake();
};

TEST_F(SplitV3Test, deletes_of_one_snapshot_go_into_one_puffin_file) {
  auto all = deletes_of_two_files();
  ExportPlan plan = plan_exports(table, all);
  ASSERT_EQ(plan.deletes.size(), 2);
  EXPECT_EQ(plan.deletes[0].puffin, "s3://lake/t/metadata/lake/deletes-2-0-v3");
  EXPECT_EQ(plan.deletes[0].puffin, plan.deletes[1].puffin);
  EXPECT_NE(plan.deletes[0].location, plan.deletes[1].location);
  table.metadata.format_version = 2;
  EXPECT_EQ(plan_exports(table, all).deletes[0].puffin, "");
}

TEST_F(SplitV3Test, a_vector_is_shown_by_its_place_and_counted_as_one) {
  auto all = deletes_of_two_files();
  ExportPlan plan = plan_exports(table, all);
  Exported made;
  made[plan.deletes[0].location] = {.record_count = 1,
                                    .file_size_bytes = 90,
                                    .vector = VectorPlace{"s3://lake/t/x.puffin", {4, 40}}};
  made[plan.deletes[1].location] = {.record_count = 0};
  auto split = split_changes(table, all, plan, made);
  ASSERT_TRUE(split) << split.error().message();
  ASSERT_EQ((*split)[1].added_deletes.size(), 1) << "no positions, no vector";
  SnapshotChain chain;
  chain.table = table;
  chain.apply((*split)[0]);
  auto built = chain.apply((*split)[1]);
  const auto seen = chain.read(built.snapshot);
  const model::DataFile& vector = seen.back().entry.data_file;
  EXPECT_EQ(vector.file_path, "s3://lake/t/x.puffin");
  EXPECT_EQ(vector.file_format, model::FileFormat::kPuffin);
  EXPECT_EQ(vector.referenced_data_file, "s3://lake/t/f1");
  EXPECT_EQ(vector.content_offset, 4);
  EXPECT_EQ(vector.content_size_in_bytes, 40);
  EXPECT_EQ(vector.record_count, 1);
  EXPECT_TRUE(vector.metrics.empty());
  EXPECT_EQ(built.snapshot.summary.at("added-dvs"), "1");
  EXPECT_EQ(built.snapshot.summary.at("added-delete-files"), "1");
  EXPECT_EQ(built.snapshot.summary.count("added-position-delete-files"), 0);
}

TEST_F(SplitV3Test, ids_of_inlined_rows_are_counted_over_their_gaps) {
  constexpr std::int64_t kOfTransaction = 1'000'000'000'000'000'000;
  table.metadata.next_row_id = 15;
  model::LakeChanges all;
  all.up_to = SnapshotId(2);
  all.commits = {lake_commit(1), lake_commit(2)};
  model::LakeDataFile file = lake_file(1, 1);
  file.row_id_start = 0;
  all.data_files.emplace(file.id, file);
  all.inlined = {{.schema_version = 1,
                  .rows = {{.row_id = 5, .begin = SnapshotId(2)},
                           {.row_id = 14, .begin = SnapshotId(2)},
                           {.row_id = kOfTransaction, .begin = SnapshotId(2)}}}};
  ExportPlan plan = plan_exports(table, all);
  ASSERT_EQ(plan.inlined.size(), 1);
  Exported made{{plan.inlined[0].location, {.record_count = 3, .file_size_bytes = 90}}};
  auto split = split_changes(table, all, plan, made);
  ASSERT_TRUE(split) << split.error().message();
  SnapshotChain chain;
  chain.table = table;
  chain.apply((*split)[0]);
  auto built = chain.apply((*split)[1]);
  EXPECT_EQ(built.snapshot.first_row_id, 10);
  EXPECT_EQ(built.snapshot.added_rows, 5);
}

TEST_F(SplitV3Test, data_files_that_come_back_may_show_rows_that_vectors_took_away) {
  auto all = deletes_of_two_files();
  all.up_to = SnapshotId(4);
  all.commits.push_back(lake_commit(3));
  all.commits.push_back(lake_commit(4));
  all.commits.back().extra_info = R"({"lakeproxy-restored-snapshot-id":"1"})";
  all.data_files.at(DataFileId(1)).end = SnapshotId(3);
  model::LakeDataFile again = lake_file(3, 3);
  again.path = all.data_files.at(DataFileId(1)).path;
  all.data_files.emplace(again.id, again);
  all.data_files.emplace(DataFileId(4), lake_file(4, 4));
  ExportPlan plan = plan_exports(table, all);
  Exported made;
  for (const auto& group : plan.deletes) {
    made[group.location] = {.record_count = 1,
                            .file_size_bytes = 90,
                            .vector = VectorPlace{"s3://lake/t/x.puffin", {4, 40}}};
  }
  auto split = split_changes(table, all, plan, made);
  ASSERT_TRUE(split) << split.error().message();
  EXPECT_TRUE((*split)[1].uncovered.empty()) << "deletes alone show nothing again";
  EXPECT_THAT((*split)[2].uncovered, ElementsAre(again.path));
  EXPECT_THAT((*split)[3].uncovered, ElementsAre("s3://lake/t/f4")) << "any, after a rollback";
}

TEST_F(SplitV3Test, deletes_older_than_their_file_count_from_its_begin_on) {
  auto all = deletes_of_two_files();
  all.inlined_deletes.clear();
  all.data_files.at(DataFileId(2)).begin = SnapshotId(2);
  all.delete_files.push_back(
      {.id = 7, .data_file_id = DataFileId(2), .begin = SnapshotId(1), .path = "s3://lake/d"});
  ExportPlan plan = plan_exports(table, all);
  ASSERT_EQ(plan.deletes.size(), 1U);
  EXPECT_EQ(plan.deletes[0].snapshot, SnapshotId(2));
  EXPECT_FALSE(plan.deletes[0].replaces);
}

TEST_F(SplitV3Test, inlined_rows_take_their_ids_with_them) {
  model::LakeChanges all;
  all.up_to = SnapshotId(3);
  all.commits = {lake_commit(3)};
  all.inlined = {{.schema_version = 1,
                  .columns = table.metadata.current_schema().fields,
                  .rows = {{.row_id = 21, .begin = SnapshotId(3), .values = {"b"}},
                           {.row_id = 4, .begin = SnapshotId(3), .values = {"a"}}}}};
  ExportPlan plan = plan_exports(table, all);
  ASSERT_EQ(plan.inlined.size(), 1);
  const InlinedGroup& group = plan.inlined[0];
  EXPECT_EQ(group.location, "s3://lake/t/metadata/lake/inlined-1-3-0-v3");
  EXPECT_EQ(group.columns.back().id, 2147483540);
  EXPECT_THAT(group.rows[0].values, ElementsAre("a", "4"));
  EXPECT_THAT(group.rows[1].values, ElementsAre("b", "21"));
  auto split = split_changes(table, all, plan, {{group.location, {.record_count = 2}}});
  ASSERT_TRUE(split);
  const FileView& view = (*split)[0].added_data.at(0);
  EXPECT_EQ(view.file.first_row_id, 4);
  EXPECT_EQ(view.begin, SnapshotId(3));
  table.metadata.format_version = 2;
  EXPECT_EQ(plan_exports(table, all).inlined[0].columns.size(), 1);
}

}  // namespace
}  // namespace lake::materialize
