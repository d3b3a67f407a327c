#include "base/jose/jwks.h"

#include <gtest/gtest.h>

#include "base/jose/endpoint.h"
#include "base/jose/forge_test.h"

namespace base::jose {
namespace {

using namespace testing;

// The issuer's key as a JWK, with `more` members.
std::string jwk(std::string_view more) {
  std::string text = issuer_key().verify_key().canonical_jwk();
  text.pop_back();
  return text + std::string(more) + '}';
}

std::string set_of(std::string_view keys) { return fmt::format(R"({{"keys":[{}]}})", keys); }

TEST(JwksTest, a_key_verifies_what_the_issuer_signed) {
  auto keys = parse_jwks(set_of(jwk(R"(,"kid":"k1","use":"sig","alg":"RS256")")));
  ASSERT_TRUE(keys);
  EXPECT_TRUE(verify(with_header(kHeader), *keys, rules(), now()));
  EXPECT_EQ(keys->find("k2"), nullptr);
}

// Source: RFC 7515, appendix A.3.
constexpr std::string_view kPoint =
    R"("kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
    R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")";

TEST(JwksTest, an_elliptic_key_verifies_what_the_standard_has_signed) {
  auto keys = parse_jwks(set_of("{" + std::string(kPoint) + R"(,"kid":"k1","alg":"ES256"})"));
  ASSERT_TRUE(keys);
  const Verifier* key = keys->find("k1");
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(key->algorithm(), Algorithm::kEs256);
  const std::string data =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl"
      "LmNvbS9pc19yb290Ijp0cnVlfQ";
  const std::string signature =
      crypto::from_base64url(
          "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
          64)
          .value();
  EXPECT_TRUE(key->verify(data, signature));
  EXPECT_FALSE(key->verify(data + "x", signature));
  EXPECT_FALSE(key->verify(data, signature.substr(1)));
  EXPECT_FALSE(key->verify(data, std::string(64, '\0'))) << "r and s of zero";
  for (std::size_t i : {0U, 31U, 32U, 63U}) {
    std::string changed = signature;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(key->verify(data, changed)) << i;
  }
}

TEST(JwksTest, an_elliptic_key_of_ours_signs_and_is_published) {
  const auto key = crypto::SigningKey::generate(crypto::KeyType::kP256);
  const Signer signer = signer_of(Algorithm::kEs256, key);
  auto keys = parse_jwks(write_jwks({signer.verifier()}));
  ASSERT_TRUE(keys && keys->find("k1") != nullptr);
  Rules wanted = rules();
  wanted.header.algorithm = Algorithm::kEs256;
  const std::string header = R"({"alg":"ES256","typ":"at+jwt","kid":"k1"})";
  EXPECT_TRUE(verify(forge(header, claims(), signer), *keys, wanted, now()));
  EXPECT_FALSE(verify(forge(header, claims(), signer), *keys, rules(), now())) << "RS256 is pinned";
  const std::string confused = R"({"alg":"RS256","typ":"at+jwt","kid":"k1"})";
  EXPECT_FALSE(verify(forge(confused, claims(), signer), *keys, rules(), now()));
  EXPECT_FALSE(verify(forge(confused, claims(), signer), *keys, wanted, now()));
}

TEST(JwksTest, takes_keys_for_RS256_and_ES256_and_passes_the_others_over) {
  struct Case {
    std::string name, key;
    bool taken;
  };
  std::string small = crypto::to_base64url('\x80' + std::string(126, 'x') + '\x01');
  for (const Case& c : {
           Case{"only a kid", jwk(R"(,"kid":"k")"), true},
           Case{"use sig", jwk(R"(,"kid":"k","use":"sig")"), true},
           Case{"use enc", jwk(R"(,"kid":"k","use":"enc")"), false},
           Case{"use null", jwk(R"(,"kid":"k","use":null)"), false},
           Case{"alg RS256", jwk(R"(,"kid":"k","alg":"RS256")"), true},
           Case{"alg PS256", jwk(R"(,"kid":"k","alg":"PS256")"), false},
           Case{"alg RSA-OAEP", jwk(R"(,"kid":"k","alg":"RSA-OAEP")"), false},
           Case{"alg a number", jwk(R"(,"kid":"k","alg":1)"), false},
           Case{"key_ops verify", jwk(R"(,"kid":"k","key_ops":["sign","verify"])"), true},
           Case{"key_ops sign", jwk(R"(,"kid":"k","key_ops":["sign"])"), false},
           Case{"key_ops a text", jwk(R"(,"kid":"k","key_ops":"verify")"), false},
           Case{"members nobody knows", jwk(R"(,"kid":"k","x5c":["MIIB"],"future":{})"), true},
           Case{"no kid", jwk(""), false},
           Case{"kid a number", jwk(R"(,"kid":7)"), false},
           Case{"kid a path", jwk(R"(,"kid":"../k")"), false},
           Case{"a private part", jwk(R"(,"kid":"k","d":"AQAB")"), false},
           Case{"symmetric", R"({"kty":"oct","kid":"k","k":"c2VjcmV0"})", false},
           Case{"elliptic", fmt::format(R"({{{},"kid":"k"}})", kPoint), true},
           Case{"elliptic for RS256", fmt::format(R"({{{},"kid":"k","alg":"RS256"}})", kPoint),
                false},
           Case{"elliptic with a private part", fmt::format(R"({{{},"kid":"k","d":"AA"}})", kPoint),
                false},
           Case{"elliptic, short", R"({"kty":"EC","crv":"P-256","kid":"k","x":"AA","y":"AA"})",
                false},
           Case{"elliptic, no point of the curve",
                fmt::format(R"({{"kty":"EC","crv":"P-256","kid":"k","x":"{0}","y":"{0}"}})",
                            crypto::to_base64url(std::string(32, 'x'))),
                false},
           Case{"elliptic, another curve",
                R"({"kty":"EC","crv":"P-384","kid":"k","x":"AA","y":"AA"})", false},
           Case{"RSA for ES256", jwk(R"(,"kid":"k","alg":"ES256")"), false},
           Case{"no kty", R"({"kid":"k","e":"AQAB","n":"AQAB"})", false},
           Case{"no n", R"({"kty":"RSA","kid":"k","e":"AQAB"})", false},
           Case{"n with padding", R"({"kty":"RSA","kid":"k","e":"AQAB","n":"AQAB=="})", false},
           Case{"n of 1024 bits",
                fmt::format(R"({{"kty":"RSA","kid":"k","e":"AQAB","n":"{}"}})", small), false},
           Case{"n of 2048 bits",
                fmt::format(R"({{"kty":"RSA","kid":"k","e":"AQAB","n":"{}"}})",
                            crypto::to_base64url(std::string(256, '\xff'))),
                true},
           Case{"n a number", R"({"kty":"RSA","kid":"k","e":"AQAB","n":3})", false},
           Case{"a text", R"("key")", false},
           Case{"null", "null", false},
       }) {
    // What is passed over does not take the others with it.
    auto keys = parse_jwks(set_of(c.key + ',' + jwk(R"(,"kid":"good")")));
    ASSERT_TRUE(keys) << c.name;
    EXPECT_EQ(keys->find("k") != nullptr, c.taken) << c.name;
    EXPECT_NE(keys->find("good"), nullptr) << c.name;
    EXPECT_EQ(keys->size(), c.taken ? 2U : 1U) << c.name;
  }
}

TEST(JwksTest, of_two_keys_with_one_kid_neither_is_taken) {
  auto keys = parse_jwks(
      set_of(jwk(R"(,"kid":"k")") + ',' + jwk(R"(,"kid":"k")") + ',' + jwk(R"(,"kid":"one")")));
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->find("k"), nullptr);
  EXPECT_NE(keys->find("one"), nullptr);
}

TEST(JwksTest, has_a_shape_and_bounds) {
  auto many = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += fmt::format(R"({}{{"kty":"x"}})", i == 0 ? "" : ",");
    return set_of(out);
  };
  EXPECT_TRUE(parse_jwks(set_of("")));
  EXPECT_TRUE(parse_jwks(many(64)));
  EXPECT_EQ(parse_jwks(many(65)).error().kind(), ErrorKind::kTooLarge);
  std::string large = set_of("");
  EXPECT_TRUE(parse_jwks(large + std::string(kMaxJwksBytes - large.size(), ' ')));
  EXPECT_EQ(parse_jwks(large + std::string(kMaxJwksBytes - large.size() + 1, ' ')).error().kind(),
            ErrorKind::kTooLarge);
  for (std::string_view text : {"", "{}", "[]", "null", R"({"keys":{}})", R"({"keys":null})",
                                R"({"keys":[]}x)", R"({"keys":[],"keys":[]})", "<html>"}) {
    auto keys = parse_jwks(text);
    ASSERT_FALSE(keys) << text;
    EXPECT_EQ(keys.error().kind(), ErrorKind::kInvalid) << text;
  }
}

