#include "lakeproxy/from_iceberg/files/added_names.h"

#include <gtest/gtest.h>

namespace lake::operation {
namespace {

using model::Field;
using model::Literal;
using model::Type;
using model::TypeKind;

const Field kNumber{.id = 1, .name = "p", .type = Type(TypeKind::kInt)};
const Field kText{.id = 2, .name = "q", .type = Type(TypeKind::kString)};
const model::NameMapping kMapping = {{1, {"old", "p"}, {}}};

TEST(AddedNames, finds_a_value_under_each_name_of_its_column) {
  const auto five = std::optional<Literal>(std::int32_t{5});
  EXPECT_EQ(name_in_path("s3://b/p=5/q=x/f.parquet", kNumber, kMapping, five), "p");
  EXPECT_EQ(name_in_path("s3://b/old=5/f.parquet", kNumber, kMapping, five), "old");
  EXPECT_EQ(name_in_path("s3://b/p=__HIVE_DEFAULT_PARTITION__/f", kNumber, kMapping, std::nullopt),
            "p");
  EXPECT_EQ(name_in_path("s3://b/q=x%20y%2Fz/f", kText, {}, Literal(std::string("x y/z"))), "q");
}

TEST(AddedNames, takes_no_other_value_and_no_other_name) {
  const auto five = std::optional<Literal>(std::int32_t{5});
  for (const char* path :
       {"s3://b/p=6/f", "s3://b/p=5", "s3://b/p5/f", "s3://b/P=5/f", "s3://b/pp=5/f", "s3://b/p=/f",
        "s3://b/p=x/f", "s3://b/p=__HIVE_DEFAULT_PARTITION__/f", "p=5", ""}) {
    EXPECT_EQ(name_in_path(path, kNumber, kMapping, five), std::nullopt) << path;
  }
  EXPECT_EQ(name_in_path("s3://b/p=5/f", kNumber, kMapping, std::nullopt), std::nullopt);
  EXPECT_EQ(name_in_path("s3://b/q=/f", kText, {}, Literal(std::string())), std::nullopt);
}

}  // namespace
}  // namespace lake::operation
