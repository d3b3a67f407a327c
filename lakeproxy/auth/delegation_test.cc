// A client that acts for somebody else: the token exchange with an actor.

#include <gtest/gtest.h>

#include "lakeproxy/auth/authenticator.h"
#include "lakeproxy/auth/fixture_test.h"
#include "lakeproxy/auth/token_grants.h"

namespace lake::auth {
namespace {

using namespace testing;

constexpr const char* kExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* kAccessToken = "urn:ietf:params:oauth:token-type:access_token";
constexpr const char* kProvider = "https://id.example";

constexpr const char* kClients = R"([
  {"id": "dana",  "secret": "d", "scope": "ns:sales:rw ns:hr:r", "roles": "analyst boss", "account": "acme"},
  {"id": "root",  "secret": "r", "scope": "*"},
  {"id": "agent", "secret": "a", "scope": "ns:sales:r ns:ops:rw", "roles": "analyst", "account": "acme",
   "may_act_for": ["dana", "root"]},
  {"id": "bot",   "secret": "b", "scope": "ns:*:r", "account": "acme", "may_act_for": "*"},
  {"id": "bot2",  "secret": "b", "scope": "ns:*:r", "may_act_for": "*"},
  {"id": "bot3",  "secret": "b", "scope": "ns:*:r", "account": "acme", "may_act_for": "*"},
  {"id": "bot4",  "secret": "b", "scope": "ns:*:r", "account": "acme", "may_act_for": "*"},
  {"id": "other", "secret": "o", "scope": "*"}])";

Clients clients() {
  Clients made;
  if (!made.add_json(kClients)) std::abort();
  return made;
}

class DelegationTest : public ::testing::Test {
 protected:
  std::string token(const std::string& id, std::string scope = {}) {
    TokenRequest request{.grant_type = "client_credentials", .scope = std::move(scope)};
    request.client.id = id;
    request.client.secret = base::Secret(id.substr(0, 1));
    return wait(grants_.grant({}, std::move(request)))->value.reveal();
  }
  TokenRequest request(const std::string& subject, const std::string& actor,
                       std::string scope = {}) {
    return {.grant_type = kExchange,
            .scope = std::move(scope),
            .subject_token = base::Secret(subject),
            .subject_token_type = kAccessToken,
            .actor_token = base::Secret(actor),
            .actor_token_type = kAccessToken};
  }
  base::Result<IssuedToken> exchange(const std::string& subject, const std::string& actor,
                                     std::string scope = {}) {
    return wait(
        grants_.grant({}, request(subject, actor, std::move(scope)), verify_ ? &verify_ : nullptr));
  }
  Principal principal(const IssuedToken& issued) {
    auto verified = tokens_.verify(issued.value.reveal());
    EXPECT_TRUE(verified) << verified.error().detail();
    return verified->principal;
  }
  static base::Task<base::Result<Verified>> answered(base::Result<Verified> answer) {
    co_return answer;
  }
  std::string_view refusal(const std::string& subject, const std::string& actor) {
    auto issued = exchange(subject, actor);
    return issued ? "issued" : issued.error().reason();
  }

  StandingClock clock_;
  Clients clients_ = clients();
  AccessTokens tokens_ = tokens_of(options(), clients_, clock_);
  TokenGrants grants_{clients_, tokens_, std::chrono::hours(24)};
  VerifyToken verify_;
};

TEST_F(DelegationTest, the_token_says_who_it_is_and_who_acts_and_allows_what_both_may) {
  auto issued = exchange(token("dana"), token("agent"));
  ASSERT_TRUE(issued) << issued.error().message();
  EXPECT_EQ(issued->scopes.text(), "ns:sales:r");
  EXPECT_EQ(issued->client, "agent");
  const Principal who = principal(*issued);
  EXPECT_EQ(who.subject, "dana");
  EXPECT_EQ(who.actor, "agent");
  EXPECT_EQ(who.issuer, "lakeproxy");
  EXPECT_EQ(who.account, "acme");
  EXPECT_EQ(who.grants->scopes.text(), "ns:sales:r");
  EXPECT_EQ(who.grants->roles, std::vector<std::string>{"analyst"});
}

