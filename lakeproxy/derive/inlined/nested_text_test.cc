#include "lakeproxy/derive/inlined/nested_text.h"

#include <gtest/gtest.h>

namespace lake::exporter {
namespace {

using model::Field;
using model::Type;
using model::TypeKind;

Field field(model::FieldId id, std::string name, Type type) {
  return {.id = id, .name = std::move(name), .type = std::move(type)};
}

Type sample() {
  return Type::structure(
      {field(1, "a", Type(TypeKind::kString)), field(2, "it's", Type(TypeKind::kDate)),
       field(3, "l", Type::list(4, Type(TypeKind::kString), false)),
       field(5, "s", Type::structure({field(6, "b", Type(TypeKind::kDouble))}))});
}

TEST(NestedTextTest, turns_sql_into_the_engines_form) {
  struct Case {
    const char* name;
    std::string stored;
    std::string engine;
  };
  for (const Case& c : {
           Case{"plain",
                "{'a': 'x', 'it''s': CAST('2020-01-01' AS VARCHAR), 'l': [q, r], 's': "
                "{'b': 1.5}}",
                R"({"a": "x", "it's": "2020-01-01", "l": [q, r], "s": {"b": "1.5"}})"},
           Case{"nulls", "{'a': NULL, 'it''s': NULL, 'l': NULL, 's': NULL}",
                R"({"a": NULL, "it's": NULL, "l": NULL, "s": NULL})"},
           Case{
               "quotes and backslashes",
               "{'a': 'it''s \\ \"', 'it''s': NULL, 'l': ['it\\'s', a\\b, '}'], 's': {'b': "
               "CAST('nan' AS DOUBLE PRECISION)}}",
               R"({"a": "it's \\ \"", "it's": NULL, "l": ['it\'s', a\b, '}'], "s": {"b": "nan"}})"},
           Case{"NUL", "{'a': CONCAT('x', chr(0), 'y'''), 'it''s': NULL, 'l': [], 's': NULL}",
                R"({"a": "x)" + std::string(1, '\0') + R"(y'", "it's": NULL, "l": [], "s": NULL})"},
           Case{"text that looks like SQL",
                "{'a': '''), chr(0), (''', 'it''s': NULL, 'l': [], 's': NULL}",
                R"({"a": "'), chr(0), ('", "it's": NULL, "l": [], "s": NULL})"},
       }) {
    auto text = engine_struct_text(sample(), c.stored);
    ASSERT_TRUE(text) << c.name;
    EXPECT_EQ(*text, c.engine) << c.name;
  }
}

TEST(NestedTextTest, leaves_other_forms_to_the_engine) {
  for (std::string text : {
           "",
           "{",
           "{}",
           "NULL",
           "[]",
           "{'a': 'x'}",
           "{'a': 'it\\'s', 'it''s': NULL, 'l': [], 's': NULL}",
           "{'b': 'x', 'it''s': NULL, 'l': [], 's': NULL}",
           "{'a': 'x', 'it''s': NULL, 'l': [, 's': NULL}",
           "{'a': 'x', 'it''s': NULL, 'l': [], 's': NULL} ",
           "{'a': CAST('x' AS ; DROP), 'it''s': NULL, 'l': [], 's': NULL}",
           "{'a': CONCAT('x', chr(1)), 'it''s': NULL, 'l': [], 's': NULL}",
       }) {
    EXPECT_FALSE(engine_struct_text(sample(), text)) << text;
  }
  EXPECT_FALSE(engine_struct_text(Type(TypeKind::kString), "{'a': 'x'}"));
  EXPECT_FALSE(engine_struct_text(Type::list(1, Type(TypeKind::kInt), false), "[1]"));
}

}  // namespace
}  // namespace lake::exporter
