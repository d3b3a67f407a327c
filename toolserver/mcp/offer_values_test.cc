#include "toolserver/mcp/offer_values.h"

#include <gtest/gtest.h>

#include <string>

namespace tool::mcp {
namespace {

base::json::Value json(std::string_view text) {
  auto value = base::json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? std::move(*value) : base::json::Value();
}
base::json::Object object(std::string_view text) { return json(text).get_object(); }

TEST(McpOfferTest, a_resource_comes_back_as_it_is_listed) {
  auto one = read_resource(
      json(R"({"uri":"file:///a","name":"a","title":"A","description":"d","mimeType":"text/plain",
               "size":3,"annotations":{"audience":["user"]}})"),
      "uri");
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->to_json("uri"),
            object(R"({"uri":"file:///a","name":"a","title":"A","description":"d",
                       "mimeType":"text/plain"})"));
}

TEST(McpOfferTest, refuses_what_is_no_resource_and_no_prompt) {
  std::string long_name(257, 'n');
  for (const std::string& text :
       {std::string("7"), std::string("{}"), std::string(R"({"uri":"a:b"})"),
        std::string(R"({"uri":"a:b","name":""})"), std::string(R"({"uri":1,"name":"n"})"),
        R"({"uri":"a:b","name":")" + long_name + "\"}",
        std::string(R"({"uri":"a:b","name":"n","description":7})")}) {
    EXPECT_FALSE(read_resource(json(text), "uri").has_value()) << text;
  }
  for (const char* text : {"7", "{}", R"({"name":""})", R"({"name":"a b"})",
                           R"({"name":"a","arguments":7})", R"({"name":"a","arguments":[{}]})",
                           R"({"name":"a","arguments":[{"name":"b"},{"name":"b"}]})",
                           R"({"name":"a","arguments":[{"name":"b","required":"yes"}]})"}) {
    EXPECT_FALSE(read_prompt(json(text)).has_value()) << text;
  }
  auto one =
      read_prompt(json(R"({"name":"a","arguments":[{"name":"b","required":true},{"name":"c"}]})"));
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->arguments.at(0).required);
  EXPECT_FALSE(one->arguments.at(1).required);
}

TEST(McpOfferTest, contents_are_texts_and_bytes_with_their_uris) {
  auto read = read_contents(object(
      R"({"contents":[{"uri":"a:1","text":"t","mimeType":"text/x"},{"uri":"a:2","blob":"AAE="}]})"));
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->content.size(), 2U);
  EXPECT_EQ(read->content[0].data, "t");
  EXPECT_EQ(read->content[1].data, std::string("\0\1", 2));
  EXPECT_EQ(read->content[1].uri, "a:2");
  EXPECT_FALSE(read->content[1].is_text());
}

TEST(McpOfferTest, refuses_what_is_no_contents) {
  for (const char* text :
       {"{}", R"({"contents":7})", R"({"contents":[7]})", R"({"contents":[{"text":"t"}]})",
        R"({"contents":[{"uri":"a:1"}]})", R"({"contents":[{"uri":"a:1","blob":"!"}]})",
        R"({"contents":[{"uri":"a:1","blob":7}]})", R"({"contents":[{"uri":"no uri","text":"t"}]})",
        R"({"contents":[{"uri":"","text":"t"}]})", R"({"resultType":"odd","contents":[]})"}) {
    EXPECT_FALSE(read_contents(object(text)).has_value()) << text;
  }
  std::string many = R"({"contents":[{"uri":"a:1","text":"t"})";
  for (int i = 1; i < 256; ++i) many += R"(,{"uri":"a:1","text":"t"})";
  EXPECT_TRUE(read_contents(object(many + "]}")).has_value());
  EXPECT_FALSE(read_contents(object(many + R"(,{"uri":"a:1","text":"t"}]})")).has_value());
  EXPECT_TRUE(read_contents(object(R"({"resultType":"input_required"})"))->input_needed);
}

TEST(McpOfferTest, a_prompt_has_messages_with_roles) {
  auto read = read_prompt_text(object(
      R"({"description":"d","messages":[{"role":"user","content":{"type":"text","text":"q"}},
          {"role":"assistant","content":{"type":"resource","resource":{"uri":"a:1","text":"t"}}}]})"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->content.at(1).uri, "a:1");
  EXPECT_EQ(*read->structured, json(R"({"description":"d","roles":["user","assistant"]})"));
  for (
      const char* text :
      {"{}", R"({"messages":[7]})", R"({"messages":[{"role":"user"}]})",
       R"({"messages":[{"role":"system","content":{"type":"text","text":"q"}}]})",
       R"({"messages":[{"content":{"type":"text","text":"q"}}]})",
       R"({"messages":[{"role":"user","content":{"type":"image","data":"!","mimeType":"image/png"}}]})",
       R"({"messages":[{"role":"user","content":{"type":"resource_link","uri":"no uri","name":"n"}}]})"}) {
    EXPECT_FALSE(read_prompt_text(object(text)).has_value()) << text;
  }
}

}  // namespace
}  // namespace tool::mcp
