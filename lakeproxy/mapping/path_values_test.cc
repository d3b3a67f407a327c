#include "lakeproxy/mapping/path_values.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

using Values = std::vector<PathValue>;

TEST(PathValues, are_those_of_the_folders_in_their_order) {
  EXPECT_EQ(values_in_path("s3://b/t/day=2026-11-28/p=5/p=7/a.parquet"),
            (Values{{"day", "2026-11-28"}, {"p", "5"}, {"p", "7"}}));
  EXPECT_EQ(values_in_path("p=1/a"), (Values{{"p", "1"}}));
  EXPECT_EQ(values_in_path("s3://b/t/p=/a"), (Values{{"p", ""}}));
  EXPECT_EQ(values_in_path("t/p=__HIVE_DEFAULT_PARTITION__/a"),
            (Values{{"p", std::string(kNullInPath)}}));
}

TEST(PathValues, have_no_escapes) {
  EXPECT_EQ(values_in_path("p=2024-01-05 11%3A00%3a00/a"), (Values{{"p", "2024-01-05 11:00:00"}}));
  EXPECT_EQ(values_in_path("p=50%25/a"), (Values{{"p", "50%"}}));
  EXPECT_EQ(values_in_path("p=50%/q=%zz/a"), (Values{{"p", "50%"}, {"q", "%zz"}}));
}

TEST(PathValues, are_not_in_the_name_of_the_file_nor_in_what_is_no_single_value) {
  for (std::string_view path :
       {"", "a.parquet", "p=1", "s3://b/t/p=1.parquet", "=1/a", "p=1=2/a", "p?=1/a", "p\n=1/a"}) {
    EXPECT_TRUE(values_in_path(path).empty()) << path;
  }
}

}  // namespace
}  // namespace lake::model
