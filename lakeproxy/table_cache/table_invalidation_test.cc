#include "lakeproxy/table_cache/table_invalidation.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

using model::LakeVersion;
using model::SnapshotId;
using model::TableId;
using Changes = ducklake::LakeReader::ChangedTables;
using Tables = std::map<TableId, LakeVersion>;

LakeVersion version(std::int64_t snapshot, std::int64_t revision) {
  return {SnapshotId(snapshot), revision};
}

TEST(TableInvalidation, knows_which_tables_changed_after_a_state) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(5, 1), Tables{}});
  auto generation = invalidation.state().generation;
  invalidation.advance(version(5, 1), Changes{version(8, 3), Tables{{TableId(7), version(7, 0)},
                                                                    {TableId(9), version(0, 3)}}});
  EXPECT_EQ(invalidation.state().version, version(8, 3));
  struct {
    const char* name;
    TableId table;
    LakeVersion read_at;
    bool changed;
  } cases[] = {
      {"read before", TableId(7), version(6, 1), true},
      {"read with the change", TableId(7), version(7, 1), false},
      {"read after it", TableId(7), version(8, 3), false},
      {"another table", TableId(8), version(5, 1), false},
      {"its sidecar changed", TableId(9), version(8, 2), true},
      {"its sidecar was read", TableId(9), version(8, 3), false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(invalidation.changed_since(c.table, c.read_at, generation), c.changed) << c.name;
  }
}

TEST(TableInvalidation, takes_every_table_for_changed_when_the_history_is_not_whole) {
  TableInvalidation invalidation;
  auto before = invalidation.state().generation;
  invalidation.advance(invalidation.state().version, Changes{version(9, 2), std::nullopt});
  EXPECT_TRUE(invalidation.changed_since(TableId(1), version(9, 2), before));
  EXPECT_FALSE(
      invalidation.changed_since(TableId(1), version(9, 2), invalidation.state().generation));
}

TEST(TableInvalidation, remembers_that_commits_were_lost) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(9, 2), Tables{}});
  const auto before = invalidation.state().generation;
  Changes other{.version = {SnapshotId(9), 2, 5}, .tables = std::nullopt, .goes_on = false};
  invalidation.advance(version(9, 2), other);
  EXPECT_EQ(invalidation.state().version, other.version);
  EXPECT_TRUE(invalidation.lost_commits_since(before));
  EXPECT_TRUE(invalidation.changed_since(TableId(1), version(9, 2), before));
  EXPECT_FALSE(invalidation.lost_commits_since(invalidation.state().generation));
  invalidation.advance(other.version, Changes{version(10, 2), std::nullopt});
  EXPECT_FALSE(invalidation.lost_commits_since(invalidation.state().generation - 1))
      << "nothing more was lost";
}

// It moves neither of the two numbers.
TEST(TableInvalidation, a_migration_changes_every_table_and_is_not_taken_back) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(9, 2), Tables{}});
  const auto before = invalidation.state().generation;
  LakeVersion migrated = version(9, 2);
  migrated.format = model::LakeFormat::k1_1;
  invalidation.advance(version(9, 2),
                       Changes{.version = migrated, .tables = std::nullopt, .goes_on = false});
  EXPECT_TRUE(invalidation.changed_since(TableId(1), version(9, 2), before));
  EXPECT_TRUE(invalidation.lost_commits_since(before));
  // A worker that asked before the migration and is told late.
  invalidation.advance(version(8, 2), Changes{version(9, 2), Tables{}});
  EXPECT_EQ(invalidation.state().version, migrated);
}

TEST(TableInvalidation, forgets_higher_numbers_when_the_lake_was_set_back) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version,
                       Changes{version(9, 2), Tables{{TableId(1), version(9, 2)}}});
  invalidation.advance(version(9, 2), Changes{version(4, 1), std::nullopt});
  EXPECT_EQ(invalidation.state().version, version(4, 1));
  EXPECT_FALSE(
      invalidation.changed_since(TableId(1), version(4, 1), invalidation.state().generation));
}

TEST(TableInvalidation, is_not_taken_back_by_a_worker_that_saw_less) {
  TableInvalidation invalidation;
  auto start = invalidation.state().version;
  invalidation.advance(start, Changes{version(9, 2), Tables{}});
  invalidation.advance(start, Changes{version(8, 2), Tables{{TableId(3), version(8, 0)}}});
  EXPECT_EQ(invalidation.state().version, version(9, 2));
  EXPECT_TRUE(
      invalidation.changed_since(TableId(3), version(7, 2), invalidation.state().generation));
}

TEST(TableInvalidation, follows_a_commit_of_its_own_process) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(5, 1), Tables{}});
  auto generation = invalidation.state().generation;
  invalidation.note_commit(version(5, 1), version(6, 2), TableId(3));
  EXPECT_EQ(invalidation.state().version, version(6, 2));
  EXPECT_TRUE(invalidation.changed_since(TableId(3), version(5, 1), generation));
  EXPECT_FALSE(invalidation.changed_since(TableId(3), version(6, 2), generation));
}

TEST(TableInvalidation, asks_when_somebody_else_came_before_a_commit_of_its_own) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(5, 1), Tables{}});
  invalidation.note_commit(version(6, 1), version(7, 2), TableId(3));
  EXPECT_EQ(invalidation.state().version, version(5, 1));
}

TEST(TableInvalidation, keeps_the_newest_version_of_the_policies_until_commits_are_lost) {
  TableInvalidation invalidation;
  invalidation.advance(invalidation.state().version, Changes{version(5, 1), Tables{}});
  invalidation.note_policies(7);
  invalidation.note_policies(6);  // Of a worker that was slower.
  EXPECT_EQ(invalidation.policies(), 7);
  invalidation.advance(version(5, 1), Changes{version(6, 1), Tables{}});
  EXPECT_EQ(invalidation.policies(), 7);
  invalidation.advance(version(6, 1),
                       Changes{.version = version(4, 1), .tables = {}, .goes_on = false});
  EXPECT_EQ(invalidation.policies(), 0);
}

}  // namespace
}  // namespace lake::publish
