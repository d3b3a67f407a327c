#include "lakeproxy/auth/token_grants.h"

#include <gtest/gtest.h>

#include "lakeproxy/auth/authenticator.h"
#include "lakeproxy/auth/fixture_test.h"

namespace lake::auth {
namespace {

using namespace testing;

class TokenGrantsTest : public ::testing::Test {
 protected:
  base::Result<IssuedToken> grant(std::string id, std::string secret, std::string scope = {},
                                  std::string grant_type = "client_credentials") {
    TokenRequest request{.grant_type = std::move(grant_type), .scope = std::move(scope)};
    request.client.id = std::move(id);
    request.client.secret = base::Secret(std::move(secret));
    return wait(grants_.grant({}, std::move(request)));
  }
  std::string scope_of(const std::string& scope) {
    auto token = grant("etl", "s3cr3t", scope);
    if (!token) return std::string(token.error().reason());
    auto verified = tokens_.verify(token->value.reveal());
    EXPECT_TRUE(verified);
    EXPECT_EQ(verified->principal.grants->scopes.text(), token->scopes.text());
    return token->scopes.text();
  }

  StandingClock clock_;
  // The hashes are of "open sesame".
  Clients clients_ =
      clients_of(std::string(kEntries) +
                 ",hashed:$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW|ns:*:r");
  AccessTokens tokens_ = tokens_of(options(), clients_, clock_);
  TokenGrants grants_{clients_, tokens_, std::chrono::hours(24)};
};

TEST_F(TokenGrantsTest, a_client_gets_what_it_may_do_or_less_and_never_more) {
  EXPECT_EQ(scope_of(""), "ns:sales:rw ns:ops:r");
  EXPECT_EQ(scope_of("catalog"), "ns:sales:rw ns:ops:r") << "what Iceberg's clients say";
  EXPECT_EQ(scope_of("PRINCIPAL_ROLE:ALL"), "ns:sales:rw ns:ops:r") << "what DuckDB says";
  EXPECT_EQ(scope_of("ns:sales:r"), "ns:sales:r");
  EXPECT_EQ(scope_of("ns:ops:rw"), "ns:ops:r");
  EXPECT_EQ(scope_of("*"), "ns:sales:rw ns:ops:r");
  EXPECT_EQ(scope_of("ns:*:r"), "ns:sales:r ns:ops:r");
  EXPECT_EQ(scope_of("ns:ops:w"), kInvalidScope);
  EXPECT_EQ(scope_of("ns:secret:r"), kInvalidScope);
  EXPECT_EQ(scope_of("ns:sales:x"), kInvalidScope);
  EXPECT_EQ(scope_of("catalog ns:sales:r"), kInvalidScope);
  EXPECT_EQ(scope_of("email"), kInvalidScope);
}

TEST_F(TokenGrantsTest, nobody_learns_which_half_was_wrong) {
  auto unknown = grant("nobody", "s3cr3t");
  auto wrong = grant("etl", "wrong");
  auto empty = grant("etl", "");
  auto nameless = grant("", "");
  auto nobodys = grant("nobody", "nobody's");
  auto anothers = grant("etl", "top");
  for (const auto* refused : {&unknown, &wrong, &empty, &nameless, &nobodys, &anothers}) {
    ASSERT_FALSE(*refused);
    EXPECT_EQ(refused->error().kind(), base::ErrorKind::kUnauthenticated);
    EXPECT_EQ(refused->error().reason(), kInvalidClient);
    EXPECT_EQ(refused->error().message(), unknown.error().message());
  }
}

TEST_F(TokenGrantsTest, other_grants_are_refused) {
  for (const char* type : {"password", "refresh_token", "", "Client_Credentials"}) {
    auto refused = grant("etl", "s3cr3t", "", type);
    ASSERT_FALSE(refused) << type;
    EXPECT_EQ(refused.error().reason(), kUnsupportedGrant);
  }
}

TEST_F(TokenGrantsTest, a_secret_may_be_kept_as_a_hash) {
  EXPECT_TRUE(grant("hashed", "open sesame"));
  auto refused = grant("hashed", "open sesam");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), kInvalidClient);
  EXPECT_FALSE(grant("hashed", "$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW"))
      << "the hash is no secret";
}

TEST_F(TokenGrantsTest, a_secret_that_was_not_encoded_is_taken_as_it_stood) {
  TokenRequest request{.grant_type = "client_credentials"};
  request.client = {
      .id = "etl", .secret = base::Secret("decoded"), .undecoded = base::Secret("s3cr3t")};
  EXPECT_TRUE(wait(grants_.grant({}, request)));
  request.client.undecoded = base::Secret("other");
  EXPECT_FALSE(wait(grants_.grant({}, request)));
}

constexpr const char* kExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* kAccessToken = "urn:ietf:params:oauth:token-type:access_token";

class RenewalTest : public TokenGrantsTest {
 protected:
  base::Result<IssuedToken> renew(const std::string& token, std::string scope = {},
                                  std::string type = kAccessToken) {
    return wait(grants_.grant({}, {.grant_type = kExchange,
                                   .scope = std::move(scope),
                                   .subject_token = base::Secret(token),
                                   .subject_token_type = std::move(type)}));
  }
  std::string_view refusal(const std::string& token, const std::string& type = kAccessToken) {
    auto renewed = renew(token, "", type);
    return renewed ? "renewed" : renewed.error().reason();
  }
};

