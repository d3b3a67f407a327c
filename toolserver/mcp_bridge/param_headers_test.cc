#include "toolserver/mcp_bridge/param_headers.h"

#include <gtest/gtest.h>

namespace tool::bridge {
namespace {

namespace json = base::json;

json::Object object(std::string_view text) { return json::parse(text)->get_object(); }

TEST(ParamHeaders, arguments_become_headers_in_their_safe_form) {
  auto headers = ParamHeaders::read(object(R"({"type":"object","properties":{
      "region":{"type":"string","x-mcp-header":"Region"},
      "at":{"type":"object","properties":{"zone":{"type":"integer","x-mcp-header":"Zone"}}},
      "dry":{"type":"boolean","x-mcp-header":"Method"},
      "note":{"type":"string","x-mcp-header":"Note"},
      "query":{"type":"string"}}})"));
  ASSERT_TRUE(headers) << headers.error().message();
  auto values = headers->of(object(
      R"({"region":"line\r\nX: y","at":{"zone":42.0},"dry":false,"note":null,"query":"q"})"));
  ASSERT_TRUE(values) << values.error().message();
  EXPECT_EQ(*values, (HeaderValues{{"Mcp-Param-Region", "=?base64?bGluZQ0KWDogeQ==?="},
                                   {"Mcp-Param-Zone", "42"},
                                   {"Mcp-Param-Method", "false"}}));
  EXPECT_TRUE(headers->of({})->empty());
}

TEST(ParamHeaders, a_name_that_breaks_a_rule_makes_the_tool_unusable) {
  const std::pair<const char*, const char*> kCases[] = {
      {"empty", R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})"},
      {"no text", R"({"properties":{"a":{"type":"string","x-mcp-header":7}}})"},
      {"a space", R"({"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}})"},
      {"a colon", R"({"properties":{"a":{"type":"string","x-mcp-header":"A:B"}}})"},
      {"a line break", R"({"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}})"},
      {"not ASCII", R"({"properties":{"a":{"type":"string","x-mcp-header":"Région"}}})"},
      {"at a number", R"({"properties":{"a":{"type":"number","x-mcp-header":"A"}}})"},
      {"at an object", R"({"properties":{"a":{"type":"object","x-mcp-header":"A"}}})"},
      {"without a type", R"({"properties":{"a":{"x-mcp-header":"A"}}})"},
      {"of two types", R"({"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}})"},
      {"twice", R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},
                                  "b":{"type":"string","x-mcp-header":"a"}}})"},
      {"at the root", R"({"type":"string","x-mcp-header":"A"})"},
      {"in items", R"({"properties":{"a":{"type":"array",
                      "items":{"type":"string","x-mcp-header":"A"}}}})"},
      {"in a branch", R"({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})"},
      {"in a condition", R"({"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}})"},
      {"in a definition", R"({"$defs":{"a":{"type":"string","x-mcp-header":"A"}}})"},
  };
  for (const auto& [name, schema] : kCases) {
    auto headers = ParamHeaders::read(object(schema));
    ASSERT_FALSE(headers) << name;
    EXPECT_EQ(headers.error().kind(), base::ErrorKind::kInvalid) << name;
  }
}

TEST(ParamHeaders, the_word_is_a_keyword_in_schemas_alone) {
  auto headers = ParamHeaders::read(object(
      R"({"properties":{"x-mcp-header":{"type":"string"},
          "b":{"const":{"x-mcp-header":""},"default":{"x-mcp-header":7}}}})"));
  ASSERT_TRUE(headers) << headers.error().message();
  EXPECT_TRUE(headers->empty());
}

TEST(ParamHeaders, values_that_no_header_can_hold_are_refused) {
  auto headers =
      *ParamHeaders::read(object(R"({"properties":{"a":{"type":"integer","x-mcp-header":"A"}}})"));
  EXPECT_TRUE(headers.of(object(R"({"a":9007199254740991})")));
  for (const char* text :
       {R"({"a":9007199254740992})", R"({"a":1.5})", R"({"a":{}})", R"({"a":[]})"}) {
    auto values = headers.of(object(text));
    ASSERT_FALSE(values) << text;
    EXPECT_EQ(values.error().kind(), base::ErrorKind::kInvalid) << text;
  }
  json::Object most{{"a", std::string(ParamHeaders::kValueBytes, 'x')}};
  EXPECT_TRUE(headers.of(most));
  json::Object more{{"a", std::string(ParamHeaders::kValueBytes + 1, 'x')}};
  EXPECT_EQ(headers.of(more).error().kind(), base::ErrorKind::kTooLarge);
}

}  // namespace
}  // namespace tool::bridge
