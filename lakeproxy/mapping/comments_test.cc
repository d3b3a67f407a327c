#include "lakeproxy/mapping/comments.h"

#include <gtest/gtest.h>

namespace lake::ducklake {
namespace {

using model::Field;
using model::Type;
using model::TypeKind;

Field column(model::FieldId id, std::optional<std::string> doc) {
  Field field{.id = id, .name = "c" + std::to_string(id), .type = Type(TypeKind::kLong)};
  field.doc = std::move(doc);
  return field;
}

TEST(Comments, of_columns_change_where_a_client_says_something_else) {
  const std::vector<Field> before{column(1, "one"), column(2, std::nullopt), column(3, "three"),
                                  column(4, "four"), column(5, "gone")};
  const std::vector<Field> after{column(6, "six"),        column(1, "one"),
                                 column(2, "two"),        column(3, "other"),
                                 column(4, std::nullopt), column(7, std::nullopt)};
  const std::vector<ColumnComment> expected{
      {6, "six"}, {2, "two"}, {3, "other"}, {4, std::nullopt}};
  EXPECT_EQ(changed_comments(before, after), expected);
  EXPECT_TRUE(changed_comments(after, after).empty());
}

TEST(Comments, that_are_empty_are_comments) {
  EXPECT_EQ(changed_comments({column(1, std::nullopt)}, {column(1, "")}),
            (std::vector<ColumnComment>{{1, ""}}));
  EXPECT_EQ(comment_of({{"comment", ""}}), "");
  EXPECT_EQ(comment_of({{"Comment", "x"}}), std::nullopt);
}

}  // namespace
}  // namespace lake::ducklake
