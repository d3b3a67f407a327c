#include "lakeproxy/publish/change_tracker.h"

#include <gtest/gtest.h>

namespace lake::publish {
namespace {

using model::LakeVersion;
using model::SnapshotId;
using model::TableId;
using Changes = ducklake::LakeReader::ChangedTables;

LakeVersion version(std::int64_t snapshot, std::int64_t revision) {
  return {SnapshotId(snapshot), revision};
}

TEST(ChangeTracker, knows_which_tables_changed_after_a_tick) {
  ChangeTracker tracker;
  tracker.advance(tracker.state().version, Changes{version(5, 1), std::vector<TableId>{}});
  auto before = tracker.state().tick;
  tracker.advance(version(5, 1), Changes{version(6, 1), std::vector{TableId(7)}});
  EXPECT_EQ(tracker.state().version, version(6, 1));
  EXPECT_TRUE(tracker.changed_since(TableId(7), before));
  EXPECT_FALSE(tracker.changed_since(TableId(8), before));
  EXPECT_FALSE(tracker.changed_since(TableId(7), tracker.state().tick));
}

TEST(ChangeTracker, takes_every_table_for_changed_when_the_history_is_not_whole) {
  ChangeTracker tracker;
  auto before = tracker.state().tick;
  tracker.advance(tracker.state().version, Changes{version(9, 2), std::nullopt});
  EXPECT_TRUE(tracker.changed_since(TableId(1), before));
  EXPECT_FALSE(tracker.changed_since(TableId(1), tracker.state().tick));
}

TEST(ChangeTracker, is_not_taken_back_by_a_worker_that_saw_less) {
  ChangeTracker tracker;
  auto start = tracker.state().version;
  tracker.advance(start, Changes{version(9, 2), std::vector<TableId>{}});
  tracker.advance(start, Changes{version(8, 2), std::vector{TableId(3)}});
  EXPECT_EQ(tracker.state().version, version(9, 2));
}

TEST(ChangeTracker, marks_tables_even_for_a_worker_that_saw_less) {
  ChangeTracker tracker;
  auto start = tracker.state().version;
  tracker.advance(start, Changes{version(9, 2), std::vector<TableId>{}});
  auto before = tracker.state().tick;
  tracker.advance(start, Changes{version(8, 2), std::vector{TableId(3)}});
  EXPECT_TRUE(tracker.changed_since(TableId(3), before));
}

}  // namespace
}  // namespace lake::publish
