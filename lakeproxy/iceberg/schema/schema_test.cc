#include "lakeproxy/iceberg/schema/schema.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

Field field(FieldId id, std::string name, Type type, bool required) {
  return Field{.id = id, .name = std::move(name), .type = std::move(type), .required = required};
}

Type long_type() { return Type(TypeKind::kLong); }

/// id, s{a, b.c}, l[element{x}], m{key, value}
Schema nested() {
  return Schema{
      .schema_id = 1,
      .fields = {field(1, "id", long_type(), true),
                 field(2, "s",
                       Type::structure({field(3, "a", Type(TypeKind::kString), true),
                                        field(4, "b.c", Type(TypeKind::kDate), false)}),
                       true),
                 field(5, "l",
                       Type::list(6, Type::structure({field(7, "x", long_type(), true)}), true),
                       true),
                 field(8, "m", Type::map(9, Type(TypeKind::kString), 10, long_type(), false),
                       false)},
      .identifier_field_ids = {1, 3}};
}

TEST(SchemaTest, finds_fields_at_any_depth_by_id_and_by_dotted_name) {
  const Schema schema = nested();
  const std::vector<std::pair<std::string, FieldId>> cases = {
      {"id", 1},        {"s", 2},           {"s.a", 3},   {"s.b.c", 4},
      {"l.element", 6}, {"l.element.x", 7}, {"m.key", 9}, {"m.value", 10}};
  for (const auto& [name, id] : cases) {
    ASSERT_NE(schema.find(std::string_view(name)), nullptr) << name;
    EXPECT_EQ(schema.find(std::string_view(name))->id, id) << name;
    ASSERT_NE(schema.find(id), nullptr) << id;
    EXPECT_EQ(schema.find(id)->id, id);
  }
  for (const std::string_view name : {"", "S", "s.", "s.b", "x", "id.x", "l.x", "."}) {
    EXPECT_EQ(schema.find(name), nullptr) << name;
  }
  EXPECT_EQ(schema.find(0), nullptr);
  EXPECT_EQ(schema.find(11), nullptr);
  EXPECT_EQ(schema.max_field_id(), 10);
  EXPECT_EQ(Schema{}.max_field_id(), 0);
}

TEST(SchemaTest, visits_parents_before_children) {
  std::vector<FieldId> seen;
  visit_fields(nested().fields, [&](const Field& each) { seen.push_back(each.id); });
  EXPECT_EQ(seen, (std::vector<FieldId>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(SchemaTest, same_columns_looks_past_the_id_and_the_order_of_identifiers) {
  Schema other = nested();
  other.schema_id = 9;
  other.identifier_field_ids = {3, 1};
  EXPECT_TRUE(nested().same_columns(other));
  Schema fewer = nested();
  fewer.identifier_field_ids = {1};
  EXPECT_FALSE(nested().same_columns(fewer));
  Schema renamed = nested();
  renamed.fields[0].name = "key";
  EXPECT_FALSE(nested().same_columns(renamed));
  Schema documented = nested();
  documented.fields[0].doc = "the key";
  EXPECT_FALSE(nested().same_columns(documented));
}

TEST(SchemaTest, fresh_ids_start_where_asked_and_take_identifiers_along) {
  const Schema fresh = with_fresh_ids(nested(), 100);
  std::vector<FieldId> seen;
  visit_fields(fresh.fields, [&](const Field& each) { seen.push_back(each.id); });
  // The four at the top first, then those of s, of l, below l, and of m.
  EXPECT_EQ(seen, (std::vector<FieldId>{100, 101, 104, 105, 102, 106, 107, 103, 108, 109}));
  EXPECT_EQ(fresh.identifier_field_ids, (std::vector<FieldId>{100, 104}));
}

TEST(SchemaTest, a_valid_schema_passes) {
  EXPECT_TRUE(validate(nested()));
  EXPECT_TRUE(validate(Schema{}));
  Schema edges;
  edges.fields = {field(1, "\xC3\xA4", long_type(), false),
                  field(2147483447, "\xC3\x84", long_type(), false)};
  EXPECT_TRUE(validate(edges)) << "DuckDB folds the letters of ASCII alone";
}

TEST(SchemaTest, names_of_other_case_are_one_to_duckdb) {
  Schema schema;
  schema.fields = {field(1, "a_\xC3\xA4", long_type(), false),
                   field(2, "A_\xC3\xA4", long_type(), false)};
  const auto refused = validate(schema);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "column A_\xC3\xA4: its name is that of column a_\xC3\xA4 to DuckDB, which tells no "
            "upper from lower case");
}

struct Broken {
  const char* name;
  std::function<void(Schema&)> change;
  const char* mentions;
};

class SchemaValidation : public ::testing::TestWithParam<Broken> {};

TEST_P(SchemaValidation, refuses_and_names_the_column) {
  Schema schema = nested();
  GetParam().change(schema);
  const auto status = validate(schema);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind(), base::ErrorKind::kInvalid);
  EXPECT_NE(status.error().message().find(GetParam().mentions), std::string::npos)
      << status.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    Rules, SchemaValidation,
    ::testing::Values(
        Broken{"negative_id", [](Schema& s) { s.fields[0].id = -1; }, "column id"},
        Broken{"id_negative", [](Schema& s) { s.fields[0].id = -1; }, "column id"},
        Broken{"id_reserved", [](Schema& s) { s.fields[0].id = 2147483448; }, "column id"},
        Broken{"id_twice", [](Schema& s) { s.fields[0].id = 7; }, "column l.element.x"},
        Broken{"name_empty", [](Schema& s) { s.fields[0].name = ""; }, "id 1"},
        Broken{"name_not_utf8", [](Schema& s) { s.fields[0].name = "\xff"; }, "id 1"},
        Broken{"name_too_long", [](Schema& s) { s.fields[0].name = std::string(1025, 'n'); },
               "id 1"},
        Broken{"name_twice", [](Schema& s) { s.fields[1].name = "id"; }, "column id"},
        Broken{"identifier_unknown", [](Schema& s) { s.identifier_field_ids = {99}; }, "99"},
        Broken{"identifier_struct", [](Schema& s) { s.identifier_field_ids = {2}; }, "2"},
        Broken{"identifier_optional", [](Schema& s) { s.identifier_field_ids = {4}; }, "4"},
        Broken{"identifier_in_list", [](Schema& s) { s.identifier_field_ids = {7}; }, "7"},
        Broken{"identifier_in_optional_struct", [](Schema& s) { s.fields[1].required = false; },
               "3"},
        Broken{"identifier_float", [](Schema& s) { s.fields[0].type = Type(TypeKind::kFloat); },
               "1"},
        Broken{"identifier_double", [](Schema& s) { s.fields[0].type = Type(TypeKind::kDouble); },
               "1"},
        Broken{"identifier_twice", [](Schema& s) { s.identifier_field_ids = {1, 1}; }, "1"},
        Broken{"too_many_columns",
               [](Schema& s) {
                 for (int i = 0; i < 20'000; ++i) {
                   s.fields.push_back(field(100 + i, "c" + std::to_string(i), long_type(), false));
                 }
               },
               "20000"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace lake::model
