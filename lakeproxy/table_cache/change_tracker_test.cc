#include "lakeproxy/table_cache/change_tracker.h"

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

TEST(ChangeTracker, knows_which_tables_changed_after_a_state) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version, Changes{version(5, 1), Tables{}});
  auto tick = tracker.state().tick;
  tracker.advance(version(5, 1), Changes{version(8, 3), Tables{{TableId(7), version(7, 0)},
                                                               {TableId(9), version(0, 3)}}});
  EXPECT_EQ(tracker.state().version, version(8, 3));
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
    EXPECT_EQ(tracker.changed_since(c.table, c.read_at, tick), c.changed) << c.name;
  }
}

TEST(ChangeTracker, takes_every_table_for_changed_when_the_history_is_not_whole) {
  ChangeTracker tracker;
  auto before = tracker.state().tick;
  tracker.advance(tracker.state().version, Changes{version(9, 2), std::nullopt});
  EXPECT_TRUE(tracker.changed_since(TableId(1), version(9, 2), before));
  EXPECT_FALSE(tracker.changed_since(TableId(1), version(9, 2), tracker.state().tick));
}

TEST(ChangeTracker, remembers_that_commits_were_lost) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version, Changes{version(9, 2), Tables{}});
  const auto before = tracker.state().tick;
  Changes other{.version = {SnapshotId(9), 2, 5}, .tables = std::nullopt, .goes_on = false};
  tracker.advance(version(9, 2), other);
  EXPECT_EQ(tracker.state().version, other.version);
  EXPECT_TRUE(tracker.lost_commits_since(before));
  EXPECT_TRUE(tracker.changed_since(TableId(1), version(9, 2), before));
  EXPECT_FALSE(tracker.lost_commits_since(tracker.state().tick));
  tracker.advance(other.version, Changes{version(10, 2), std::nullopt});
  EXPECT_FALSE(tracker.lost_commits_since(tracker.state().tick - 1)) << "nothing more was lost";
}

TEST(ChangeTracker, forgets_higher_numbers_when_the_lake_was_set_back) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version,
                  Changes{version(9, 2), Tables{{TableId(1), version(9, 2)}}});
  tracker.advance(version(9, 2), Changes{version(4, 1), std::nullopt});
  EXPECT_EQ(tracker.state().version, version(4, 1));
  EXPECT_FALSE(tracker.changed_since(TableId(1), version(4, 1), tracker.state().tick));
}

TEST(ChangeTracker, is_not_taken_back_by_a_worker_that_saw_less) {
  ChangeTracker tracker;
  auto start = tracker.state().version;
  tracker.advance(start, Changes{version(9, 2), Tables{}});
  tracker.advance(start, Changes{version(8, 2), Tables{{TableId(3), version(8, 0)}}});
  EXPECT_EQ(tracker.state().version, version(9, 2));
  EXPECT_TRUE(tracker.changed_since(TableId(3), version(7, 2), tracker.state().tick));
}

TEST(ChangeTracker, follows_a_commit_of_its_own_process) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version, Changes{version(5, 1), Tables{}});
  auto tick = tracker.state().tick;
  tracker.note_commit(version(5, 1), version(6, 2), TableId(3));
  EXPECT_EQ(tracker.state().version, version(6, 2));
  EXPECT_TRUE(tracker.changed_since(TableId(3), version(5, 1), tick));
  EXPECT_FALSE(tracker.changed_since(TableId(3), version(6, 2), tick));
}

TEST(ChangeTracker, asks_when_somebody_else_came_before_a_commit_of_its_own) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version, Changes{version(5, 1), Tables{}});
  tracker.note_commit(version(6, 1), version(7, 2), TableId(3));
  EXPECT_EQ(tracker.state().version, version(5, 1));
}

}  // namespace
}  // namespace lake::publish
