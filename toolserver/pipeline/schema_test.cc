#include "toolserver/pipeline/schema.h"

#include <gtest/gtest.h>

namespace tool::pipeline {
namespace {

using base::ErrorKind;

base::json::Value json(std::string_view text) {
  auto value = base::json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : base::json::Value();
}

base::Result<Schema> compile(std::string_view text) {
  return Schema::compile(json(text).as_object());
}

TEST(SchemaTest, each_keyword_takes_and_refuses) {
  struct Case {
    std::string_view schema;
    std::string_view value;
    bool fits;
  };
  for (const Case& c : std::initializer_list<Case>{
           {R"({})", "null", true},
           {R"({"type":"null"})", "null", true},
           {R"({"type":"null"})", "0", false},
           {R"({"type":"boolean"})", "true", true},
           {R"({"type":"boolean"})", "1", false},
           {R"({"type":"integer"})", "3", true},
           {R"({"type":"integer"})", "3.0", true},
           {R"({"type":"integer"})", "3.5", false},
           {R"({"type":"integer"})", "18446744073709551615", true},
           {R"({"type":"number"})", "3.5", true},
           {R"({"type":"number"})", "3", true},
           {R"({"type":"number"})", "\"3\"", false},
           {R"({"type":"string"})", "\"\"", true},
           {R"({"type":"string"})", "null", false},
           {R"({"type":"array"})", "[]", true},
           {R"({"type":"array"})", "{}", false},
           {R"({"type":"object"})", "{}", true},
           {R"({"type":"object"})", "[]", false},
           {R"({"type":["string","null"]})", "null", true},
           {R"({"type":["string","null"]})", "1", false},
           {R"({"enum":["a",1,null]})", "1.0", true},
           {R"({"enum":["a",1,null]})", "\"A\"", false},
           {R"({"enum":[{"a":1,"b":2}]})", R"({"b":2,"a":1})", true},
           {R"({"const":"x"})", "\"x\"", true},
           {R"({"const":"x"})", "\"y\"", false},
           {R"({"const":0})", "false", false},
           {R"({"minimum":1,"maximum":3})", "1", true},
           {R"({"minimum":1,"maximum":3})", "3.0", true},
           {R"({"minimum":1,"maximum":3})", "0.999", false},
           {R"({"minimum":1,"maximum":3})", "4", false},
           {R"({"minimum":1})", "\"0\"", true},
           {R"({"minimum":9007199254740993})", "9007199254740992", false},
           {R"({"maximum":9223372036854775807})", "9223372036854775808", false},
           {R"({"minimum":-1})", "18446744073709551615", true},
           {R"({"exclusiveMinimum":1,"exclusiveMaximum":2})", "1.5", true},
           {R"({"exclusiveMinimum":1,"exclusiveMaximum":2})", "1", false},
           {R"({"exclusiveMinimum":1,"exclusiveMaximum":2})", "2", false},
           {R"({"minLength":2,"maxLength":3})", R"("ab")", true},
           {R"({"minLength":2,"maxLength":3})", R"("\u20ac\ud83d\ude00\u00e9")", true},
           {R"({"minLength":2,"maxLength":3})", R"("a")", false},
           {R"({"minLength":2,"maxLength":3})", R"("abcd")", false},
           {R"({"pattern":"^[a-z]+$"})", R"("abc")", true},
           {R"({"pattern":"^[a-z]+$"})", R"("abc\n")", false},
           {R"({"pattern":"b"})", R"("abc")", true},
           {R"({"pattern":"b"})", R"("ac")", false},
           {R"({"items":{"type":"integer"}})", "[1,2]", true},
           {R"({"items":{"type":"integer"}})", "[1,\"2\"]", false},
           {R"({"items":false})", "[]", true},
           {R"({"items":false})", "[0]", false},
           {R"({"minItems":1,"maxItems":2})", "[1,2]", true},
           {R"({"minItems":1,"maxItems":2})", "[]", false},
           {R"({"minItems":1,"maxItems":2})", "[1,2,3]", false},
           {R"({"uniqueItems":true})", "[1,\"1\"]", true},
           {R"({"uniqueItems":true})", "[1,1.0]", false},
           {R"({"minProperties":1,"maxProperties":1})", R"({"a":1})", true},
           {R"({"minProperties":1,"maxProperties":1})", "{}", false},
           {R"({"minProperties":1,"maxProperties":1})", R"({"a":1,"b":2})", false},
           {R"({"required":["a"]})", R"({"a":null})", true},
           {R"({"required":["a"]})", R"({"b":1})", false},
           {R"({"properties":{"a":{"type":"string"}}})", R"({"b":1})", true},
           {R"({"properties":{"a":{"type":"string"}}})", R"({"a":1})", false},
           {R"({"properties":{"a":true},"additionalProperties":false})", R"({"a":1})", true},
           {R"({"properties":{"a":true},"additionalProperties":false})", R"({"b":1})", false},
           {R"({"additionalProperties":{"type":"integer"}})", R"({"b":1})", true},
           {R"({"additionalProperties":{"type":"integer"}})", R"({"b":"1"})", false},
           {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", "3", true},
           {R"({"anyOf":[{"type":"string"},{"minimum":3}]})", "2", false},
           {R"({"oneOf":[{"type":"integer"},{"minimum":3}]})", "2", true},
           {R"({"oneOf":[{"type":"integer"},{"minimum":3}]})", "3", false},
           {R"({"oneOf":[{"type":"integer"},{"minimum":3}]})", "2.5", false},
           {R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "3", true},
           {R"({"allOf":[{"type":"integer"},{"minimum":3}]})", "2", false},
           {R"({"patternProperties":{"^x":{"type":"integer"}}})", R"({"x1":1,"y":"s"})", true},
           {R"({"patternProperties":{"^x":{"type":"integer"}}})", R"({"x1":"1"})", false},
           {R"({"patternProperties":{"^x":true},"additionalProperties":false})", R"({"x":1})",
            true},
           {R"({"patternProperties":{"^x":true},"additionalProperties":false})", R"({"y":1})",
            false},
           {R"({"properties":{"x1":true},"patternProperties":{"^x":false}})", R"({"x1":1})", false},
           {R"({"propertyNames":{"maxLength":2}})", R"({"ab":1})", true},
           {R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})", false},
           {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1,"b":1})", true},
           {R"({"dependentRequired":{"a":["b"]}})", R"({"b":1})", true},
           {R"({"dependentRequired":{"a":["b"]}})", R"({"a":1})", false},
           {R"({"dependentSchemas":{"a":{"maxProperties":1}}})", R"({"a":1})", true},
           {R"({"dependentSchemas":{"a":{"maxProperties":1}}})", R"({"a":1,"b":1})", false},
           {R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})", R"(["a",1])",
            true},
           {R"({"prefixItems":[{"type":"string"}],"items":{"type":"integer"}})", R"([1,1])", false},
           {R"({"prefixItems":[{"type":"string"}],"items":false})", R"(["a",1])", false},
           {R"({"contains":{"const":1}})", "[0,1]", true},
           {R"({"contains":{"const":1}})", "[0]", false},
           {R"({"contains":{"const":1},"minContains":0})", "[0]", true},
           {R"({"contains":{"const":1},"maxContains":1})", "[1,1]", false},
           {R"({"not":{"type":"string"}})", "1", true},
           {R"({"not":{"type":"string"}})", R"("a")", false},
           {R"({"if":{"minimum":3},"then":{"maximum":5},"else":{"minimum":1}})", "5", true},
           {R"({"if":{"minimum":3},"then":{"maximum":5},"else":{"minimum":1}})", "6", false},
           {R"({"if":{"minimum":3},"then":{"maximum":5},"else":{"minimum":1}})", "0", false},
           {R"({"then":false,"else":false})", "1", true},
           {R"({"enum":[1,2],"const":2})", "2", true},
           {R"({"enum":[1,2],"const":2})", "1", false},
           {R"({"multipleOf":3})", "9", true},
           {R"({"multipleOf":3})", "10", false},
           {R"({"multipleOf":0.01})", "4.35", true},
           {R"({"multipleOf":0.01})", "4.355", false},
           {R"({"maxLength":2.0})", R"("ab")", true},
           {R"({"maxLength":2.0})", R"("abc")", false},
           {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"integer"}}})", "1", true},
           {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"integer"}}})", R"("1")", false},
           {R"({"$ref":"#/definitions/a","maximum":3,"definitions":{"a":{"minimum":1}}})", "2",
            true},
           {R"({"$ref":"#/definitions/a","maximum":3,"definitions":{"a":{"minimum":1}}})", "4",
            false},
           {R"({"$ref":"#/definitions/a","maximum":3,"definitions":{"a":{"minimum":1}}})", "0",
            false},
           {R"({"$ref":"#here","$defs":{"a":{"$anchor":"here","type":"null"}}})", "null", true},
           {R"({"$ref":"#here","$defs":{"a":{"$anchor":"here","type":"null"}}})", "1", false},
           {R"({"properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
            R"({"next":{"next":{}}})", true},
           {R"({"properties":{"next":{"$ref":"#"}},"additionalProperties":false})",
            R"({"next":{"next":{"x":1}}})", false},
           {R"({"properties":{"a":{}},"unevaluatedProperties":false})", R"({"a":1})", true},
           {R"({"properties":{"a":{}},"unevaluatedProperties":false})", R"({"b":1})", false},
           {R"({"unevaluatedProperties":{"type":"string"}})", R"({"b":"1"})", true},
           {R"({"unevaluatedProperties":{"type":"string"}})", R"({"b":1})", false},
           {R"({"prefixItems":[{}],"unevaluatedItems":false})", "[1]", true},
           {R"({"prefixItems":[{}],"unevaluatedItems":false})", "[1,2]", false},
           {R"({"contains":{"const":1},"unevaluatedItems":{"type":"null"}})", "[null,1]", true},
           {R"({"contains":{"const":1},"unevaluatedItems":{"type":"null"}})", "[2,1]", false},
           {R"({"title":"t","description":"d","default":1,"examples":[1],"format":"uri",
                "x-note":{"any":1},"$schema":"s","$comment":"c"})",
            "1", true},
       }) {
    auto schema = compile(c.schema);
    ASSERT_TRUE(schema.has_value()) << c.schema << " " << schema.error().message();
    auto status = schema->check(json(c.value), "args");
    EXPECT_EQ(status.has_value(), c.fits) << c.schema << " " << c.value;
    if (!status) EXPECT_EQ(status.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(SchemaTest, the_message_names_the_member) {
  auto schema = compile(R"({"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}})");
  ASSERT_TRUE(schema.has_value());
  auto status = schema->check(json(R"({"a":[{"b":"x"},{"b":1}]})"), "args");
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(status.error().message().starts_with("args.a[1].b:")) << status.error().message();
}