TEST_F(RenewalTest, a_token_is_renewed_with_no_more_than_it_allows) {
  const std::string narrow = grant("etl", "s3cr3t", "ns:sales:r")->value.reveal();
  EXPECT_EQ(renew(narrow)->scopes.text(), "ns:sales:r");
  EXPECT_EQ(renew(narrow, "catalog")->scopes.text(), "ns:sales:r");
  EXPECT_EQ(renew(narrow, "*")->scopes.text(), "ns:sales:r");
  EXPECT_EQ(renew(narrow, "ns:sales:rw")->scopes.text(), "ns:sales:r");
  auto more = renew(narrow, "ns:ops:r");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().reason(), kInvalidScope);
  auto renewed = renew(narrow);
  EXPECT_EQ(renewed->client, "etl");
  EXPECT_TRUE(tokens_.verify(renewed->value.reveal()));
}

TEST_F(RenewalTest, ends_a_bounded_time_after_the_secret_was_shown) {
  std::string token = grant("etl", "s3cr3t")->value.reveal();
  for (int i = 0; i < 24; ++i) {
    auto renewed = renew(token);
    ASSERT_TRUE(renewed) << i;
    token = renewed->value.reveal();
    clock_.pass(std::chrono::minutes(60));
  }
  EXPECT_EQ(refusal(token), "renewed") << "at the end of the day";
  clock_.pass(std::chrono::seconds(1));
  EXPECT_EQ(refusal(token), kInvalidGrant);
  EXPECT_TRUE(tokens_.verify(token)) << "it is good all the same, until it ends";
}

TEST_F(RenewalTest, what_is_no_good_token_is_not_renewed) {
  const std::string good = grant("etl", "s3cr3t")->value.reveal();
  EXPECT_EQ(refusal(good), "renewed");
  EXPECT_EQ(refusal(good, ""), kInvalidGrant);
  EXPECT_EQ(refusal(good, "urn:ietf:params:oauth:token-type:id_token"), kInvalidGrant);
  EXPECT_EQ(refusal(""), kInvalidGrant);
  EXPECT_EQ(refusal(good + "x"), kInvalidGrant);
  EXPECT_EQ(refusal(forge(kHeader, claims())), kInvalidGrant) << "nobody knows since when";
  clock_.pass(std::chrono::seconds(3630));
  EXPECT_EQ(refusal(good), kInvalidGrant);
}

TEST_F(RenewalTest, a_client_with_its_secret_needs_no_token_that_is_good) {
  TokenRequest request{.grant_type = kExchange, .subject_token = base::Secret("expired")};
  request.client.id = "etl";
  request.client.secret = base::Secret("s3cr3t");
  EXPECT_TRUE(wait(grants_.grant({}, request)));
  request.client.secret = base::Secret("wrong");
  auto refused = wait(grants_.grant({}, request));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason(), kInvalidClient);
}

TEST_F(TokenGrantsTest, each_token_has_a_name_of_its_own) {
  EXPECT_NE(grant("etl", "s3cr3t")->id, grant("etl", "s3cr3t")->id);
}

class AuthenticatorTest : public TokenGrantsTest {
 protected:
  base::Result<Principal> ask(const std::string& token) {
    base::http::Headers headers;
    headers.add("Authorization", "Bearer " + token);
    return wait(authenticator_.authenticate({}, &headers));
  }
  Authenticator authenticator_{&tokens_, nullptr, clock_};
};

TEST_F(AuthenticatorTest, a_token_is_known_again_until_it_ends) {
  const std::string token = grant("etl", "s3cr3t")->value.reveal();
  for (int i = 0; i < 3; ++i) {
    auto who = ask(token);
    ASSERT_TRUE(who);
    EXPECT_EQ(who->subject, "etl");
    EXPECT_EQ(who->account, "acme");
  }
  clock_.pass(std::chrono::seconds(3630));
  auto refused = ask(token);
  ASSERT_FALSE(refused) << "not for ever because it was known once";
  EXPECT_EQ(refused.error().message(), "The token has expired.");
}

TEST_F(AuthenticatorTest, what_is_wrong_with_a_token_is_for_the_log) {
  auto refused = ask(forge(kHeader, claims("iss", R"("another")")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "The token is not valid.");
  EXPECT_TRUE(refused.error().detail().starts_with("issuer"));
  auto huge = ask(std::string(9000, 'a'));
  ASSERT_FALSE(huge);
  auto none = wait(authenticator_.authenticate({}, std::make_unique<base::http::Headers>().get()));
  ASSERT_FALSE(none);
}

TEST(TokenCache, holds_no_more_than_it_may_and_the_newest) {
  TokenCache cache(2);
  const base::WallTime now{std::chrono::seconds(kNow)};
  auto hash = [](const char* text) { return base::crypto::sha256(text); };
  auto put = [&](const char* text, int seconds) {
    cache.put(hash(text), {Principal{.subject = text}, now + std::chrono::seconds(seconds)});
  };
  put("a", 10);
  put("b", 5);
  EXPECT_NE(cache.find(hash("a"), now), nullptr);
  put("c", 10);
  EXPECT_EQ(cache.size(), 2U);
  EXPECT_EQ(cache.find(hash("b"), now), nullptr) << "used longest ago";
  ASSERT_NE(cache.find(hash("a"), now), nullptr);
  EXPECT_EQ(cache.find(hash("a"), now)->subject, "a");
  EXPECT_EQ(cache.find(hash("a"), now + std::chrono::seconds(10)), nullptr);
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace lake::auth
