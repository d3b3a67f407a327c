#include "toolserver/mcp_login/challenge.h"

#include <gtest/gtest.h>

namespace tool::login {
namespace {

TEST(Challenge, bearer_is_found_among_others) {
  for (
      const char* text :
      {R"(Bearer resource_metadata="https://a.example/m", scope="a b", error="insufficient_scope")",
       R"(bearer  error=insufficient_scope ,scope="a b",,resource_metadata = "https://a.example/m")",
       R"(Basic realm="x, Bearer y=\"z\"", BEARER scope="a b", error="insufficient_scope",)"
       R"( resource_metadata="https://a.example/m")",
       R"(Negotiate oYGwMIGtoAMKAQGi==, Bearer scope="a b", error="insufficient_scope",)"
       R"( resource_metadata="https:\/\/a.example/m", Bearer scope="other")"}) {
    auto challenge = read_challenge(text);
    ASSERT_TRUE(challenge) << text;
    EXPECT_EQ(challenge->resource_metadata, "https://a.example/m") << text;
    EXPECT_EQ(challenge->scope, (Scopes{"a", "b"})) << text;
    EXPECT_EQ(challenge->error, "insufficient_scope") << text;
  }
  auto bare = read_challenge("Bearer");
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->scope.empty() && bare->resource_metadata.empty() && bare->error.empty());
}

TEST(Challenge, what_breaks_the_grammar_is_none) {
  for (std::string text :
       {std::string(), std::string("Basic realm=\"x\""), std::string("Bearer scope=\"a"),
        std::string("Bearer scope=\"a\" error=\"b\""), std::string("scope=\"a\""),
        std::string("Bearer scope=\"a\", scope=\"b\""), std::string("Bearer scope=\"a\x01\""),
        std::string("Bearer scope=\"a\\\\b\""), std::string("Bearer scope=\"a  b\""),
        std::string("Bearer scope=\"caf\xc3\xa9\""), std::string("Bearer \"a\""),
        std::string("Bearer scope=\"") + std::string(300, 'a') + '"',
        "Bearer x=\"" + std::string(20'000, 'a') + '"'}) {
    EXPECT_FALSE(read_challenge(text)) << text.substr(0, 60);
  }
}

TEST(Scopes, are_few_and_counted_once) {
  EXPECT_EQ(read_scopes("a b a"), (Scopes{"a", "b"}));
  EXPECT_EQ(read_scopes(""), Scopes());
  std::string many;
  for (int i = 0; i < 64; ++i) many += "s" + std::to_string(i) + " ";
  EXPECT_TRUE(read_scopes(many.substr(0, many.size() - 1)));
  EXPECT_FALSE(read_scopes(many + "more"));
  Scopes all{"a"};
  add_scopes(all, {"b", "a"});
  EXPECT_EQ(write_scopes(all), "a b");
  EXPECT_TRUE(has_scopes(all, {"b"}) && has_scopes(all, {}));
  EXPECT_FALSE(has_scopes(all, {"b", "c"}));
}

}  // namespace
}  // namespace tool::login