TEST(SchemaTest, a_schema_that_is_not_understood_is_refused) {
  std::string deep = "{}";
  for (int i = 0; i < 18; ++i) deep = R"({"items":)" + deep + "}";
  std::string wide = R"({"properties":{)";
  for (int i = 0; i < 2'001; ++i) wide += (i ? ",\"p" : "\"p") + std::to_string(i) + "\":{}";
  wide += "}}";
  std::string many = R"({"enum":[0)";
  for (int i = 1; i < 257; ++i) many += "," + std::to_string(i);
  many += "]}";
  std::string branches = R"({"anyOf":[{})";
  for (int i = 1; i < 17; ++i) branches += ",{}";
  branches += "]}";
  struct Case {
    const char* name;
    std::string schema;
    ErrorKind kind;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"$ref to nothing", R"({"$ref":"#/x"})", ErrorKind::kInvalid},
           {"$ref to no anchor", R"({"$ref":"#x"})", ErrorKind::kInvalid},
           {"$ref to no schema", R"({"$ref":"#/x-a","x-a":1})", ErrorKind::kInvalid},
           {"$ref that is none", R"({"$ref":1})", ErrorKind::kInvalid},
           {"$ref with a broken escape", R"({"$ref":"#/%zz"})", ErrorKind::kInvalid},
           {"$ref away", R"({"$ref":"https://a.example/s"})", ErrorKind::kUnsupported},
           {"$ref to a file", R"({"$ref":"other.json#/x"})", ErrorKind::kUnsupported},
           {"$ref to itself", R"({"$ref":"#"})", ErrorKind::kInvalid},
           {"$ref in a circle",
            R"({"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},
                "b":{"if":{"$ref":"#/$defs/a"}}}})",
            ErrorKind::kInvalid},
           {"$ref into a bad note", R"({"$ref":"#/x-a","x-a":{"tpye":1}})",
            ErrorKind::kUnsupported},
           {"$anchor twice", R"({"$anchor":"a","not":{"$anchor":"a"}})", ErrorKind::kInvalid},
           {"unevaluatedProperties", R"({"unevaluatedProperties":1})", ErrorKind::kInvalid},
           {"unevaluatedItems", R"({"unevaluatedItems":[]})", ErrorKind::kInvalid},
           {"$ref from what is left over", R"({"unevaluatedItems":{"$ref":"#/x"}})",
            ErrorKind::kInvalid},
           {"not", R"({"not":1})", ErrorKind::kInvalid},
           {"patternProperties", R"({"patternProperties":[]})", ErrorKind::kInvalid},
           {"a pattern of names", R"re({"patternProperties":{"(?=x)":{}}})re",
            ErrorKind::kUnsupported},
           {"dependentRequired", R"({"dependentRequired":{"a":["b",1]}})", ErrorKind::kInvalid},
           {"prefixItems", R"({"prefixItems":[]})", ErrorKind::kInvalid},
           {"multipleOf", R"({"multipleOf":0})", ErrorKind::kInvalid},
           {"$defs are schemas too", R"({"$defs":{"a":{"tpye":1}}})", ErrorKind::kUnsupported},
           {"inside", R"({"properties":{"a":{"$recursiveRef":"#"}}})", ErrorKind::kUnsupported},
           {"misspelt", R"({"Type":"string"})", ErrorKind::kUnsupported},
           {"type", R"({"type":"text"})", ErrorKind::kInvalid},
           {"type list", R"({"type":[]})", ErrorKind::kInvalid},
           {"type number", R"({"type":1})", ErrorKind::kInvalid},
           {"enum", R"({"enum":[]})", ErrorKind::kInvalid},
           {"properties", R"({"properties":[]})", ErrorKind::kInvalid},
           {"member", R"({"properties":{"a":1}})", ErrorKind::kInvalid},
           {"required", R"({"required":[1]})", ErrorKind::kInvalid},
           {"count", R"({"minItems":-1})", ErrorKind::kInvalid},
           {"fraction", R"({"maxLength":1.5})", ErrorKind::kInvalid},
           {"bound", R"({"minimum":"1"})", ErrorKind::kInvalid},
           {"pattern", R"re({"pattern":"(?=x)"})re", ErrorKind::kUnsupported},
           {"long pattern", R"({"pattern":")" + std::string(1'025, 'a') + "\"}",
            ErrorKind::kTooLarge},
           {"branches", R"({"oneOf":[]})", ErrorKind::kInvalid},
           {"unique", R"({"uniqueItems":1})", ErrorKind::kInvalid},
           {"deep", deep, ErrorKind::kTooLarge},
           {"wide", wide, ErrorKind::kTooLarge},
           {"many values", many, ErrorKind::kTooLarge},
           {"many branches", branches, ErrorKind::kTooLarge},
       }) {
    auto schema = compile(c.schema);
    ASSERT_FALSE(schema.has_value()) << c.name;
    EXPECT_EQ(schema.error().kind(), c.kind) << c.name << " " << schema.error().message();
  }
}

// A form that does not fit takes nothing, and a form beside sees nothing of what another takes.
TEST(SchemaTest, what_is_left_over_is_told_by_the_forms_that_fit) {
  struct Case {
    std::string_view schema;
    std::string_view value;
    bool fits;
  };
  constexpr std::string_view kForms =
      R"({"anyOf":[{"properties":{"a":{"const":1},"b":{}},"required":["a"]},{"required":["b"]}],
          "unevaluatedProperties":false})";
  constexpr std::string_view kBeside =
      R"({"allOf":[{"properties":{"a":{}}},{"unevaluatedProperties":false}]})";
  constexpr std::string_view kCondition =
      R"({"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":{}}},
          "else":{"properties":{"c":{}}},"unevaluatedProperties":false})";
  constexpr std::string_view kNot =
      R"({"not":{"not":{"properties":{"a":{}}}},"unevaluatedProperties":false})";
  constexpr std::string_view kInner =
      R"({"allOf":[{"unevaluatedItems":true}],"unevaluatedItems":false})";
  constexpr std::string_view kTree =
      R"({"$ref":"#/$defs/node","unevaluatedProperties":false,"$defs":{"node":{
          "properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}}})";
  for (const Case& c : std::initializer_list<Case>{{kForms, R"({"a":1,"b":2})", true},
                                                   {kForms, R"({"a":2,"b":2})", false},
                                                   {kForms, R"({"a":1,"c":2})", false},
                                                   {kBeside, R"({})", true},
                                                   {kBeside, R"({"a":1})", false},
                                                   {kCondition, R"({"a":1,"b":1})", true},
                                                   {kCondition, R"({"a":1,"c":1})", false},
                                                   {kCondition, R"({"c":1})", true},
                                                   {kCondition, R"({"a":2,"c":1})", false},
                                                   {kNot, R"({"a":1})", false},
                                                   {kInner, "[1,2]", true},
                                                   {kTree, R"({"left":{"right":{}}})", true},
                                                   {kTree, R"({"left":{"wrong":{}}})", false}}) {
    auto schema = compile(c.schema);
    ASSERT_TRUE(schema.has_value()) << c.schema << " " << schema.error().message();
    EXPECT_EQ(schema->check(json(c.value), "args").has_value(), c.fits) << c.schema << c.value;
  }
}

