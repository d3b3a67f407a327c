#include "base/jose/jws.h"

#include <gtest/gtest.h>

#include "base/jose/forge_test.h"

namespace base::jose {
namespace {

using namespace testing;

constexpr std::string_view kPayload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlf"
    "Q";

TEST(JwsTest, takes_the_HS256_token_of_RFC_7515_A_1) {
  std::string token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + std::string(kPayload) +
                      ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  std::string secret =
      crypto::from_base64url(
          "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
          64)
          .value();
  auto verifier = Verifier::hs256(secret).value();
  HeaderRules rules{.algorithm = Algorithm::kHs256, .types = {"JWT"}};
  auto jws = UnverifiedJws::parse(token, rules);
  ASSERT_TRUE(jws);
  EXPECT_EQ(jws->kid(), "");
  auto payload = jws->verify(verifier);
  ASSERT_TRUE(payload);
  EXPECT_EQ(encode(*payload), kPayload);
  EXPECT_FALSE(jws->verify(Verifier::hs256(secret + 'x').value()));
}

// The example has no typ, so it stops there; verify_key's tests check its
// signature.
TEST(JwsTest, refuses_the_RS256_token_of_RFC_7515_A_2_for_want_of_a_typ) {
  HeaderRules rules{.algorithm = Algorithm::kRs256, .types = {"JWT"}};
  auto jws = UnverifiedJws::parse("eyJhbGciOiJSUzI1NiJ9." + std::string(kPayload) + ".cC4h", rules);
  ASSERT_FALSE(jws);
  EXPECT_EQ(jws.error().reason(), reason::kType);
}

TEST(JwsTest, the_compact_form_has_a_plain_header) {
  auto token = sign_compact(issuer(), "scp-fwd+jws", "any bytes");
  ASSERT_TRUE(token);
  EXPECT_EQ(crypto::from_base64url(token->substr(0, token->find('.')), 256),
            R"({"alg":"RS256","typ":"scp-fwd+jws","kid":"k1"})");
  auto unnamed = sign_compact(signer_of(Algorithm::kPs256, issuer_key(), ""), "x", "");
  ASSERT_TRUE(unnamed);
  EXPECT_EQ(crypto::from_base64url(unnamed->substr(0, unnamed->find('.')), 256),
            R"({"alg":"PS256","typ":"x"})");
}

TEST(JwsTest, does_not_make_what_it_would_not_read) {
  for (std::string_view typ : {"", "a b", "a\"b", "application/jwt"}) {
    EXPECT_EQ(sign_compact(issuer(), typ, "x").error().kind(), ErrorKind::kInvalid) << typ;
  }
  EXPECT_EQ(sign_compact(issuer(), "x", std::string(8192, 'x')).error().kind(),
            ErrorKind::kTooLarge);
}

TEST(KeyIdTest, has_1_to_64_safe_characters) {
  for (std::string_view kid : {"a", "Z.0_-", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"}) {
    EXPECT_TRUE(is_key_id(kid)) << kid;
  }
  EXPECT_TRUE(is_key_id(std::string(64, 'k')));
  for (std::string_view kid : {"", "a b", "a/b", "a:b", "a\n", "\xc3\xa9", "a+b", "a=", "a%00"}) {
    EXPECT_FALSE(is_key_id(kid)) << kid;
  }
  EXPECT_FALSE(is_key_id(std::string(65, 'k')));
}

TEST(VerifierTest, binds_one_key_of_the_right_kind_to_one_algorithm) {
  auto ed = crypto::SigningKey::generate(crypto::KeyType::kEd25519);
  struct Case {
    std::string name;
    Algorithm algorithm;
    const crypto::SigningKey* key;
    std::string kid;
    bool valid;
  };
  for (const Case& c : {
           Case{"RS256", Algorithm::kRs256, &issuer_key(), "k", true},
           Case{"PS256", Algorithm::kPs256, &issuer_key(), "", true},
           Case{"EdDSA", Algorithm::kEdDsa, &ed, "k", true},
           Case{"RS256 with Ed25519", Algorithm::kRs256, &ed, "k", false},
           Case{"EdDSA with RSA", Algorithm::kEdDsa, &issuer_key(), "k", false},
           Case{"HS256 with a public key", Algorithm::kHs256, &issuer_key(), "k", false},
           Case{"a bad kid", Algorithm::kRs256, &issuer_key(), "k 1", false},
       }) {
    EXPECT_EQ(Verifier::with_key(c.algorithm, c.key->verify_key(), c.kid).has_value(), c.valid)
        << c.name;
    EXPECT_EQ(Signer::with_key(c.algorithm, *c.key, c.kid).has_value(), c.valid) << c.name;
  }
  EXPECT_TRUE(Verifier::hs256(std::string(32, 's')));
  EXPECT_FALSE(Verifier::hs256(std::string(31, 's')));
  EXPECT_FALSE(Signer::hs256(std::string(31, 's')));
  EXPECT_FALSE(Signer::hs256(std::string(32, 's'), "/"));
}

}  // namespace
}  // namespace base::jose
