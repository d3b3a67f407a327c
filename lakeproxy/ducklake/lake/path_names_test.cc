#include "lakeproxy/ducklake/lake/path_names.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

constexpr const char* kUuid = "0a1b2c3d-0000-4000-8000-000000000000";

TEST(PathNames, keeps_a_plain_name) {
  EXPECT_EQ(path_name("Orders_2024-v1", kUuid), "Orders_2024-v1");
}

TEST(PathNames, cleans_and_marks_any_other) {
  const std::pair<std::string, std::string> cases[] = {
      {"a/b", "a_b-0a1b2c3d"}, {"..", "__-0a1b2c3d"},
      {"a b", "a_b-0a1b2c3d"}, {"\xc3\xa9", "__-0a1b2c3d"},
      {"a.b", "a_b-0a1b2c3d"}, {std::string(65, 'x'), std::string(64, 'x') + "-0a1b2c3d"},
  };
  for (const auto& [name, path] : cases) EXPECT_EQ(path_name(name, kUuid), path);
}

TEST(PathNames, marks_even_a_plain_name_when_it_must_be_unique) {
  EXPECT_EQ(unique_path_name("orders", kUuid), "orders-0a1b2c3d");
}

}  // namespace
}  // namespace lake::ducklake
