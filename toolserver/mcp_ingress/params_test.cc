#include "toolserver/mcp_ingress/params.h"

#include <gtest/gtest.h>

#include "toolserver/mcp_ingress/http_access.h"
#include "toolserver/mcp_ingress/http_request.h"

namespace tool::mcp_ingress {
namespace {

namespace json = base::json;

json::Object object(const char* text) { return json::parse(text)->get_object(); }

TEST(ParamsTest, pages_through_a_list) {
  auto list = [] {
    std::vector<json::Object> all;
    for (int i = 0; i < 250; ++i) all.push_back({{"n", i}});
    return all;
  };
  Reply first = page_of(list(), "tools", {});
  ASSERT_TRUE(first.body);
  EXPECT_EQ(first.body->at("tools").as_array().size(), 100U);
  Reply last = page_of(list(), "tools", {{"cursor", "200"}});
  ASSERT_TRUE(last.body);
  EXPECT_EQ(last.body->at("tools").as_array().size(), 50U);
  EXPECT_FALSE(last.body->contains("nextCursor"));
  EXPECT_EQ(page_of(list(), "tools", {{"cursor", "900"}}).body->at("tools").as_array().size(), 0U);
  for (json::Value cursor : std::initializer_list<json::Value>{"", "x", "-1", "1x", 7}) {
    EXPECT_FALSE(page_of(list(), "tools", {{"cursor", cursor}}).body);
  }
}

// Tools of `bytes` each as they are kept.
ToolList kept_list(std::size_t size, std::size_t bytes) {
  ToolList all;
  all.size = size;
  all.text = [text = R"({"name":")" + std::string(bytes - 11, 'x') +
                     R"("})"](std::size_t) -> std::string_view { return text; };
  return all;
}

// How many tools the result has that write_reply() makes of `reply`, and its cursor.
std::pair<std::size_t, std::string> read_page(Reply reply) {
  auto message = object(write_reply("id \"7\"", std::move(reply)).c_str());
  EXPECT_EQ(message.at("id").as_string(), "id \"7\"");
  const auto& result = message.at("result").as_object();
  const auto* next = result.if_contains("nextCursor");
  return {result.at("tools").as_array().size(), next ? std::string(next->as_string()) : ""};
}

