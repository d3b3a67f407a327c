#include "base/json/pointer.h"

#include <gtest/gtest.h>

#include <utility>

namespace base::json {
namespace {

TEST(JsonPointer, leads_where_the_examples_of_the_standard_lead) {
  // RFC 6901, section 5.
  auto document = parse(
      R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  ASSERT_TRUE(document);
  EXPECT_EQ(find_at(*document, ""), &*document);
  EXPECT_EQ(write(*find_at(*document, "/foo")), R"(["bar","baz"])");
  EXPECT_EQ(write(*find_at(*document, "/foo/0")), R"("bar")");
  const std::pair<std::string_view, int> numbers[] = {{"/", 0},     {"/a~1b", 1}, {"/c%d", 2},
                                                      {"/e^f", 3},  {"/g|h", 4},  {"/i\\j", 5},
                                                      {"/k\"l", 6}, {"/ ", 7},    {"/m~0n", 8}};
  for (const auto& [pointer, value] : numbers) {
    const Value* found = find_at(*document, pointer);
    ASSERT_NE(found, nullptr) << pointer;
    EXPECT_EQ(found->as_int64(), value) << pointer;
  }
}

TEST(JsonPointer, leads_to_nothing) {
  auto document = parse(R"({"a":[1,[2]],"b":"text","01":0})");
  ASSERT_TRUE(document);
  for (std::string_view pointer :
       {"a", "/c", "/a/2", "/a/-", "/a/01", "/a/+1", "/a/1 ", "/a/", "/a/1/0/0", "/b/0", "/a~",
        "/a~2", "/a/18446744073709551616", "/a/18446744073709551615"}) {
    EXPECT_EQ(find_at(*document, pointer), nullptr) << pointer;
  }
  EXPECT_NE(find_at(*document, "/01"), nullptr);
}

TEST(JsonPointer, what_is_one) {
  for (std::string_view good : {"", "/", "/a", "/a~0b~1", "/a//b"}) {
    EXPECT_TRUE(is_pointer(good)) << good;
  }
  for (std::string_view bad : {"a", "a/b", "/~", "/~2", "/a~", "#/a", "/~2/a"}) {
    EXPECT_FALSE(is_pointer(bad)) << bad;
  }
}

TEST(JsonPointer, tokens_and_their_escapes_come_back) {
  for (std::string_view token : {"", "a", "/", "~", "~1", "~01", "a/b~c", "\xC3\xA9"}) {
    std::string pointer = "/before";
    append_token(pointer, token);
    auto tokens = pointer_tokens(pointer);
    ASSERT_TRUE(tokens) << pointer;
    EXPECT_EQ(*tokens, (std::vector<std::string>{"before", std::string(token)}));
  }
  EXPECT_EQ(pointer_tokens(""), std::vector<std::string>{});
  EXPECT_EQ(pointer_tokens("/"), std::vector<std::string>{""});
}

}  // namespace
}  // namespace base::json
