#include "lakeproxy/derive/readable/added_columns.h"

#include <gtest/gtest.h>

namespace lake::exporter {
namespace {

using model::Type;
using model::TypeKind;

ParquetNode leaf(const char* name) {
  return {.name = name, .physical_type = "INT32", .engine_type = "INTEGER"};
}

model::AddedColumns one_column() {
  return {.fields = {{.id = 1, .name = "a", .type = Type(TypeKind::kLong)}},
          .names = {.columns = {{1, {"a"}}}}};
}

TEST(AddedColumns, are_found_without_regard_to_case_and_the_others_go) {
  ParquetNode root{.shape = ParquetShape::kStruct, .children = {leaf("more"), leaf("A")}};
  std::vector<model::CopiedColumn> columns;
  ASSERT_TRUE(keep_added_columns(one_column(), root, columns));
  ASSERT_EQ(root.children.size(), 1);
  EXPECT_EQ(root.children[0].name, "A");
  EXPECT_EQ(root.children[0].field_id, 1);
  ASSERT_EQ(columns.size(), 1);
  EXPECT_EQ(columns[0].to, Type(TypeKind::kLong));
}

// DuckDB takes one of them, and nothing says which.
TEST(AddedColumns, that_differ_by_case_alone_are_refused) {
  ParquetNode root{.shape = ParquetShape::kStruct, .children = {leaf("a"), leaf("A")}};
  std::vector<model::CopiedColumn> columns;
  auto kept = keep_added_columns(one_column(), root, columns);
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().kind(), base::ErrorKind::kUnsupported);
  EXPECT_NE(kept.error().message().find("'a' differs from another by case alone"),
            std::string::npos);
}

TEST(AddedColumns, that_are_repeated_without_a_list_are_refused) {
  ParquetNode repeated = leaf("a");
  repeated.repeated = true;
  ParquetNode root{.shape = ParquetShape::kStruct, .children = {repeated}};
  std::vector<model::CopiedColumn> columns;
  EXPECT_FALSE(keep_added_columns(one_column(), root, columns));
}

TEST(AddedColumns, that_change_anyway_are_converted_once) {
  ParquetNode root{.shape = ParquetShape::kStruct, .children = {leaf("a")}};
  std::vector<model::CopiedColumn> columns{{1, "int32", Type(TypeKind::kString), ""}};
  ASSERT_TRUE(keep_added_columns(one_column(), root, columns));
  ASSERT_EQ(columns.size(), 1);
  EXPECT_EQ(columns[0].to, Type(TypeKind::kString));
}

TEST(Variant, is_a_group_of_bytes_without_field_ids) {
  ParquetNode metadata{.name = "metadata", .physical_type = "BYTE_ARRAY"};
  ParquetNode value{.name = "value", .physical_type = "BYTE_ARRAY"};
  ParquetNode group{
      .name = "v", .shape = ParquetShape::kStruct, .field_id = 3, .children = {metadata, value}};
  EXPECT_TRUE(is_variant(group));
  group.children[0].field_id = 4;
  EXPECT_FALSE(is_variant(group)) << "a struct whose part is called metadata";
  EXPECT_FALSE(is_variant(leaf("metadata")));
}

}  // namespace
}  // namespace lake::exporter