TEST(ParamsTest, a_page_of_tools_has_what_fits) {
  using Page = std::pair<std::size_t, std::string>;
  EXPECT_EQ(read_page(page_of_tools(kept_list(0, 100), {})), Page(0, ""));
  EXPECT_EQ(read_page(page_of_tools(kept_list(1'000, 100), {})), Page(1'000, ""));
  EXPECT_EQ(read_page(page_of_tools(kept_list(1'001, 100), {})), Page(1'000, "1000"));
  EXPECT_EQ(read_page(page_of_tools(kept_list(1'001, 100), {{"cursor", "1000"}})), Page(1, ""));
  EXPECT_EQ(read_page(page_of_tools(kept_list(9, 200'000), {{"cursor", "2"}})), Page(5, "7"));
  // One that is larger than a page is one.
  EXPECT_EQ(read_page(page_of_tools(kept_list(2, 2 << 20), {})), Page(1, "1"));
  EXPECT_EQ(read_page(page_of_tools(kept_list(9, 100), {{"cursor", "99"}})), Page(0, ""));
  EXPECT_FALSE(page_of_tools(kept_list(9, 100), {{"cursor", "x"}}).body);
}

TEST(ParamsTest, a_list_without_texts_has_pages_of_100) {
  ToolList all;
  all.size = 101;
  all.tool = [](std::size_t at) { return json::Object{{"n", at}}; };
  EXPECT_EQ(read_page(page_of_tools(all, {})), std::pair(std::size_t{100}, std::string("100")));
}

TEST(ParamsTest, what_is_written_already_stands_beside_the_rest_of_a_result) {
  Reply reply;
  reply.body = json::Object{{"a", 1}, {"b", "\"\n"}};
  reply.written = WrittenMember{"tools", R"([{"name":"x"}])"};
  EXPECT_EQ(write_reply(std::int64_t{7}, std::move(reply)),
            R"({"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"x"}],"a":1,"b":"\"\n"}})");
}

TEST(ParamsTest, reads_what_a_client_answered) {
  EXPECT_EQ(inputs_of({}).value(), std::nullopt);
  auto inputs = inputs_of(object(R"({"inputResponses":{"a":{}},"requestState":"s"})"));
  ASSERT_TRUE(inputs && *inputs);
  EXPECT_EQ((*inputs)->state, "s");
  for (const char* text : {R"({"inputResponses":null})", R"({"inputResponses":{"a":7}})",
                           R"({"inputResponses":[]})", R"({"requestState":7})"}) {
    auto refused = inputs_of(object(text));
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().body.error().code, mcp::code::kInvalidParams);
  }
}

TEST(ParamsTest, reads_a_filter) {
  auto filter = read_filter(
      object(R"({"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}})"));
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->tools);
  EXPECT_FALSE(filter->prompts);
  EXPECT_EQ(filter->uris, std::vector<std::string>{"a:b"});
  for (const char* text :
       {R"({})", R"({"notifications":[]})", R"({"notifications":{"toolsListChanged":1}})",
        R"({"notifications":{"resourceSubscriptions":[1]}})"}) {
    EXPECT_FALSE(read_filter(object(text))) << text;
  }
}

TEST(HttpRequestTest, takes_the_field_that_says_what_the_body_says) {
  mcp::Request request{std::int64_t{1}, "tools/call", {{"name", "käse"}}};
  base::http::Headers good;
  good.add("mcp-method", "tools/call");
  good.add("MCP-NAME", "=?base64?a8Okc2U=?=");
  EXPECT_TRUE(check_fields(good, request));
  base::http::Headers twice = good;
  twice.add("Mcp-Name", "other");
  EXPECT_FALSE(check_fields(twice, request));
  base::http::Headers other;
  other.add("Mcp-Method", "tools/call");
  other.add("Mcp-Name", "other");
  auto refused = check_fields(other, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 400U);
  EXPECT_EQ(refused.error().body.error().code, mcp::code::kHeaderMismatch);
}

TEST(HttpRequestTest, reads_lists_of_media_types) {
  auto accepts = [](const char* value) {
    base::http::Headers headers;
    headers.add("Accept", value);
    return accepts_of(headers);
  };
  EXPECT_TRUE(accepts("application/json, text/event-stream").events);
  EXPECT_TRUE(accepts("text/event-stream;q=0.5 , application/json").json);
  EXPECT_FALSE(accepts("application/json").events);
  EXPECT_TRUE(accepts("*/*").events);
  EXPECT_FALSE(accepts("text/html").json);
  EXPECT_TRUE(accepts_of({}).json);
}

TEST(HttpAccessTest, the_metadata_stands_before_the_path) {
  AccessOptions options;
  options.resource = "https://tools.example/mcp";
  options.issuer = "https://login.example";
  EXPECT_TRUE(is_metadata_path("/.well-known/oauth-protected-resource", options));
  EXPECT_TRUE(is_metadata_path("/.well-known/oauth-protected-resource/mcp", options));
  EXPECT_FALSE(is_metadata_path("/.well-known/oauth-protected-resource/other", options));
  EXPECT_EQ(insufficient_scope("tool:invoke:a.b", options),
            "Bearer realm=\"securetool\", error=\"insufficient_scope\", scope=\"tool:invoke:a.b\", "
            "resource_metadata=\"https://tools.example/.well-known/oauth-protected-resource/mcp\"");
  EXPECT_EQ(metadata_response(options).status, 200U);
  options.issuer.clear();
  EXPECT_EQ(metadata_response(options).status, 404U);
}

}  // namespace
}  // namespace tool::mcp_ingress