TEST(JwksTest, what_is_written_is_read_and_holds_no_secret) {
  auto ps = Verifier::with_key(Algorithm::kPs256, other_key().verify_key(), "ps").value();
  auto unnamed = Verifier::with_key(Algorithm::kRs256, other_key().verify_key()).value();
  std::string secret(32, 's');
  std::string text =
      write_jwks({Verifier::hs256(secret, "hs").value(), issuer().verifier(), ps, unnamed});
  EXPECT_FALSE(text.contains("oct"));
  EXPECT_FALSE(text.contains("\"hs\""));
  auto keys = parse_jwks(text);
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(keys->size(), 2U);  // PS256 is not among what this reader takes.
  EXPECT_NE(keys->find("k1"), nullptr);
  EXPECT_NE(keys->find(other_key().thumbprint()), nullptr);
  EXPECT_EQ(write_jwks({}), R"({"keys":[]})");
}

TEST(EndpointTest, is_https_and_plain_http_only_on_loopback_and_when_allowed) {
  struct Case {
    std::string url, host, target;
    bool by_default, for_tests;
  };
  for (const Case& c : {
           Case{"https://id.example/keys", "id.example", "/keys", true, true},
           Case{"https://id.example:8443/a/b?c=d", "id.example", "/a/b?c=d", true, true},
           Case{"https://id.example", "id.example", "/", true, true},
           Case{"https://id.example?x", "id.example", "/?x", true, true},
           Case{"https://[::1]:8443/k", "::1", "/k", true, true},
           Case{"http://127.0.0.1:8080/keys", "127.0.0.1", "/keys", false, true},
           Case{"http://127.9.9.9/keys", "127.9.9.9", "/keys", false, true},
           Case{"http://[::1]/keys", "::1", "/keys", false, true},
           Case{"http://localhost/keys", "", "", false, false},
           Case{"http://id.example/keys", "", "", false, false},
           Case{"http://127.0.0.1.example/keys", "", "", false, false},
           Case{"http://128.0.0.1/keys", "", "", false, false},
           Case{"http://0.0.0.0/keys", "", "", false, false},
           Case{"http://[::]/keys", "", "", false, false},
           Case{"http://[::ffff:127.0.0.1]/keys", "", "", false, false},
           Case{"https://user:pass@id.example/keys", "", "", false, false},
           Case{"https://id.example#@evil.example/", "", "", false, false},
           Case{"https://id.example\\@evil.example/", "", "", false, false},
           Case{"https://id.example/a b", "", "", false, false},
           Case{"https://id.example/a\r\nX: y", "", "", false, false},
           Case{"https:///keys", "", "", false, false},
           Case{"https://id.example:0/keys", "", "", false, false},
           Case{"ftp://id.example/keys", "", "", false, false},
           Case{"file:///etc/passwd", "", "", false, false},
           Case{"id.example/keys", "", "", false, false},
           Case{"", "", "", false, false},
           Case{"https://id.example/" + std::string(2048, 'a'), "", "", false, false},
       }) {
    auto strict = Endpoint::parse(c.url, PlainHttp::kRefused);
    auto loose = Endpoint::parse(c.url, PlainHttp::kOnLoopbackForTests);
    EXPECT_EQ(strict.has_value(), c.by_default) << c.url;
    ASSERT_EQ(loose.has_value(), c.for_tests) << c.url;
    if (!loose) {
      EXPECT_EQ(loose.error().kind(), ErrorKind::kInvalid) << c.url;
      continue;
    }
    EXPECT_EQ(loose->origin.host, c.host);
    EXPECT_EQ(loose->target, c.target);
  }
}

}  // namespace
}  // namespace base::jose
