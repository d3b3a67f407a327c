#include "lakeproxy/ducklake/shown_snapshots.h"

#include <gtest/gtest.h>

#include "lakeproxy/ducklake/lake_path.h"

namespace lake::ducklake {
namespace {

using model::SnapshotId;

std::vector<SnapshotId> ids(std::initializer_list<std::int64_t> values) {
  std::vector<SnapshotId> out;
  for (std::int64_t value : values) out.emplace_back(value);
  return out;
}

PartialSpan span(std::int64_t begin, std::int64_t end) {
  return {.begin = SnapshotId(begin), .end = SnapshotId(end)};
}

TEST(ShownSnapshots, hides_those_that_see_part_of_a_file) {
  const auto all = ids({1, 2, 3, 4, 5, 9});
  EXPECT_EQ(shown_snapshots(all, {}), all);
  EXPECT_EQ(shown_snapshots(all, {span(2, 4)}), ids({1, 4, 5, 9}));
  EXPECT_EQ(shown_snapshots(all, {span(4, 4)}), all) << "the file is whole at its last row's";
  EXPECT_EQ(shown_snapshots(all, {span(4, 5), span(1, 3), span(2, 3)}), ids({3, 5, 9}));
  EXPECT_EQ(shown_snapshots(all, {span(1, 6), span(2, 3)}), ids({9}));
  EXPECT_EQ(shown_snapshots({}, {span(1, 6)}), ids({}));
}

TEST(ResolvePath, absolute_paths_stand_alone) {
  EXPECT_EQ(resolve_path("s3://b/d/", {"t/", true}), "s3://b/d/t/");
  EXPECT_EQ(resolve_path("s3://b/d/", {"s3://other/x", false}), "s3://other/x");
  EXPECT_EQ(without_trailing_slash("s3://b/d//"), "s3://b/d");
}

}  // namespace
}  // namespace lake::ducklake
