// What a service states of whom it asks for, and each way to misuse it.

#include "lakeproxy/auth/subject_statements.h"

#include <gtest/gtest.h>

#include "base/jose/jwt.h"
#include "lakeproxy/auth/fixture_test.h"
#include "lakeproxy/auth/token_claims.h"
#include "lakeproxy/auth/token_grants.h"

namespace lake::auth {
namespace {

using namespace testing;
using base::crypto::KeyType;
using base::crypto::SigningKey;
using base::jose::Algorithm;
using base::jose::Signer;

constexpr const char* kExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr const char* kAccessToken = "urn:ietf:params:oauth:token-type:access_token";
constexpr const char* kProvider = "https://id.example";
constexpr const char* kJwt = "urn:ietf:params:oauth:token-type:jwt";

std::string quoted(const std::string& text) { return base::json::write(base::json::Value(text)); }

class SubjectStatement : public ::testing::Test {
 protected:
  SubjectStatement() {
    const std::string key = quoted(key_.verify_key().to_pem());
    const std::string other = quoted(other_.verify_key().to_pem());
    const std::string text =
        R"([
      {"id": "dana", "secret": "d", "scope": "ns:sales:rw ns:hr:r", "roles": "analyst boss"},
      {"id": "boss", "secret": "b", "scope": "*"},
      {"id": "agents", "secret": "a", "scope": "ns:sales:r", "roles": "analyst", "may_act_for": ["dana"],
       "statement_keys": [)" +
        other + "," + key + R"(]},
      {"id": "others", "secret": "o", "scope": "ns:*:r", "may_act_for": "*", "statement_keys": [)" +
        other + R"(]},
      {"id": "keyless", "secret": "k", "scope": "ns:*:r", "may_act_for": "*"},
      {"id": "front", "secret": "f", "scope": "ns:sales:rw ns:ops:r", "roles": "analyst boss", "account": "acme",
       "statement_keys": [)" +
        key +
        R"(], "users": {"names": ["ada", "boss"], "scope": "ns:sales:r ns:hr:r", "roles": ["analyst"]}},
      {"id": "gate", "secret": "g", "scope": "ns:sales:r", "statement_keys": [)" +
        key + R"(], "users": {"names": "*", "scope": ["ns:sales:r"]}}])";
    if (!clients_.add_json(text)) std::abort();
    tokens_.emplace(tokens_of(options(), clients_, clock_));
    grants_.emplace(clients_, *tokens_, std::chrono::hours(24), kProvider);
  }

  std::string token(const std::string& id) {
    TokenRequest request{.grant_type = "client_credentials", .scope = {}};
    request.client = {.id = id, .secret = base::Secret(id.substr(0, 1))};
    return wait(grants_->grant({}, std::move(request)))->value.reveal();
  }
  // One that passes, with a member replaced.
  base::json::Object claims(std::string_view member = {}, base::json::Value value = nullptr) {
    const std::int64_t now = base::jose::numeric_date(clock_.now());
    base::json::Object made{{"iss", "agents"},  {"aud", "lakeproxy"},
                            {"sub", "dana"},    {"iat", now},
                            {"exp", now + 120}, {"jti", std::to_string(++statements_)}};
    if (!member.empty()) made[member] = std::move(value);
    return made;
  }
  std::string stated(const base::json::Object& claims, std::string_view type = kStatementType) {
    return sign(Signer::with_key(Algorithm::kEdDsa, key_).value(), type, claims).value();
  }
  base::Result<IssuedToken> exchange(const std::string& statement, const std::string& actor,
                                     const char* type = kJwt) {
    return wait(grants_->grant({}, {.grant_type = kExchange,
                                    .scope = {},
                                    .client = {},
                                    .subject_token = base::Secret(statement),
                                    .subject_token_type = type,
                                    .actor_token = base::Secret(token(actor)),
                                    .actor_token_type = kAccessToken}));
  }
  std::string_view verdict(const base::json::Object& claims, const std::string& actor = "agents") {
    auto issued = exchange(stated(claims), actor);
    return issued ? "issued" : issued.error().reason();
  }

  const SigningKey key_ = SigningKey::generate(KeyType::kEd25519);
  const SigningKey other_ = SigningKey::generate(KeyType::kEd25519);
  int statements_ = 0;
  StandingClock clock_;
  Clients clients_;
  std::optional<AccessTokens> tokens_;
  std::optional<TokenGrants> grants_;
};

TEST_F(SubjectStatement, gets_a_token_for_what_both_may_that_ends_with_it) {
  auto issued = exchange(stated(claims()), "agents");
  ASSERT_TRUE(issued) << issued.error().message();
  EXPECT_EQ(grants_->time_left(*issued), std::chrono::seconds(120));
  auto who = tokens_->verify(issued->value.reveal());
  ASSERT_TRUE(who);
  EXPECT_EQ(who->principal.subject, "dana");
  EXPECT_EQ(who->principal.actor, "agents");
  EXPECT_EQ(who->principal.grants->scopes.text(), "ns:sales:r");
  EXPECT_EQ(who->principal.grants->roles, std::vector<std::string>{"analyst"});
  clock_.pass(std::chrono::seconds(151));
  EXPECT_FALSE(tokens_->verify(issued->value.reveal()));
}

TEST_F(SubjectStatement, attack_the_same_once_more) {
  const std::string once = stated(claims("jti", "once"));
  ASSERT_TRUE(exchange(once, "agents"));
  EXPECT_EQ(exchange(once, "agents").error().reason(), kInvalidGrant);
  EXPECT_EQ(verdict(claims("jti", "once")), kInvalidGrant) << "signed anew under the same jti";
  EXPECT_EQ(verdict(claims("jti", "2")), "issued");
}

TEST_F(SubjectStatement, attack_each_claim) {
  const std::int64_t now = base::jose::numeric_date(clock_.now());
  EXPECT_EQ(verdict(claims("aud", "another-lake")), kInvalidGrant);
  EXPECT_EQ(verdict(claims("iss", "others")), kInvalidGrant);
  EXPECT_EQ(verdict(claims("sub", "boss")), kInvalidGrant) << "not in may_act_for";
  EXPECT_EQ(verdict(claims("sub", "nobody")), kInvalidGrant);
  EXPECT_EQ(verdict(claims("sub", "agents")), kInvalidGrant) << "nobody acts for itself";
  EXPECT_EQ(verdict(claims("exp", now - 31)), kInvalidGrant);
  EXPECT_EQ(verdict(claims("exp", now + 301)), kInvalidGrant) << "too long";
  EXPECT_EQ(verdict(claims("iat", now + 31)), kInvalidGrant);
  for (const char* absent : {"sub", "aud", "iss", "iat", "exp", "jti"}) {
    base::json::Object without = claims();
    without.erase(absent);
    EXPECT_EQ(verdict(without), kInvalidGrant) << absent;
  }
  EXPECT_EQ(verdict(claims("jti", base::json::Value(std::string(129, 'x')))), kInvalidGrant);
  EXPECT_EQ(verdict(claims()), "issued") << "the one beside them";
}

TEST_F(SubjectStatement, attack_another_key_type_or_service) {
  const SigningKey stranger = SigningKey::generate(KeyType::kEd25519);
  const auto forged =
      sign(Signer::with_key(Algorithm::kEdDsa, stranger).value(), kStatementType, claims()).value();
  EXPECT_EQ(exchange(forged, "agents").error().reason(), kInvalidGrant);
  EXPECT_EQ(exchange(stated(claims(), "at+jwt"), "agents").error().reason(), kInvalidGrant);
  EXPECT_EQ(exchange(stated(claims()), "agents", kAccessToken).error().reason(), kInvalidGrant)
      << "a statement is no token";
  EXPECT_EQ(exchange(token("dana"), "agents", kJwt).error().reason(), kInvalidGrant)
      << "a token is no statement";
  EXPECT_EQ(exchange(stated(claims()), "others").error().reason(), kInvalidGrant)
      << "stolen by another service";
  EXPECT_EQ(exchange(stated(claims("iss", "keyless")), "keyless").error().reason(), kInvalidGrant);
  EXPECT_TRUE(exchange(stated(claims()), "agents")) << "by the second of its keys";
}

// A statement about a user of the provider, by a service that may make such.
TEST_F(SubjectStatement, of_a_user_of_the_provider_gives_what_its_service_says_of_users) {
  base::json::Object said = claims("sub", "ada");
  said["iss"] = "front";
  said["sub_iss"] = kProvider;
  auto issued = exchange(stated(said), "front");
  ASSERT_TRUE(issued) << issued.error().message();
  auto who = tokens_->verify(issued->value.reveal());
  ASSERT_TRUE(who) << who.error().detail();
  EXPECT_EQ(who->principal.subject, "ada");
  EXPECT_EQ(who->principal.issuer, kProvider);
  EXPECT_EQ(who->principal.actor, "front");
  EXPECT_EQ(who->principal.account, "acme");
  EXPECT_FALSE(who->principal.superuser);
  EXPECT_EQ(who->principal.grants->scopes.text(), "ns:sales:r") << "of both";
  EXPECT_EQ(who->principal.grants->roles, std::vector<std::string>{"analyst"});
}

TEST_F(SubjectStatement, attack_a_user_whom_the_lake_does_not_let_it_state) {
  const auto verdict_of = [&](const char* service, base::json::Value sub,
                              base::json::Value issuer) {
    base::json::Object said = claims("sub", std::move(sub));
    said["iss"] = service;
    if (!issuer.is_null()) said["sub_iss"] = std::move(issuer);
    return verdict(said, service);
  };
  EXPECT_EQ(verdict_of("front", "ada", kProvider), "issued") << "the one beside them";
  EXPECT_EQ(verdict_of("front", "eve", kProvider), kInvalidGrant) << "not one of its users";
  EXPECT_EQ(verdict_of("front", "*", kProvider), kInvalidGrant) << "is no name";
  EXPECT_EQ(verdict_of("gate", "eve", kProvider), "issued") << "each of them is";
  EXPECT_EQ(verdict_of("gate", "eve, gate", kProvider), kInvalidGrant) << "a chain of actors";
  EXPECT_EQ(verdict_of("gate", "eve\n", kProvider), kInvalidGrant);
  EXPECT_EQ(verdict_of("gate", base::json::Value(std::string(256, 'x')), kProvider), kInvalidGrant);
  EXPECT_EQ(verdict_of("agents", "ada", kProvider), kInvalidGrant) << "has no users";
  EXPECT_EQ(verdict_of("agents", "dana", kProvider), kInvalidGrant) << "a client of the same name";
  EXPECT_EQ(verdict_of("others", "ada", kProvider), kInvalidGrant)
      << "\"*\" of clients says nothing";
  EXPECT_EQ(verdict_of("front", "ada", "https://other.example"), kInvalidGrant);
  EXPECT_EQ(verdict_of("front", "ada", "lakeproxy"), kInvalidGrant);
  EXPECT_EQ(verdict_of("front", "ada", ""), kInvalidGrant);
  EXPECT_EQ(verdict_of("front", "ada", 1), kInvalidGrant);
  EXPECT_EQ(verdict_of("front", "ada", nullptr), kInvalidGrant) << "is no client";
  EXPECT_EQ(verdict_of("front", "boss", nullptr), kInvalidGrant) << "the client of a user's name";
  TokenGrants without(clients_, *tokens_, std::chrono::hours(24));
  base::json::Object said = claims("sub", "ada");
  said["iss"] = "front";
  said["sub_iss"] = "";
  EXPECT_FALSE(wait(without.grant({}, {.grant_type = kExchange,
                                       .scope = {},
                                       .client = {},
                                       .subject_token = base::Secret(stated(said)),
                                       .subject_token_type = kJwt,
                                       .actor_token = base::Secret(token("front")),
                                       .actor_token_type = kAccessToken})))
      << "a lake without a provider";
}

TEST_F(SubjectStatement, attack_without_the_services_own_token) {
  TokenRequest alone{.grant_type = kExchange,
                     .scope = {},
                     .client = {},
                     .subject_token = base::Secret(stated(claims())),
                     .subject_token_type = kJwt};
  EXPECT_EQ(wait(grants_->grant({}, std::move(alone))).error().reason(), kInvalidGrant);
}

TEST(StatementKeys, are_public_keys_in_pem) {
  const auto with = [](const std::string& keys) {
    Clients clients;
    return clients
        .add_json(R"([{"id": "a", "secret": "s", "scope": "ns:a:r", "statement_keys": )" + keys +
                  "}]")
        .has_value();
  };
  const SigningKey key = SigningKey::generate(KeyType::kEd25519);
  const std::string good = quoted(key.verify_key().to_pem());
  EXPECT_TRUE(with("[" + good + "]"));
  EXPECT_TRUE(with("[]"));
  EXPECT_FALSE(with(good));
  EXPECT_FALSE(with(R"(["x"])"));
  EXPECT_FALSE(with("[" + quoted(std::string(key.to_pem().reveal())) + "]")) << "a private key";
  EXPECT_FALSE(with("[" + good + "," + good + "," + good + "," + good + "," + good + "]"));
}

TEST(StatedUsersOf, a_client_are_named_and_bounded) {
  const SigningKey key = SigningKey::generate(KeyType::kEd25519);
  const auto with = [&](const std::string& users, bool with_key = true) {
    Clients clients;
    return clients
        .add_json(
            R"([{"id": "a", "secret": "s", "scope": "ns:a:r", "users": )" + users +
            (with_key ? R"(, "statement_keys": [)" + quoted(key.verify_key().to_pem()) + "]" : "") +
            "}]")
        .has_value();
  };
  EXPECT_TRUE(with(R"({"names": "*", "scope": "ns:a:r"})"));
  EXPECT_TRUE(with(R"({"names": ["ada", "auth0|1"], "scope": ["ns:a:r"], "roles": "x y"})"));
  EXPECT_FALSE(with(R"({"names": "*", "scope": "ns:a:r"})", false)) << "no key to state with";
  EXPECT_FALSE(with(R"({"names": "*"})"));
  EXPECT_FALSE(with(R"({"scope": "ns:a:r"})"));
  EXPECT_FALSE(with(R"({"names": [], "scope": "ns:a:r"})"));
  EXPECT_FALSE(with(R"({"names": "*", "scope": "*"})")) << "the administrator";
  EXPECT_FALSE(with(R"({"names": ["a, b"], "scope": "ns:a:r"})"));
  EXPECT_FALSE(with(R"({"names": "*", "scope": "ns:a:r", "account": "acme"})"))
      << "is the client's";
  EXPECT_FALSE(with(R"("*")"));
}

TEST(ClientNames, part_a_chain_of_actors) {
  EXPECT_EQ(names_of({.subject = "dana", .actor = "bot, other"}),
            (std::vector<std::string>{"dana", "bot", "other"}));
  EXPECT_EQ(names_of({.subject = "dana"}), std::vector<std::string>{"dana"});
  Clients clients;
  EXPECT_FALSE(clients.add_json(R"([{"id": "a, b", "secret": "s", "scope": "ns:a:r"}])"));
  EXPECT_TRUE(clients.add_json(R"([{"id": "a,b", "secret": "s", "scope": "ns:a:r"}])"));
}

}  // namespace
}  // namespace lake::auth
