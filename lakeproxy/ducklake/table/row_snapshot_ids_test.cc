#include "lakeproxy/ducklake/table/row_snapshot_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lake::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

RowSnapshotIds rows(std::initializer_list<std::int64_t> begins) {
  RowSnapshotIds all;
  for (std::int64_t begin : begins) all.add(SnapshotId(begin));
  return all;
}

TEST(RowSnapshotIds, younger_rows_are_a_suffix_where_rows_stand_in_order) {
  const RowSnapshotIds ordered = rows({3, 3, 4, 7, 7});
  EXPECT_EQ(ordered.row_count(), 5);
  EXPECT_THAT(ordered.after(SnapshotId(2)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(ordered.after(SnapshotId(3)), ElementsAre(2, 3, 4));
  EXPECT_THAT(ordered.after(SnapshotId(6)), ElementsAre(3, 4));
  EXPECT_THAT(ordered.after(SnapshotId(7)), IsEmpty());
  EXPECT_THAT(ordered.rows_of_snapshots(),
              ElementsAre(Pair(SnapshotId(3), 2), Pair(SnapshotId(4), 1), Pair(SnapshotId(7), 2)));
}

TEST(RowSnapshotIds, younger_rows_may_stand_anywhere) {
  const RowSnapshotIds mixed = rows({9, 3, 9, 5, 3});
  EXPECT_THAT(mixed.after(SnapshotId(3)), ElementsAre(0, 2, 3));
  EXPECT_THAT(mixed.after(SnapshotId(5)), ElementsAre(0, 2));
  EXPECT_THAT(mixed.rows_of_snapshots(),
              ElementsAre(Pair(SnapshotId(3), 2), Pair(SnapshotId(5), 1), Pair(SnapshotId(9), 2)));
}

TEST(RowSnapshotIds, a_file_may_be_empty) {
  EXPECT_EQ(RowSnapshotIds().row_count(), 0);
  EXPECT_THAT(RowSnapshotIds().after(SnapshotId(0)), IsEmpty());
  EXPECT_THAT(RowSnapshotIds().rows_of_snapshots(), IsEmpty());
}

}  // namespace
}  // namespace lake::model