TEST_F(DelegationTest, attack_an_actor_that_may_not_act_for_the_subject) {
  EXPECT_EQ(refusal(token("dana"), token("other")), kInvalidGrant);
  EXPECT_EQ(refusal(token("dana"), token("dana")), kInvalidGrant);
  EXPECT_EQ(refusal(token("other"), token("agent")), kInvalidGrant);
  EXPECT_EQ(refusal(token("bot"), token("bot")), kInvalidGrant) << "nobody acts for itself";
}

TEST_F(DelegationTest, attack_a_wider_scope) {
  auto wide = exchange(token("root"), token("agent"), "*");
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->scopes.text(), "ns:sales:r ns:ops:rw")
      << "what the administrator's agent has itself";
  EXPECT_FALSE(principal(*wide).superuser);
  auto narrow = exchange(token("dana", "ns:hr:r"), token("agent"));
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().reason(), kInvalidScope) << "nothing in common";
  auto other = exchange(token("dana"), token("agent"), "ns:hr:r");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().reason(), kInvalidScope);
  EXPECT_EQ(exchange(token("dana"), token("agent", "ns:sales:r"), "ns:sales:rw")->scopes.text(),
            "ns:sales:r");
}

TEST_F(DelegationTest, attack_an_account_that_one_of_the_two_does_not_reach) {
  auto across = exchange(token("dana"), token("bot2"));
  ASSERT_TRUE(across);
  EXPECT_EQ(principal(*across).account, std::nullopt);
  EXPECT_EQ(principal(*exchange(token("root"), token("bot"))).account, "acme");
}

TEST_F(DelegationTest, it_ends_with_the_subjects_token_and_is_not_renewed) {
  const std::string subject = token("dana");
  clock_.pass(std::chrono::minutes(50));
  auto issued = exchange(subject, token("agent"));
  ASSERT_TRUE(issued);
  TokenRequest again{
      .grant_type = kExchange, .subject_token = issued->value, .subject_token_type = kAccessToken};
  auto renewed = wait(grants_.grant({}, std::move(again)));
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().reason(), kInvalidGrant);
  clock_.pass(std::chrono::minutes(9));
  EXPECT_TRUE(tokens_.verify(issued->value.reveal()));
  clock_.pass(std::chrono::minutes(2));
  EXPECT_FALSE(tokens_.verify(issued->value.reveal()));
}

TEST_F(DelegationTest, a_chain_is_bounded_and_none_acts_twice) {
  auto first = exchange(token("dana"), token("bot"));
  auto second = exchange(first->value.reveal(), token("bot3"));
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(principal(*second).actor, "bot3, bot");
  EXPECT_EQ(refusal(second->value.reveal(), token("bot")), kInvalidGrant) << "acts already";
  auto third = exchange(second->value.reveal(), token("bot4"));
  ASSERT_TRUE(third);
  EXPECT_EQ(principal(*third).actor, "bot4, bot3, bot");
  EXPECT_EQ(refusal(third->value.reveal(), token("bot2")), kInvalidGrant) << "four";
  EXPECT_EQ(refusal(token("root"), first->value.reveal()), kInvalidGrant) << "acts as itself alone";
}

TEST_F(DelegationTest, both_tokens_must_be_good) {
  EXPECT_EQ(refusal("x", token("agent")), kInvalidGrant);
  EXPECT_EQ(refusal(token("dana"), "x"), kInvalidGrant);
  const std::string old = token("dana");
  clock_.pass(std::chrono::minutes(61));
  EXPECT_EQ(refusal(old, token("agent")), kInvalidGrant);
  TokenRequest wrong = request(token("dana"), token("agent"));
  wrong.actor_token_type = "urn:ietf:params:oauth:token-type:saml2";
  EXPECT_FALSE(wait(grants_.grant({}, std::move(wrong))));
}

TEST_F(DelegationTest, a_client_that_shows_its_secret_acts_as_itself_alone) {
  TokenRequest asked = request(token("dana"), token("agent"));
  asked.client = {.id = "agent", .secret = base::Secret("a")};
  EXPECT_EQ(wait(grants_.grant({}, asked))->principal.subject, "dana");
  asked.client = {.id = "other", .secret = base::Secret("o")};
  EXPECT_EQ(wait(grants_.grant({}, asked)).error().reason(), kInvalidGrant);
  asked.client = {.id = "agent", .secret = base::Secret("wrong")};
  EXPECT_EQ(wait(grants_.grant({}, asked)).error().reason(), kInvalidClient);
}

