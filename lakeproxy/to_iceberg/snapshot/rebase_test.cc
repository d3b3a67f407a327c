#include "lakeproxy/to_iceberg/snapshot/rebase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/snapshot/change_split.h"
#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::LakeChanges;
using model::SnapshotId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Snapshot 5 is published with the files 1 and 2, of ten rows each; one of file 2's is deleted.
// Files were replaced at 6.
class RebaseTest : public ::testing::Test {
 protected:
  RebaseTest() {
    changes.published = SnapshotId(5);
    changes.up_to = SnapshotId(6);
    changes.commits = {lake_commit(6, "merge_adjacent:1")};
    list = {manifest(model::FileContent::kData, {"s3://lake/t/f1", "s3://lake/t/f2"}),
            manifest(model::FileContent::kPositionDeletes, {"s3://lake/t/f2"})};
  }

  static ListedManifest manifest(model::FileContent content, std::vector<std::string> paths) {
    std::vector<model::ManifestEntry> entries;
    for (std::string& path : paths) {
      model::ManifestEntry entry;
      entry.data_file.content = content;
      entry.data_file.record_count = content == model::FileContent::kData ? 10 : 1;
      entry.data_file.file_path = path;
      if (content != model::FileContent::kData) {
        entry.data_file.file_path += "-deletes";
        entry.data_file.referenced_data_file = path;
      }
      entries.push_back(std::move(entry));
    }
    return {{}, std::make_shared<const std::vector<model::ManifestEntry>>(std::move(entries))};
  }
  void show(model::LakeDataFile file) { changes.data_files.emplace(file.id, std::move(file)); }
  void delete_row(std::int64_t file, std::int64_t row, std::int64_t begin) {
    changes.inlined_deletes.push_back(
        {.data_file_id = DataFileId(file), .row_id = row, .begin = SnapshotId(begin)});
  }

  SnapshotChange step() {
    Rebase rebase(list, changes);
    rebase.leave_out_known(changes);
    read = std::ssize(changes.data_files);
    const auto table = sample_lake();
    ExportPlan plan = plan_exports(table, changes);
    rebase.leave_out_known(plan);
    Exported made;
    for (const auto& group : plan.deletes) made[group.location].record_count = 1;
    auto split = split_changes(table, changes, plan, made);
    EXPECT_TRUE(split);
    rebase.apply(changes, split->front());
    return std::move(split->front());
  }
  static std::vector<std::string> added(const SnapshotChange& change) {
    std::vector<std::string> paths;
    for (const auto& view : change.added_data) paths.push_back(view.file.file_path);
    return paths;
  }

  std::vector<ListedManifest> list;
  LakeChanges changes;
  std::int64_t read = 0;  ///< Files that the rest of a publication looks at.
};

TEST_F(RebaseTest, what_stays_is_not_touched) {
  show(lake_file(1, 1));
  show(lake_file(2, 3));
  delete_row(2, 7, 4);
  const SnapshotChange change = step();
  EXPECT_TRUE(change.empty());
  EXPECT_TRUE(change.rewrites_only);
  EXPECT_EQ(read, 1) << "the one with deletes";
}

TEST_F(RebaseTest, files_that_were_merged_go_with_their_deletes) {
  show(lake_file(3, 1));
  const SnapshotChange change = step();
  EXPECT_THAT(added(change), ElementsAre("s3://lake/t/f3"));
  EXPECT_THAT(change.removed_data, UnorderedElementsAre("s3://lake/t/f1", "s3://lake/t/f2"));
  EXPECT_THAT(change.superseded_deletes, ElementsAre("s3://lake/t/f2"));
  EXPECT_THAT(change.added_deletes, IsEmpty());
}

TEST_F(RebaseTest, more_deletes_take_the_place_of_the_published_ones) {
  show(lake_file(1, 1));
  show(lake_file(2, 3));
  delete_row(2, 7, 4);
  delete_row(2, 8, 6);
  const SnapshotChange change = step();
  EXPECT_THAT(added(change), IsEmpty());
  EXPECT_THAT(change.superseded_deletes, ElementsAre("s3://lake/t/f2"));
  ASSERT_EQ(change.added_deletes.size(), 1);
  EXPECT_EQ(change.added_deletes[0].file.referenced_data_file, "s3://lake/t/f2");
}

TEST_F(RebaseTest, an_object_that_came_back_since_goes_and_comes) {
  auto again = lake_file(9, 6);
  again.path = "s3://lake/t/f2";
  show(lake_file(1, 1));
  show(again);
  const SnapshotChange change = step();
  EXPECT_THAT(added(change), ElementsAre("s3://lake/t/f2"));
  EXPECT_THAT(change.removed_data, ElementsAre("s3://lake/t/f2"));
  EXPECT_THAT(change.superseded_deletes, ElementsAre("s3://lake/t/f2"));
  EXPECT_THAT(change.uncovered, ElementsAre("s3://lake/t/f2"));
}

TEST_F(RebaseTest, a_file_that_has_ended_goes) {
  show(lake_file(1, 1, SnapshotId(6)));
  show(lake_file(2, 3));
  delete_row(2, 7, 4);
  EXPECT_THAT(step().removed_data, ElementsAre("s3://lake/t/f1"));
}

TEST_F(RebaseTest, it_is_no_rewrite_where_rows_may_have_changed) {
  changes.first_row_change = SnapshotId(6);
  EXPECT_FALSE(step().rewrites_only);
}

}  // namespace
}  // namespace lake::materialize
