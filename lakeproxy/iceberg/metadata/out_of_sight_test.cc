#include "lakeproxy/iceberg/metadata/out_of_sight.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

SnapshotList list(const std::vector<std::int64_t>& ids) {
  SnapshotList out;
  for (std::int64_t id : ids) out.push_back(Snapshot{.snapshot_id = SnapshotId(id)});
  return out;
}

std::vector<std::pair<std::int64_t, std::int64_t>> hidden(const std::vector<std::int64_t>& all,
                                                          const std::vector<std::int64_t>& shown) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const auto& range : hidden_ranges(list(all), list(shown), SnapshotId(90))) {
    out.emplace_back(range.first.value, range.last.value);
  }
  return out;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(OutOfSight, ranges_reach_up_to_the_next_shown_snapshot) {
  EXPECT_EQ(hidden({}, {}), Ranges{});
  EXPECT_EQ(hidden({3, 5, 9}, {3, 5, 9}), Ranges{});
  EXPECT_EQ(hidden({3, 5, 9}, {9}), (Ranges{{3, 8}}));
  EXPECT_EQ(hidden({3, 5, 9, 12}, {3, 9, 12}), (Ranges{{5, 8}}));
  EXPECT_EQ(hidden({3, 5, 9, 12}, {5, 12}), (Ranges{{3, 4}, {9, 11}}));
  EXPECT_EQ(hidden({3, 5}, {3}), (Ranges{{5, 90}}));
  EXPECT_EQ(hidden({3, 5}, {}), (Ranges{{3, 90}}));
}

TEST(OutOfSight, hides_both_ends_of_a_range_and_nothing_beside_it) {
  OutOfSight out{.snapshots = {{SnapshotId(3), SnapshotId(4)}, {SnapshotId(9), SnapshotId(9)}}};
  for (std::int64_t id : {3, 4, 9}) EXPECT_TRUE(out.hides(SnapshotId(id))) << id;
  for (std::int64_t id : {0, 2, 5, 8, 10}) EXPECT_FALSE(out.hides(SnapshotId(id))) << id;
  EXPECT_FALSE(OutOfSight{}.hides(SnapshotId(1)));
}

}  // namespace
}  // namespace lake::model