TEST_F(DelegationTest, a_user_of_the_provider_is_acted_for_by_who_may_act_for_everybody) {
  Verified user{.principal = {.subject = "dana", .issuer = kProvider},
                .until = clock_.now() + std::chrono::seconds(60),
                .ends = clock_.now() + std::chrono::seconds(300)};
  user.principal.grants = std::make_shared<const Grants>(
      Grants{Scopes::parse("ns:sales:r", OtherWords::kRefused).value(), {}});
  verify_ = [&](base::RequestContext, std::string text) {
    return answered(text == "of the provider" ? base::Result<Verified>(user)
                                              : tokens_.verify(text));
  };
  EXPECT_EQ(refusal("of the provider", token("agent")), kInvalidGrant)
      << "it may act for the client of that name";
  auto issued = exchange("of the provider", token("bot"));
  ASSERT_TRUE(issued) << issued.error().message();
  const Principal who = principal(*issued);
  EXPECT_EQ(who.issuer, kProvider);
  EXPECT_EQ(who.subject, "dana");
  EXPECT_EQ(who.actor, "bot");
  clock_.pass(std::chrono::seconds(331));
  EXPECT_FALSE(tokens_.verify(issued->value.reveal())) << "ends with the provider's token";
  user.actors = {"bot"};
  user.ends = clock_.now() + std::chrono::seconds(300);
  EXPECT_EQ(refusal("of the provider", token("bot3")), kInvalidGrant);
}

TEST_F(DelegationTest, it_is_held_against_the_clients_as_they_are_now) {
  const std::string issued = exchange(token("dana"), token("agent"))->value.reveal();
  auto verified_with = [&](const char* json) {
    Clients now;
    EXPECT_TRUE(now.add_json(json));
    return tokens_of(options(), now, clock_).verify(issued).has_value();
  };
  EXPECT_TRUE(verified_with(kClients));
  const std::string dana =
      R"({"id":"dana","secret":"d","scope":"ns:sales:rw","roles":"analyst","account":"acme"})";
  auto with_agent = [&](const std::string& agent) {
    return verified_with(('[' + dana + ',' + agent + ']').c_str());
  };
  EXPECT_TRUE(with_agent(
      R"({"id":"agent","secret":"a","scope":"ns:sales:r","roles":"analyst","account":"acme","may_act_for":"dana"})"));
  EXPECT_FALSE(with_agent(
      R"({"id":"agent","secret":"a","scope":"ns:sales:r","roles":"analyst","account":"acme"})"));
  EXPECT_FALSE(with_agent(
      R"({"id":"agent","secret":"a","scope":"ns:ops:r","roles":"analyst","account":"acme","may_act_for":"dana"})"));
  EXPECT_FALSE(with_agent(
      R"({"id":"agent","secret":"a","scope":"ns:sales:r","account":"acme","may_act_for":"dana"})"));
  EXPECT_FALSE(with_agent(
      R"({"id":"agent","secret":"a","scope":"ns:sales:r","roles":"analyst","account":"b","may_act_for":"dana"})"));
  EXPECT_FALSE(with_agent(R"({"id":"x","secret":"a","scope":"ns:sales:r","may_act_for":"dana"})"));
}

TEST_F(DelegationTest, attack_an_act_of_another_shape) {
  auto verified = [&](std::string_view act) {
    return tokens_.verify(forge(kHeader, claims("act", act))).has_value();
  };
  for (const char* act :
       {"1", "\"agent\"", "{}", R"({"sub":1})", R"({"sub":""})", R"({"sub":"agent","act":null})",
        R"({"sub":"a","act":{"sub":"b","act":{"sub":"c","act":{"sub":"d"}}}})",
        R"({"sub":"nobody"})"}) {
    EXPECT_FALSE(verified(act)) << act;
  }
}

}  // namespace
}  // namespace lake::auth
