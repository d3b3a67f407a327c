#include "lakeproxy/to_iceberg/snapshot/partial_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lakeproxy/to_iceberg/snapshot/sample_lake.h"

namespace lake::materialize {
namespace {

using model::DataFileId;
using model::LakeChanges;
using model::SnapshotId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Span {
  std::int64_t begin;
  std::int64_t partial_max;
  std::optional<SnapshotId> end = std::nullopt;
};

// Files 1, 2, ... with ten rows each.
LakeChanges lake(std::vector<std::int64_t> commits, std::vector<Span> spans,
                 std::optional<SnapshotId> after = std::nullopt) {
  LakeChanges changes;
  changes.after = after;
  for (std::int64_t id : commits) changes.commits.push_back(lake_commit(id));
  changes.up_to = changes.commits.back().snapshot;
  std::int64_t id = 0;
  for (const Span& span : spans) {
    auto file = lake_file(++id, span.begin, span.end);
    file.partial_max = SnapshotId(span.partial_max);
    changes.data_files.emplace(file.id, file);
  }
  return changes;
}

void read(LakeChanges& changes, std::int64_t file, std::vector<std::int64_t> begins) {
  auto rows = std::make_shared<model::RowSnapshotIds>();
  for (std::int64_t begin : begins) rows->add(SnapshotId(begin));
  changes.row_snapshot_ids[DataFileId(file)] = std::move(rows);
}

std::vector<std::int64_t> left(LakeChanges changes, const PartialLimits& limits = {}) {
  hide_commits(changes, limits);
  std::vector<std::int64_t> ids;
  for (const auto& commit : changes.commits) ids.push_back(commit.snapshot.value);
  return ids;
}

TEST(HideCommits, hides_those_that_see_part_of_a_file_that_was_not_read) {
  const std::vector<std::int64_t> all{1, 2, 3, 4, 5, 9};
  EXPECT_EQ(left(lake(all, {})), all);
  EXPECT_THAT(left(lake(all, {{2, 4}})), ElementsAre(1, 4, 5, 9));
  EXPECT_EQ(left(lake(all, {{4, 4}})), all) << "the file is whole at its last row's";
  EXPECT_THAT(left(lake(all, {{4, 5}, {1, 3}, {2, 3}})), ElementsAre(3, 5, 9));
  EXPECT_THAT(left(lake(all, {{1, 6}, {2, 3}})), ElementsAre(9));
  EXPECT_THAT(left(lake(all, {{1, 9, SnapshotId(4)}})), ElementsAre(4, 5, 9)) << "it ends before";
}

TEST(HideCommits, shows_what_sees_part_of_files_that_were_read) {
  auto changes = lake({1, 2, 3, 4}, {{1, 3}, {2, 4}});
  read(changes, 1, {1, 2, 3});
  EXPECT_THAT(left(changes), ElementsAre(1, 4)) << "the second was not read";
  read(changes, 2, {2, 3, 4});
  EXPECT_THAT(left(changes), ElementsAre(1, 2, 3, 4));
}

TEST(HideCommits, shows_the_newest_that_the_limits_allow) {
  auto changes = lake({1, 2, 3, 4, 5, 6}, {{2, 5}});
  read(changes, 1, {2, 2, 3, 4, 5});
  EXPECT_THAT(left(changes, {.delete_files = 3}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(left(changes, {.delete_files = 2}), ElementsAre(1, 3, 4, 5, 6));
  EXPECT_THAT(left(changes, {.delete_files = 0}), ElementsAre(1, 5, 6));
  // One position at 4, two more at 3, three more at 2.
  EXPECT_THAT(left(changes, {.positions = 6}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(left(changes, {.positions = 5}), ElementsAre(1, 3, 4, 5, 6));
  EXPECT_THAT(left(changes, {.positions = 2}), ElementsAre(1, 4, 5, 6));
}

TEST(HideCommits, a_snapshot_at_which_no_row_of_the_file_begins_costs_nothing) {
  auto changes = lake({1, 2, 3, 4, 5}, {{1, 5}});
  read(changes, 1, {1, 5});
  EXPECT_THAT(left(changes, {.delete_files = 1}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(left(changes, {.delete_files = 0}), ElementsAre(5));
}

TEST(PartialFilesToRead, are_those_that_a_commit_sees_in_part) {
  EXPECT_THAT(partial_files_to_read(lake({5, 9}, {{1, 5}, {1, 6}, {6, 8}, {6, 9}, {9, 12}})),
              ElementsAre(DataFileId(5), DataFileId(2)));
  EXPECT_THAT(partial_files_to_read(lake({5}, {{1, 9, SnapshotId(5)}})), IsEmpty());
}

TEST(PartialFilesToRead, ends_with_the_rows_that_may_be_read) {
  const auto changes = lake({1}, {{1, 5}, {1, 7}, {1, 6}});
  EXPECT_THAT(partial_files_to_read(changes, {.rows_read = 20}),
              ElementsAre(DataFileId(2), DataFileId(3)));
  EXPECT_THAT(partial_files_to_read(changes, {.rows_read = 9}), IsEmpty());
}

TEST(ShowsAPart, also_what_was_published_before_counts) {
  const auto changes = lake({9}, {{2, 5}}, SnapshotId(4));
  EXPECT_TRUE(shows_a_part(changes, changes.data_files.at(DataFileId(1))));
  const auto whole = lake({9}, {{2, 5}}, SnapshotId(5));
  EXPECT_FALSE(shows_a_part(whole, whole.data_files.at(DataFileId(1))));
}

}  // namespace
}  // namespace lake::materialize
