#include "lakeproxy/ducklake/lake/lake_path.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

TEST(ResolvePath, absolute_paths_stand_alone) {
  EXPECT_EQ(resolve_path("s3://b/d/", {"t/", true}), "s3://b/d/t/");
  EXPECT_EQ(resolve_path("s3://b/d/", {"s3://other/x", false}), "s3://other/x");
  EXPECT_EQ(without_trailing_slash("s3://b/d//"), "s3://b/d");
}

}  // namespace
}  // namespace lake::ducklake
