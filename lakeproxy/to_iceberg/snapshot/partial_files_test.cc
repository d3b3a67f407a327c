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

struct Span {
  std::int64_t begin;
  std::optional<SnapshotId> partial_max;
  std::optional<SnapshotId> end = std::nullopt;
};

SnapshotId at(std::int64_t id) { return SnapshotId(id); }

// Files 1, 2, ... and commits 1 to 5, and 9.
LakeChanges lake(std::vector<Span> spans) {
  LakeChanges changes;
  for (std::int64_t id : {1, 2, 3, 4, 5, 9}) changes.commits.push_back(lake_commit(id));
  std::int64_t id = 0;
  for (const Span& span : spans) {
    auto file = lake_file(++id, span.begin, span.end);
    file.partial_max = span.partial_max;
    changes.data_files.emplace(file.id, file);
  }
  return changes;
}

LakeChanges with_deletes(LakeChanges changes, Span span,
                         std::optional<SnapshotId> flushed_at = std::nullopt) {
  changes.delete_files.push_back({.id = 7,
                                  .data_file_id = DataFileId(1),
                                  .begin = at(span.begin),
                                  .end = span.end,
                                  .partial_max = span.partial_max,
                                  .flushed_at = flushed_at});
  return changes;
}

std::vector<std::int64_t> left(LakeChanges changes) {
  const std::size_t before = changes.commits.size();
  EXPECT_EQ(hide_commits(changes), changes.commits.size() < before);
  std::vector<std::int64_t> ids;
  for (const auto& commit : changes.commits) ids.push_back(commit.snapshot.value);
  return ids;
}

TEST(HideCommits, those_that_see_a_part_of_a_file) {
  EXPECT_THAT(left(lake({})), ElementsAre(1, 2, 3, 4, 5, 9));
  EXPECT_THAT(left(lake({{2, at(4)}})), ElementsAre(1, 4, 5, 9));
  EXPECT_THAT(left(lake({{4, at(4)}, {2, {}}})), ElementsAre(1, 2, 3, 4, 5, 9));
  EXPECT_THAT(left(lake({{4, at(5)}, {1, at(3)}, {2, at(3)}})), ElementsAre(3, 5, 9));
  EXPECT_THAT(left(lake({{1, at(9), at(4)}})), ElementsAre(4, 5, 9)) << "it ends before";
}

TEST(HideCommits, those_that_see_some_of_a_files_deletes) {
  EXPECT_THAT(left(with_deletes(lake({{1, {}}}), {2, at(4)})), ElementsAre(1, 4, 5, 9));
  EXPECT_THAT(left(with_deletes(lake({{1, {}}}), {2, at(9), at(4)})), ElementsAre(1, 4, 5, 9));
  EXPECT_THAT(left(with_deletes(lake({{1, {}}}), {2, {}})), ElementsAre(1, 2, 3, 4, 5, 9));
  EXPECT_THAT(left(with_deletes(lake({{1, at(1)}}), {2, {}}, at(5))), ElementsAre(1, 5, 9))
      << "a flush leaves out until when it holds deletes";
  EXPECT_THAT(left(with_deletes(lake({{1, at(1)}}), {4, {}}, at(3))), ElementsAre(1, 2, 3, 4, 5, 9))
      << "deleted after the flush";
}

TEST(HideCommits, a_delete_file_that_was_read_hides_nothing) {
  auto changes = with_deletes(lake({{1, {}}}), {2, at(4)});
  const auto wanted = delete_files_to_read(changes);
  ASSERT_EQ(wanted.size(), 1U);
  changes.row_ends.emplace(wanted.front()->id, std::make_shared<const model::RowEnds>(
                                                   model::RowEnds{{0, at(2)}, {1, at(4)}}));
  EXPECT_THAT(left(changes), ElementsAre(1, 2, 3, 4, 5, 9));
  changes.delete_files[0].format = "puffin";
  EXPECT_EQ(delete_files_to_read(changes).size(), 1U) << "DuckLake 1.1 has a vector of each";
  EXPECT_TRUE(delete_files_to_read(with_deletes(lake({{1, {}}}), {2, at(2)})).empty());
  EXPECT_EQ(delete_files_to_read(with_deletes(lake({{1, at(1)}}), {2, {}}, at(5))).size(), 1U);
}

TEST(HideCommits, the_next_one_stands_for_those_that_may_have_changed_rows) {
  auto changes = lake({{2, at(4)}});
  changes.commits[2].changes_made = "merge_adjacent:1";
  auto only_maintenance = lake({{3, at(4)}});
  only_maintenance.commits[2].changes_made = "merge_adjacent:1";
  for (auto* all : {&changes, &only_maintenance}) hide_commits(*all);
  const auto standing = [](const LakeChanges& all) {
    std::vector<std::int64_t> ids;
    for (const auto& commit : all.commits) {
      if (commit.stands_for_others) ids.push_back(commit.snapshot.value);
    }
    return ids;
  };
  EXPECT_THAT(standing(changes), ElementsAre(4));
  EXPECT_THAT(standing(only_maintenance), ElementsAre());
}

}  // namespace
}  // namespace lake::materialize
