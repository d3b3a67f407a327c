#include "toolserver/mcp/message.h"

#include <gtest/gtest.h>

#include "toolserver/mcp/revision.h"

namespace tool::mcp {
namespace {

TEST(McpMessageTest, reads_each_kind_of_message) {
  auto request = parse_message(R"({"jsonrpc":"2.0","id":7,"method":"ping"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(std::get<Request>(*request).method, "ping");
  EXPECT_EQ(std::get<Request>(*request).id, RequestId(std::int64_t{7}));
  EXPECT_TRUE(std::get<Request>(*request).params.empty());

  auto notification =
      parse_message(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"a":1}})");
  ASSERT_TRUE(notification);
  EXPECT_EQ(std::get<Notification>(*notification).params.at("a").as_int64(), 1);

  auto answer = parse_message(R"({"jsonrpc":"2.0","id":"x","result":{"ok":true}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<Answer>(*answer).id, RequestId("x"));

  auto error = parse_message(
      R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1]}})");
  ASSERT_TRUE(error);
  EXPECT_EQ(std::get<ErrorAnswer>(*error).id, std::nullopt);
  EXPECT_EQ(std::get<ErrorAnswer>(*error).error.code, code::kParse);
}

TEST(McpMessageTest, comes_back_from_its_own_text) {
  for (const char* text :
       {R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}})",
        R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","id":"é","result":{"content":[]}})",
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m","data":{"x":[]}}})"}) {
    auto message = parse_message(text);
    ASSERT_TRUE(message) << text;
    EXPECT_EQ(std::visit([](const auto& one) { return write(one); }, *message), text);
  }
}

TEST(McpMessageTest, refuses_what_is_no_message_and_keeps_the_id) {
  struct Case {
    const char* text;
    int code;
    std::optional<RequestId> id;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", code::kParse, {}},
           {"{", code::kParse, {}},
           {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", code::kParse, {}},
           {"[]", code::kInvalidRequest, {}},
           {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", code::kInvalidRequest, {}},
           {"7", code::kInvalidRequest, {}},
           {R"({"id":1,"method":"ping"})", code::kInvalidRequest, RequestId(std::int64_t{1})},
           {R"({"jsonrpc":"1.0","id":1,"method":"a"})", code::kInvalidRequest,
            RequestId(std::int64_t{1})},
           {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", code::kInvalidRequest, {}},
           {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", code::kInvalidRequest, {}},
           {R"({"jsonrpc":"2.0","id":"a","method":""})", code::kInvalidRequest, RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a","method":7})", code::kInvalidRequest, RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a","method":"m","params":[1]})", code::kInvalidRequest,
            RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a","method":"m","result":{}})", code::kInvalidRequest,
            RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a"})", code::kInvalidRequest, RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a","result":1})", code::kInvalidRequest, RequestId("a")},
           {R"({"jsonrpc":"2.0","result":{}})", code::kInvalidRequest, {}},
           {R"({"jsonrpc":"2.0","id":"a","result":{},"error":{"code":1,"message":""}})",
            code::kInvalidRequest, RequestId("a")},
           {R"({"jsonrpc":"2.0","id":"a","error":{"code":"1","message":""}})",
            code::kInvalidRequest, RequestId("a")}}) {
    auto message = parse_message(c.text);
    ASSERT_FALSE(message) << c.text;
    EXPECT_EQ(message.error().error.code, c.code) << c.text;
    EXPECT_EQ(message.error().id, c.id) << c.text;
  }
}

TEST(McpMessageTest, has_bounds) {
  std::string call = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)";
  auto nested = [&](int depth) {
    return call + std::string(depth, '[') + std::string(depth, ']') + "}}";
  };
  EXPECT_TRUE(parse_message(nested(60)));
  EXPECT_EQ(parse_message(nested(70)).error().error.code, code::kParse);
  MessageBounds small{.bytes = 64};
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","method":"m"})", small));
  EXPECT_EQ(parse_message(call + "\"" + std::string(64, 'x') + "\"}}", small).error().error.code,
            code::kParse);
  std::string id(256, 'i');
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","method":"m","id":")" + id + "\"}"));
  EXPECT_FALSE(parse_message(R"({"jsonrpc":"2.0","method":"m","id":")" + id + "i\"}"));
}

TEST(McpRevisionTest, knows_its_names_and_no_other) {
  for (Revision one : kRevisions) EXPECT_EQ(revision_of(name(one)), one);
  for (const char* text : {"", "2024-11-05", "2026-07-29", "2026-07-28 ", "draft"}) {
    EXPECT_EQ(revision_of(text), std::nullopt) << text;
  }
  EXPECT_TRUE(is_stateless(Revision::k2026_07_28));
  EXPECT_FALSE(is_stateless(Revision::k2025_11_25));
}

}  // namespace
}  // namespace tool::mcp
