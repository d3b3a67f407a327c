#include "lakeproxy/auth/authorization.h"

#include <gtest/gtest.h>

#include "base/crypto/encoding.h"

namespace lake::auth {
namespace {

base::http::Headers headers(std::initializer_list<std::string> values) {
  base::http::Headers all;
  all.add("Host", "x");
  for (const std::string& value : values) all.add("authorization", value);
  return all;
}

std::string basic(std::string_view text) { return "Basic " + base::crypto::to_base64(text); }

TEST(Bearer, is_the_token_of_the_one_field) {
  for (const char* value :
       {"Bearer a.b-c_d~+/==", "bearer a.b-c_d~+/==", "BEARER   a.b-c_d~+/=="}) {
    const auto all = headers({value});
    auto token = bearer_of(all);
    ASSERT_TRUE(token) << value;
    EXPECT_EQ(*token, "a.b-c_d~+/==");
  }
}

TEST(Bearer, none_is_asked_for_and_a_wrong_one_is_refused) {
  auto none = bearer_of(headers({}));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason(), kNoToken);
  for (const std::string& value :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Bearer a b"),
        std::string("Bearer a,b"), std::string("Bearera"), std::string("Bearer\ta"), basic("a:b"),
        std::string("Token a"), std::string("Bearer \"a\""), "Bearer " + std::string(8193, 'a'),
        "Bearer " + std::string(1 << 20, 'a')}) {
    auto refused = bearer_of(headers({value}));
    ASSERT_FALSE(refused) << value.substr(0, 40);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnauthenticated);
    EXPECT_NE(refused.error().reason(), kNoToken);
    EXPECT_LT(refused.error().message().size(), 60U);
  }
}

TEST(Bearer, several_fields_are_refused_whatever_they_say) {
  EXPECT_FALSE(bearer_of(headers({"Bearer a", "Bearer a"})));
  EXPECT_FALSE(bearer_of(headers({"Bearer a", basic("a:b")})));
  EXPECT_FALSE(basic_of(headers({basic("a:b"), "Bearer a"})));
}

TEST(Basic, gives_name_and_secret) {
  struct Case {
    std::string text, id, secret, undecoded;
  };
  for (const Case& c : {Case{"etl:s3cr3t", "etl", "s3cr3t", ""}, Case{"etl:a:b", "etl", "a:b", ""},
                        Case{"my%20etl:a%2Bb", "my etl", "a+b", "a%2Bb"},
                        Case{"etl:a+b", "etl", "a b", "a+b"}, Case{"etl:100%", "etl", "100%", ""},
                        Case{"etl:", "etl", "", ""}, Case{":s", "", "s", ""}}) {
    auto shown = basic_of(headers({basic(c.text)}));
    ASSERT_TRUE(shown && *shown) << c.text;
    EXPECT_EQ((*shown)->id, c.id);
    EXPECT_EQ((*shown)->secret.reveal(), c.secret);
    EXPECT_EQ((*shown)->undecoded ? (*shown)->undecoded->reveal() : "", c.undecoded);
  }
}

TEST(Basic, malformed_is_refused_and_never_shown) {
  for (const std::string& value :
       {std::string("Basic"), std::string("Basic s3cr3t"), basic("no colon"), basic("%zz:s3cr3t"),
        std::string("Basic YTpiIQ"), std::string("Basic YTpi\nYTpi"),
        std::string("basic YTpi YTpi"), basic("a:" + std::string(3000, 's'))}) {
    auto refused = basic_of(headers({value}));
    ASSERT_FALSE(refused) << value.substr(0, 40);
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kInvalid);
    EXPECT_FALSE(refused.error().message().contains("s3cr3t"));
  }
}

TEST(Basic, other_schemes_are_left_alone) {
  for (const char* value : {"Bearer a", "Basics YTpi", ""}) {
    auto shown = basic_of(headers({value}));
    ASSERT_TRUE(shown) << value;
    EXPECT_FALSE(*shown);
  }
}

}  // namespace
}  // namespace lake::auth
