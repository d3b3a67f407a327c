#include "base/jose/jwt.h"

#include <gtest/gtest.h>

#include "base/jose/forge_test.h"

namespace base::jose {
namespace {

using namespace testing;

Result<Claims> check(std::string_view token) {
  return verify(token, issuer().verifier(), rules(), now());
}

TEST(JwtTest, what_is_signed_comes_back_as_claims) {
  json::Object made{{"iss", kIssuer},   {"aud", {"api://mail", kAudience}},
                    {"sub", "agent-7"}, {"iat", kNow},
                    {"nbf", kNow - 5},  {"exp", kNow + 900},
                    {"jti", "t-1"},     {"scope", "tool:invoke:db.query cap:list"},
                    {"sid", "s-9"}};
  auto token = sign(issuer(), "at+jwt", made);
  ASSERT_TRUE(token);
  auto claims = check(*token);
  ASSERT_TRUE(claims) << claims.error().message();
  EXPECT_EQ(claims->issuer(), kIssuer);
  EXPECT_EQ(claims->subject(), "agent-7");
  EXPECT_EQ(claims->audience(), (std::vector<std::string>{"api://mail", "api://tools"}));
  EXPECT_EQ(numeric_date(claims->expires_at()), kNow + 900);
  EXPECT_EQ(claims->issued_at(), now());
  EXPECT_EQ(claims->not_before(), now() - std::chrono::seconds(5));
  EXPECT_EQ(claims->token_id(), "t-1");
  EXPECT_EQ(claims->scope(), (std::vector<std::string>{"tool:invoke:db.query", "cap:list"}));
  EXPECT_TRUE(claims->has_scope("cap:list"));
  EXPECT_FALSE(claims->has_scope("cap"));
  EXPECT_EQ(claims->kid(), "k1");
  EXPECT_EQ(claims->all().at("sid"), "s-9");
}

TEST(JwtTest, absent_claims_are_empty) {
  auto claims = check(with_claim("scope", R"("")"));
  ASSERT_TRUE(claims);
  EXPECT_TRUE(claims->scope().empty());
  EXPECT_EQ(claims->token_id(), "");
  EXPECT_EQ(claims->not_before(), std::nullopt);
}

TEST(JwtTest, passes_at_the_near_end_of_each_bound) {
  struct Case {
    std::string name, token;
  };
  auto seconds = [](std::int64_t offset) { return std::to_string(kNow + offset); };
  std::string many = R"(["api://tools")";
  for (int i = 0; i < 15; ++i) many += R"(,"x")";
  std::string words = "\"w";
  for (int i = 0; i < 255; ++i) words += " w";
  auto header = [](std::string_view typ, std::string_view more) {
    return with_header(fmt::format(R"({{"alg":"RS256","typ":"{}"{}}})", typ, more));
  };
  for (const Case& c : {
           Case{"expired within the leeway", with_claim("exp", seconds(-29))},
           Case{"made within the leeway", with_claim("iat", seconds(30))},
           Case{"valid within the leeway", with_claim("nbf", seconds(30))},
           Case{"lasts an hour", with_claim("exp", seconds(3540))},
           Case{"16 audiences", with_claim("aud", many + ']')},
           Case{"256 words of scope", with_claim("scope", words + '"')},
           Case{"typ in capitals", header("AT+JWT", "")},
           Case{"typ with its prefix", header("application/at+jwt", "")},
           Case{"no kid, one key", header("at+jwt", "")},
           Case{"a header nobody knows", header("at+jwt", R"(,"future":[1])")},
           Case{"white space in the JSON",
                with_header("{\r\n \"typ\":\"at+jwt\",\t\"alg\":\"RS256\" }")},
           Case{"payload 32 deep", with_claim("x", std::string(31, '[') + std::string(31, ']'))},
           Case{"nearly 8 KiB", with_claim("pad", '"' + std::string(5400, 'x') + '"')},
       }) {
    auto claims = check(c.token);
    EXPECT_TRUE(claims) << c.name << ": " << claims.error().message();
  }
  // Without a longest lifetime the last second of the year 9999 passes too.
  Rules lasting = rules();
  lasting.max_lifetime.reset();
  EXPECT_TRUE(verify(with_claim("exp", "253402300799"), issuer().verifier(), lasting, now()));
}

TEST(JwtTest, rules_that_state_nothing_accept_nothing) {
  std::string token = with_header(kHeader);
  for (auto [forget, reason] : {std::pair<void (*)(Rules&), std::string_view>{
                                    [](Rules& r) { r.issuer.clear(); }, reason::kIssuer},
                                {[](Rules& r) { r.audience.clear(); }, reason::kAudience},
                                {[](Rules& r) { r.header.types.clear(); }, reason::kType},
                                {[](Rules& r) { r.header.types = {""}; }, reason::kType}}) {
    Rules incomplete = rules();
    forget(incomplete);
    auto claims = verify(token, issuer().verifier(), incomplete, now());
    ASSERT_FALSE(claims) << reason;
    EXPECT_EQ(claims.error().reason(), reason);
  }
  std::string untyped = with_header(R"({"alg":"RS256","typ":"","kid":"k1"})");
  Rules any = rules();
  any.header.types = {};
  EXPECT_FALSE(verify(untyped, issuer().verifier(), any, now()));
}

TEST(JwtTest, a_token_without_typ_passes_only_where_the_rules_say_so) {
  std::string untyped = with_header(R"({"alg":"RS256","kid":"k1"})");
  EXPECT_EQ(check(untyped).error().reason(), reason::kType);
  Rules lenient = rules();
  lenient.header.untyped = Untyped::kAccepted;
  EXPECT_TRUE(verify(untyped, issuer().verifier(), lenient, now()));
  for (std::string_view typ : {"null", "7", R"("")", R"("JWT")"}) {
    auto token = with_header(fmt::format(R"({{"alg":"RS256","typ":{},"kid":"k1"}})", typ));
    auto claims = verify(token, issuer().verifier(), lenient, now());
    ASSERT_FALSE(claims) << typ;
    EXPECT_EQ(claims.error().reason(), reason::kType) << typ;
  }
}

TEST(JwtTest, each_required_claim_is_required) {
  Rules strict = rules();
  strict.required = {"sub", "client_id", "jti"};
  std::string both = R"("t","client_id":"c")";
  EXPECT_TRUE(verify(with_claim("jti", both), issuer().verifier(), strict, now()));
  for (std::string_view text : {R"("t")", R"("t","client_id":null)"}) {
    auto claims = verify(with_claim("jti", text), issuer().verifier(), strict, now());
    ASSERT_FALSE(claims);
    EXPECT_EQ(claims.error().reason(), reason::kClaims);
  }
}

TEST(JwtTest, a_key_set_goes_by_kid) {
  KeySet keys;
  ASSERT_TRUE(keys.add(issuer().verifier()));
  ASSERT_TRUE(
      keys.add(Verifier::with_key(Algorithm::kRs256, other_key().verify_key(), "k2").value()));
  auto check_by_set = [&](std::string_view kid, const Signer& signer) {
    std::string header = fmt::format(R"({{"alg":"RS256","typ":"at+jwt"{}}})", kid);
    auto claims = verify(forge(header, testing::claims(), signer), keys, rules(), now());
    return claims ? std::string_view("passes") : claims.error().reason();
  };
  Signer second = signer_of(Algorithm::kRs256, other_key(), "k2");
  EXPECT_EQ(check_by_set(R"(,"kid":"k1")", issuer()), "passes");
  EXPECT_EQ(check_by_set(R"(,"kid":"k2")", second), "passes");
  EXPECT_EQ(check_by_set(R"(,"kid":"k2")", issuer()), reason::kSignature);
  EXPECT_EQ(check_by_set(R"(,"kid":"k3")", issuer()), reason::kKey);
  EXPECT_EQ(check_by_set("", issuer()), reason::kKey);
}

TEST(JwtTest, a_set_has_one_named_key_for_a_name) {
  KeySet keys;
  EXPECT_EQ(keys.add(signer_of(Algorithm::kRs256, issuer_key(), "").verifier()).error().kind(),
            ErrorKind::kInvalid);
  EXPECT_TRUE(keys.add(issuer().verifier()));
  EXPECT_EQ(keys.add(issuer().verifier()).error().kind(), ErrorKind::kAlreadyExists);
  EXPECT_EQ(keys.size(), 1U);
}

TEST(JwtTest, every_algorithm_signs_what_it_verifies) {
  auto ed = crypto::SigningKey::generate(crypto::KeyType::kEd25519);
  for (const Signer& signer :
       {Signer::hs256(std::string(32, 's'), "h").value(), issuer(),
        signer_of(Algorithm::kPs256, issuer_key(), issuer_key().thumbprint()),
        signer_of(Algorithm::kEdDsa, ed, "")}) {
    Rules own = rules();
    own.header = {.algorithm = signer.algorithm(), .types = {"scp-fwd+jws"}};
    own.max_lifetime.reset();
    json::Object claims{{"iss", kIssuer}, {"aud", kAudience}, {"sub", "s"}, {"exp", kNow + 1}};
    auto token = sign(signer, "scp-fwd+jws", claims);
    ASSERT_TRUE(token);
    auto verified = verify(*token, signer.verifier(), own, now());
    ASSERT_TRUE(verified) << name(signer.algorithm());
    EXPECT_EQ(verified->kid(), signer.kid());
  }
}

}  // namespace
}  // namespace base::jose
