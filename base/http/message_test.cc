#include "base/http/message.h"

#include <gtest/gtest.h>

namespace base::http {
namespace {

TEST(MethodTest, names_and_values_correspond_and_case_counts) {
  for (Method method :
       {Method::kGet, Method::kHead, Method::kPost, Method::kPut, Method::kDelete}) {
    EXPECT_EQ(parse_method(to_string(method)), method);
  }
  for (std::string_view other : {"", "get", "GETS", "PATCH", "OTHER"}) {
    EXPECT_EQ(parse_method(other), Method::kOther) << other;
  }
}

TEST(HeadersTest, get_ignores_case_and_gives_the_first) {
  Headers headers;
  headers.add("ETag", "a");
  headers.add("etag", "b");
  EXPECT_EQ(headers.get("eTAG"), "a");
  EXPECT_EQ(headers.get("ETa"), std::nullopt);
  EXPECT_EQ(headers.get(""), std::nullopt);
}

TEST(HeadersTest, set_replaces_every_field_of_the_name) {
  Headers headers;
  headers.add("A", "1");
  headers.add("b", "2");
  headers.add("a", "3");
  headers.set(headers.fields()[0].name, "4");
  ASSERT_EQ(headers.fields().size(), 2u);
  EXPECT_EQ(headers.get("a"), "4");
  EXPECT_EQ(headers.get("B"), "2");
}

TEST(RequestTest, path_ends_at_the_question_mark) {
  EXPECT_EQ((Request{.target = "/a%2Fb?c=d?e"}).path(), "/a%2Fb");
  EXPECT_EQ((Request{.target = "/a"}).path(), "/a");
  EXPECT_EQ((Request{.target = "?"}).path(), "");
}

TEST(RequestTest, query_decodes_the_first_parameter_of_the_name) {
  Request request{.target = "/p?a=1&b=x%20y+z%2B&a=2&empty=&bare&c%3Dd=e&=n&bad=%zz&eq=a=b"};
  struct Case {
    std::string_view name;
    std::optional<std::string> value;
  };
  const Case kCases[] = {
      {"a", "1"}, {"b", "x y z+"},       {"empty", ""}, {"bare", ""},        {"c=d", "e"},
      {"", "n"},  {"bad", std::nullopt}, {"eq", "a=b"}, {"A", std::nullopt}, {"c", std::nullopt},
  };
  for (const Case& c : kCases) EXPECT_EQ(request.query(c.name), c.value) << c.name;
  EXPECT_EQ((Request{.target = "/p"}).query("a"), std::nullopt);
  EXPECT_EQ((Request{.target = "/p?"}).query("a"), std::nullopt);
}

TEST(BodyTest, copies_share_the_bytes) {
  const Body body(std::string("abc"));
  Body copy;
  copy = body;
  EXPECT_EQ(body.view().data(), copy.view().data());
  EXPECT_EQ(Body().size(), 0u);
}

TEST(BodyTest, buffers_follow_each_other_and_stay_shared) {
  auto shared = std::make_shared<const std::string>("the document");
  Body one(shared);
  one.append(std::make_shared<const std::string>(", for one"));
  Body another(shared);
  another.append(nullptr);
  EXPECT_EQ(one.text(), "the document, for one");
  EXPECT_EQ(one.size(), one.text().size());
  EXPECT_EQ(another.view(), "the document") << "the other answer has not grown";
  EXPECT_EQ(one.buffers().front().data(), shared->data()) << "not copied";
  EXPECT_EQ(one.buffers().size(), 2u);
  Body begun;
  begun.append(shared);
  EXPECT_EQ(begun.view().data(), shared->data());
}

TEST(BodyDeathTest, no_part_of_a_list_is_taken_for_all) {
  Body body(std::string("a"));
  body.append(std::make_shared<const std::string>("b"));
  EXPECT_DEATH((void)body.view(), "");
}

}  // namespace
}  // namespace base::http
