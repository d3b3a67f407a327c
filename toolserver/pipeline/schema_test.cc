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
           {"$ref", R"({"$ref":"#/x"})", ErrorKind::kUnsupported},
           {"not", R"({"not":{}})", ErrorKind::kUnsupported},
           {"if", R"({"if":{}})", ErrorKind::kUnsupported},
           {"inside", R"({"properties":{"a":{"patternProperties":{}}}})", ErrorKind::kUnsupported},
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

TEST(SchemaTest, a_reference_stands_for_what_it_names) {
  for (std::string_view section : {"$defs", "definitions"}) {
    std::string text = R"({"type":"object","SECTION":{"point":{"type":"object","properties":{
      "x":{"$ref":"#/SECTION/number"}},"required":["x"]},"number":{"type":"integer"}},
      "properties":{"at":{"$ref":"#/SECTION/point"}}})";
    for (auto at = text.find("SECTION"); at != std::string::npos; at = text.find("SECTION")) {
      text.replace(at, 7, section);
    }
    auto schema = Schema::compile(base::json::parse(text)->get_object());
    ASSERT_TRUE(schema.has_value()) << schema.error().message();
    EXPECT_TRUE(schema->check(*base::json::parse(R"({"at":{"x":1}})"), "args").has_value());
    EXPECT_FALSE(schema->check(*base::json::parse(R"({"at":{"x":"1"}})"), "args").has_value());
    EXPECT_FALSE(schema->check(*base::json::parse(R"({"at":{}})"), "args").has_value());
  }
}

TEST(SchemaTest, a_reference_that_leads_elsewhere_or_nowhere_is_refused) {
  for (std::string_view schema :
       {R"({"$ref":"https://example.org/schema"})", R"({"$ref":"#"})",
        R"({"$ref":"#/properties/a"})", R"({"$ref":"#/$defs/none","$defs":{}})",
        R"({"$ref":"#/$defs/a"})", R"({"$ref":7})", R"({"$defs":7})",
        R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}})",
        R"({"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}})",
        R"({"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},
            "b":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}}})"}) {
    EXPECT_FALSE(Schema::compile(base::json::parse(schema)->get_object()).has_value()) << schema;
  }
}

}  // namespace
}  // namespace tool::pipeline
