#include "lakeproxy/auth/token_claims.h"

#include <gtest/gtest.h>

#include "lakeproxy/auth/fixture_test.h"

namespace lake::auth {
namespace {

using namespace testing;
namespace jose = base::jose;

const ClaimNames kNames{.roles = "groups", .account = "tenant.id"};

// Of a token with these claims besides those that each one has.
base::Result<Principal> principal(const std::string& more,
                                  OtherWords others = OtherWords::kIgnored) {
  const std::string payload = R"({"iss":"p","aud":"c","sub":"ann","exp":)" +
                              std::to_string(kNow + 60) + (more.empty() ? "" : "," + more) + "}";
  const jose::Rules rules{.header = {.algorithm = jose::Algorithm::kHs256, .types = {"at+jwt"}},
                          .issuer = "p",
                          .audience = "c"};
  auto claims = jose::verify(forge(kHeader, payload), jose::Verifier::hs256(kSecret).value(), rules,
                             StandingClock().now());
  EXPECT_TRUE(claims) << more;
  return principal_of(*claims, kNames, others);
}

TEST(TokenClaims, give_scopes_as_a_text_or_as_a_list) {
  for (const char* scope : {R"("scope":"ns:a:r openid ns:b:w")", R"("scp":"ns:a:r openid ns:b:w")",
                            R"("scp":["ns:a:r","openid","ns:b:w"])"}) {
    auto who = principal(scope);
    ASSERT_TRUE(who) << scope;
    EXPECT_EQ(who->grants->scopes.text(), "ns:a:r ns:b:w");
    EXPECT_FALSE(who->superuser);
    EXPECT_FALSE(principal(scope, OtherWords::kRefused));
  }
  EXPECT_EQ(principal(R"("scope":"ns:a:r","scp":["*"])")->grants->scopes.text(), "ns:a:r");
  EXPECT_TRUE(principal(R"("scp":["*"])")->superuser);
  EXPECT_TRUE(principal("")->grants->scopes.empty());
}

TEST(TokenClaims, give_roles_as_a_text_or_as_a_list) {
  EXPECT_EQ(principal(R"("groups":"a b")")->grants->roles, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(principal(R"("groups":["a b","c"])")->grants->roles,
            (std::vector<std::string>{"a b", "c"}));
  EXPECT_TRUE(principal(R"("groups":null)")->grants->roles.empty());
  EXPECT_TRUE(principal(R"("roles":["a"])")->grants->roles.empty()) << "another claim";
}

TEST(TokenClaims, give_the_account_by_a_path_or_by_a_name_with_dots) {
  EXPECT_EQ(principal(R"("tenant":{"id":"acme"})")->account, "acme");
  EXPECT_EQ(principal(R"("tenant":{"id":["acme"]})")->account, "acme");
  EXPECT_EQ(principal(R"("tenant.id":"acme")")->account, "acme");
  EXPECT_FALSE(principal(R"("tenant":"acme")")->account);
  EXPECT_FALSE(principal(R"("account":"acme")")->account);
}

TEST(TokenClaims, of_another_shape_are_refused_and_never_shown) {
  const std::string long_text(1025, 'x');
  for (const std::string& more :
       {std::string(R"("groups":{"secret":1})"), std::string(R"("groups":["secret",7])"),
        std::string(R"("groups":[""])"), std::string(R"("groups":true)"),
        std::string(R"("tenant":{"id":7})"), std::string(R"("tenant":{"id":["secret","b"]})"),
        std::string(R"("tenant":{"id":[]})"), std::string(R"("tenant":{"id":""})"),
        R"("tenant":{"id":")" + long_text + "\"}", R"("groups":[")" + long_text + "\"]",
        std::string(R"("scp":{"secret":1})"), std::string(R"("scp":[1])")}) {
    auto refused = principal(more);
    ASSERT_FALSE(refused) << more;
    EXPECT_EQ(refused.error().kind(), base::ErrorKind::kUnauthenticated);
    EXPECT_EQ(refused.error().reason(), jose::reason::kClaims);
    EXPECT_FALSE(refused.error().message().contains("secret"));
  }
}

}  // namespace
}  // namespace lake::auth