// What each form takes is kept for it alone, which counts as work.
TEST(SchemaTest, what_forms_take_is_bounded) {
  std::string forms = "{}";
  for (int i = 1; i < 16; ++i) forms += ",{}";
  std::string schema = R"({"unevaluatedItems":false,"prefixItems":[{}],"anyOf":[)" + forms +
                       R"(],"oneOf":[{"anyOf":[)" + forms + R"(]}],"if":{"anyOf":[)" + forms +
                       R"(]},"items":{}})";
  auto compiled = compile(schema);
  ASSERT_TRUE(compiled.has_value());
  auto zeros = [](int n) {
    std::string out = "[0";
    for (int i = 1; i < n; ++i) out += ",0";
    return out + "]";
  };
  EXPECT_TRUE(compiled->check(json(zeros(1'000)), "args").has_value());
  auto status = compiled->check(json(zeros(20'000)), "args");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
}

TEST(SchemaTest, checking_ends_in_bounded_time) {
  std::string schema = "{}";
  for (int i = 0; i < 3; ++i) {
    std::string branches = schema;
    for (int j = 1; j < 10; ++j) branches += "," + schema;
    schema = R"({"anyOf":[)" + branches + "]}";
  }
  auto compiled = compile(R"({"items":)" + schema + "}");
  ASSERT_TRUE(compiled.has_value());
  std::string many = "[0";
  for (int i = 0; i < 20'000; ++i) many += ",0";
  auto status = compiled->check(json(many + "]"), "args");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind(), ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace tool::pipeline
