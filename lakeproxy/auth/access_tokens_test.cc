#include "lakeproxy/auth/access_tokens.h"

#include <gtest/gtest.h>

#include "base/crypto/signing_key.h"
#include "lakeproxy/auth/fixture_test.h"

namespace lake::auth {
namespace {

using namespace testing;
namespace reason = base::jose::reason;

class AccessTokensTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string issue(const char* id) const {
    const Client* client = clients_.find(id);
    return tokens_.issue(*client, client->scopes, clock_.now())->value.reveal();
  }
  [[nodiscard]] std::string_view refusal(std::string_view token) const {
    auto verified = tokens_.verify(token);
    if (verified) return "taken";
    EXPECT_EQ(verified.error().kind(), base::ErrorKind::kUnauthenticated);
    EXPECT_FALSE(verified.error().message().contains(token)) << "shown";
    return verified.error().reason();
  }
  [[nodiscard]] std::string_view with(std::string_view member, std::string_view json) const {
    return refusal(forge(kHeader, claims(member, json)));
  }

  StandingClock clock_;
  Clients clients_ = clients_of(kEntries);
  AccessTokens tokens_ = tokens_of(options(), clients_, clock_);
};

TEST_F(AccessTokensTest, say_who_it_is_and_what_it_may_do) {
  auto etl = tokens_.verify(issue("etl"));
  ASSERT_TRUE(etl) << etl.error().message();
  EXPECT_EQ(etl->principal.subject, "etl");
  EXPECT_EQ(etl->principal.issuer, "lakeproxy");
  EXPECT_EQ(etl->principal.account, "acme");
  EXPECT_FALSE(etl->principal.superuser);
  EXPECT_EQ(etl->principal.grants->scopes.text(), "ns:sales:rw ns:ops:r");
  EXPECT_EQ(etl->principal.grants->roles, std::vector<std::string>{"loader"});
  auto admin = tokens_.verify(issue("admin"));
  ASSERT_TRUE(admin);
  EXPECT_TRUE(admin->principal.superuser);
  EXPECT_FALSE(admin->principal.account);
}

TEST_F(AccessTokensTest, a_forged_token_with_the_right_secret_passes) {
  // What the attacks below change one thing of.
  EXPECT_EQ(refusal(forge(kHeader, claims())), "taken");
}

TEST_F(AccessTokensTest, attack_alg_none) {
  for (const char* alg : {"none", "None", "NONE", ""}) {
    const std::string header = std::string(R"({"typ":"at+jwt","alg":")") + alg + "\"}";
    EXPECT_EQ(refusal(forge(header, claims())), reason::kAlgorithm) << alg;
    const std::string unsigned_token =
        base::crypto::to_base64url(header) + '.' + base::crypto::to_base64url(claims()) + '.';
    EXPECT_EQ(refusal(unsigned_token), reason::kMalformed);
  }
  EXPECT_EQ(refusal(forge(R"({"typ":"at+jwt"})", claims())), reason::kAlgorithm);
}

TEST_F(AccessTokensTest, attack_another_algorithm) {
  for (const char* alg : {"RS256", "ES256", "PS256", "HS384", "HS512", "hs256", "EdDSA"}) {
    const std::string header = std::string(R"({"typ":"at+jwt","alg":")") + alg + "\"}";
    EXPECT_EQ(refusal(forge(header, claims())), reason::kAlgorithm) << alg;
  }
}

TEST_F(AccessTokensTest, attack_a_key_that_the_token_brings_along) {
  for (const char* more : {R"("jwk":{"kty":"oct","k":"AA"})", R"("jku":"https://evil.example")",
                           R"("x5u":"https://evil.example")", R"("crit":["exp"])"}) {
    const std::string header = std::string(R"({"typ":"at+jwt","alg":"HS256",)") + more + "}";
    EXPECT_EQ(refusal(forge(header, claims())), reason::kHeader) << more;
  }
}

TEST_F(AccessTokensTest, attack_wrong_signature) {
  EXPECT_EQ(refusal(forge(kHeader, claims(), kOtherSecret)), reason::kSignature);
  EXPECT_EQ(refusal(forge(kHeader, claims(), "")), reason::kSignature);
  const std::string good = issue("etl");
  for (std::size_t i = good.find('.') + 1; i < good.size(); i += 7) {
    std::string changed = good;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(refusal(changed), "taken") << i;
  }
}

TEST_F(AccessTokensTest, attack_wrong_issuer) {
  EXPECT_EQ(with("iss", R"("lakeproxy2")"), reason::kIssuer);
  EXPECT_EQ(with("iss", R"("LAKEPROXY")"), reason::kIssuer);
  EXPECT_EQ(with("iss", ""), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_wrong_audience) {
  EXPECT_EQ(with("aud", R"("tools")"), reason::kAudience);
  EXPECT_EQ(with("aud", R"(["tools","other"])"), reason::kAudience);
  EXPECT_EQ(with("aud", R"(["tools","lakeproxy"])"), "taken");
  EXPECT_EQ(with("aud", ""), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_a_token_of_another_kind) {
  EXPECT_EQ(refusal(forge(R"({"alg":"HS256","typ":"JWT"})", claims())), reason::kType);
  EXPECT_EQ(refusal(forge(R"({"alg":"HS256"})", claims())), reason::kType);
}

TEST_F(AccessTokensTest, attack_expired) {
  const std::string token = issue("etl");
  clock_.pass(std::chrono::seconds(3629));
  EXPECT_EQ(refusal(token), "taken") << "clocks differ by 30 s at most";
  clock_.pass(std::chrono::seconds(1));
  EXPECT_EQ(refusal(token), reason::kExpired);
  EXPECT_EQ(with("exp", ""), reason::kClaims);
  EXPECT_EQ(with("exp", "\"4102444800\""), reason::kClaims);
  EXPECT_EQ(with("exp", "1e10"), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_not_yet_valid) {
  EXPECT_EQ(with("nbf", std::to_string(kNow + 30)), "taken");
  EXPECT_EQ(with("nbf", std::to_string(kNow + 31)), reason::kNotYetValid);
  EXPECT_EQ(with("nbf", ""), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_a_lifetime_of_years) {
  EXPECT_EQ(with("exp", std::to_string(kNow + 3601)), reason::kLifetime);
  EXPECT_EQ(with("iat", ""), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_more_than_the_client_has) {
  EXPECT_EQ(with("scope", R"("ns:ops:r")"), "taken");
  EXPECT_EQ(with("scope", R"("*")"), reason::kClaims);
  EXPECT_EQ(with("scope", R"("ns:ops:rw")"), reason::kClaims);
  EXPECT_EQ(with("scope", R"("ns:sales:r ns:*:r")"), reason::kClaims);
  EXPECT_EQ(with("scope", R"("ns:sales2:r")"), reason::kClaims);
  EXPECT_EQ(with("scope", R"(["ns:sales:r"])"), reason::kClaims);
  EXPECT_EQ(with("scope", R"("catalog")"), reason::kClaims);
  EXPECT_EQ(with("roles", R"(["loader","auditor"])"), reason::kClaims);
  EXPECT_EQ(with("roles", R"({"loader":true})"), reason::kClaims);
}

TEST_F(AccessTokensTest, attack_another_account) {
  EXPECT_EQ(with("account", R"("globex")"), reason::kClaims);
  EXPECT_EQ(with("account", ""), reason::kClaims) << "none is another one, too";
  EXPECT_EQ(with("account", R"(["acme","globex"])"), reason::kClaims);
  EXPECT_EQ(with("account", "7"), reason::kClaims);
  EXPECT_EQ(with("sub", R"("ro")"), reason::kClaims) << "one that has no account";
}

TEST_F(AccessTokensTest, attack_huge_tokens) {
  EXPECT_EQ(refusal(std::string(8193, 'a')), reason::kMalformed);
  EXPECT_EQ(refusal(std::string(8193, '.')), reason::kMalformed);
  EXPECT_EQ(refusal(forge(kHeader, claims("x", '"' + std::string(9000, 'a') + '"'))),
            reason::kMalformed);
  EXPECT_NE(with("x", std::string(1000, '[') + std::string(1000, ']')), "taken");
}

TEST_F(AccessTokensTest, attack_a_claim_twice) {
  EXPECT_EQ(refusal(forge(kHeader, R"({"scope":"*",)" + claims().substr(1))), reason::kClaims);
}

TEST_F(AccessTokensTest, one_of_the_secret_to_come_or_the_last_one_is_taken) {
  const AccessTokens both = tokens_of(options(kOtherSecret, kSecret), clients_, clock_);
  EXPECT_TRUE(both.verify(issue("etl")));
  const Client* etl = clients_.find("etl");
  const std::string next = both.issue(*etl, etl->scopes, clock_.now())->value.reveal();
  EXPECT_TRUE(both.verify(next));
  EXPECT_EQ(refusal(next), reason::kSignature) << "not before it is told of";
  EXPECT_FALSE(both.verify(forge(kHeader, claims(), "0123456789abcdef0123456789abcdeX")));
}

TEST_F(AccessTokensTest, end_with_their_client) {
  const std::string token = issue("etl");
  for (const char* entries :
       {"ro:look|ns:*:r", "etl:s3cr3t|ns:sales:r ns:ops:r|loader|acme",
        "etl:s3cr3t|ns:sales:rw ns:ops:r||acme", "etl:s3cr3t|ns:sales:rw ns:ops:r|loader"}) {
    const Clients now = clients_of(entries);
    auto verified = tokens_of(options(), now, clock_).verify(token);
    ASSERT_FALSE(verified) << entries;
    EXPECT_EQ(verified.error().reason(), reason::kClaims);
  }
  const Clients more = clients_of("etl:changed|*|loader x|acme");
  EXPECT_TRUE(tokens_of(options(), more, clock_).verify(token)) << "it has not become less";
}

TEST_F(AccessTokensTest, need_a_secret_of_32_bytes_and_an_issuer) {
  static base::SystemRandom random;
  EXPECT_FALSE(AccessTokens::create(options(std::string(31, 'x')), clients_, clock_, random));
  EXPECT_FALSE(AccessTokens::create(options(kSecret, "short"), clients_, clock_, random));
  TokenOptions nobody = options();
  nobody.issuer.clear();
  EXPECT_FALSE(AccessTokens::create(nobody, clients_, clock_, random));
}

}  // namespace
}  // namespace lake::auth
