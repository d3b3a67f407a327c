#include "base/avro/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base::avro {
namespace {

TEST(AvroSchemaTest, keeps_order_ids_and_logical_types) {
  auto schema = Schema::parse(R"({"type":"record","name":"r","namespace":"a.b","fields":[
      {"name":"z","type":"int","field-id":3,"doc":"text"},
      {"name":"y","type":{"type":"array","items":"long","element-id":4,"logicalType":"map"}}]})");
  ASSERT_TRUE(schema) << schema.error().message();
  const Node& root = schema->root();
  EXPECT_EQ(root.name, "a.b.r");
  ASSERT_EQ(root.fields.size(), 2U);
  EXPECT_EQ(root.fields[0].name, "z");
  EXPECT_EQ(int_attribute(root.fields[0].attributes, "field-id"), 3);
  EXPECT_EQ(int_attribute(root.fields[0].attributes, "doc"), std::nullopt);
  EXPECT_EQ(int_attribute(root.fields[1].type->attributes, "element-id"), 4);
  EXPECT_EQ(root.fields[1].type->logical_type, "map");
  EXPECT_EQ(root.fields[1].type->branches.front()->type, Type::kLong);
}

TEST(AvroSchemaTest, resolves_names_in_the_enclosing_namespace) {
  auto schema = Schema::parse(R"({"type":"record","name":"a.r","fields":[
      {"name":"f","type":{"type":"fixed","name":"h","size":2}},
      {"name":"g","type":"h"},{"name":"i","type":"a.h"},{"name":"j","type":["null","r"]}]})");
  ASSERT_TRUE(schema) << schema.error().message();
  const auto& fields = schema->root().fields;
  EXPECT_EQ(fields[0].type->name, "a.h");
  EXPECT_EQ(fields[1].type, fields[0].type);
  EXPECT_EQ(fields[2].type, fields[0].type);
  EXPECT_EQ(fields[3].type->branches[1], &schema->root());
}

TEST(AvroSchemaTest, takes_a_fixed_that_is_defined_twice) {
  auto schema = Schema::parse(R"({"type":"record","name":"r","fields":[
      {"name":"f","type":{"type":"fixed","name":"h","size":2}},
      {"name":"g","type":{"type":"fixed","name":"h","size":3}}]})");
  ASSERT_TRUE(schema) << schema.error().message();
  EXPECT_EQ(schema->root().fields[0].type->size, 2U);
  EXPECT_EQ(schema->root().fields[1].type->size, 3U);
}

TEST(AvroSchemaTest, without_null_finds_the_only_other_branch) {
  auto both = Schema::parse(R"(["null","int"])");
  auto turned = Schema::parse(R"(["int","null"])");
  auto three = Schema::parse(R"(["null","int","string"])");
  ASSERT_TRUE(both && turned && three);
  EXPECT_EQ(without_null(both->root()).type, Type::kInt);
  EXPECT_EQ(without_null(turned->root()).type, Type::kInt);
  EXPECT_EQ(without_null(three->root()).type, Type::kUnion);
}

struct BadSchema {
  const char* name;
  const char* text;
};

class BadSchemaTest : public ::testing::TestWithParam<BadSchema> {};

TEST_P(BadSchemaTest, is_invalid) {
  auto schema = Schema::parse(GetParam().text);
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().kind(), ErrorKind::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(
    AvroSchemaTest, BadSchemaTest,
    ::testing::Values(
        BadSchema{"empty", ""}, BadSchema{"not_json", "{"}, BadSchema{"number", "3"},
        BadSchema{"unknown_name", R"("nope")"}, BadSchema{"no_type", R"({"name":"r"})"},
        BadSchema{"no_fields", R"({"type":"record","name":"r"})"},
        BadSchema{"no_record_name", R"({"type":"record","fields":[]})"},
        BadSchema{"field_is_text", R"({"type":"record","name":"r","fields":["int"]})"},
        BadSchema{"field_without_name",
                  R"({"type":"record","name":"r","fields":[{"type":"int"}]})"},
        BadSchema{"field_without_type", R"({"type":"record","name":"r","fields":[{"name":"f"}]})"},
        BadSchema{"array_without_items", R"({"type":"array"})"},
        BadSchema{"map_without_values", R"({"type":"map"})"},
        BadSchema{"fixed_without_size", R"({"type":"fixed","name":"f"})"},
        BadSchema{"fixed_of_negative_size", R"({"type":"fixed","name":"f","size":-1})"},
        BadSchema{"huge_fixed", R"({"type":"fixed","name":"f","size":16777217})"},
        BadSchema{"enum_without_symbols", R"({"type":"enum","name":"e"})"},
        BadSchema{"symbol_is_number", R"({"type":"enum","name":"e","symbols":[1]})"},
        BadSchema{"union_in_union", R"([["null","int"],"string"])"},
        BadSchema{"record_twice", R"(["null",{"type":"record","name":"r","fields":[]},
                                     {"type":"record","name":"r","fields":[]}])"}),
    [](const auto& test) { return test.param.name; });

TEST(AvroSchemaTest, bounds_the_number_of_types) {
  const std::string text = R"({"type":"array","items":{"type":"array","items":"int"}})";
  EXPECT_TRUE(Schema::parse(text, {.nodes = 3}));
  auto refused = Schema::parse(text, {.nodes = 2});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge);
}

TEST(AvroSchemaTest, bounds_the_depth) {
  std::string text = R"("int")";
  for (int i = 0; i < 1000; ++i) text = R"({"type":"array","items":)" + text + "}";
  auto refused = Schema::parse(text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace base::avro
