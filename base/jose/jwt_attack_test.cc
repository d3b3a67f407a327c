// What must never pass, case by case. Every token here differs from one that
// passes in the one thing its name says, and is signed rightly unless the
// signature is that thing. Source: RFC 8725, sections 2 and 3.

#include <gtest/gtest.h>

#include "base/jose/forge_test.h"

namespace base::jose {
namespace {

using namespace testing;

struct Attack {
  std::string name;
  std::string token;
  std::string_view reason;
};

std::string header_of(std::string_view alg) {
  return fmt::format(R"({{"alg":{},"typ":"at+jwt","kid":"k1"}})", alg);
}

std::string good() { return with_header(kHeader); }

// A token under HS256, the key being something that everybody can see.
std::string confused(std::string_view public_text) {
  return forge(header_of(R"("HS256")"), claims(), Signer::hs256(public_text).value());
}

std::vector<Attack> algorithm_attacks() {
  std::string pem = issuer_key().verify_key().to_pem();
  std::string trimmed = pem.substr(0, pem.size() - 1);
  auto eddsa =
      signer_of(Algorithm::kEdDsa, crypto::SigningKey::generate(crypto::KeyType::kEd25519));
  auto ps256 = signer_of(Algorithm::kPs256, issuer_key());
  return {
      {"none, no signature", encode(header_of(R"("none")")) + '.' + encode(claims()) + '.',
       reason::kMalformed},
      {"none, a signature", with_header(header_of(R"("none")")), reason::kAlgorithm},
      {"None", with_header(header_of(R"("None")")), reason::kAlgorithm},
      {"NONE", with_header(header_of(R"("NONE")")), reason::kAlgorithm},
      {"nOnE", with_header(header_of(R"("nOnE")")), reason::kAlgorithm},
      {"empty alg", with_header(header_of(R"("")")), reason::kAlgorithm},
      {"no alg", with_header(R"({"typ":"at+jwt","kid":"k1"})"), reason::kAlgorithm},
      {"null alg", with_header(header_of("null")), reason::kAlgorithm},
      {"alg a number", with_header(header_of("256")), reason::kAlgorithm},
      {"alg a list", with_header(header_of(R"(["RS256"])")), reason::kAlgorithm},
      {"alg in lower case", with_header(header_of(R"("rs256")")), reason::kAlgorithm},
      {"alg with a space", with_header(header_of(R"("RS256 ")")), reason::kAlgorithm},
      {"alg with a zero byte", with_header(header_of(R"("RS256\u0000")")), reason::kAlgorithm},
      {"RS512", with_header(header_of(R"("RS512")")), reason::kAlgorithm},
      {"ES256", with_header(header_of(R"("ES256")")), reason::kAlgorithm},
      {"PS256 by the right key", forge(header_of(R"("PS256")"), claims(), ps256),
       reason::kAlgorithm},
      {"EdDSA", forge(header_of(R"("EdDSA")"), claims(), eddsa), reason::kAlgorithm},
      {"HS256 keyed with the public PEM", confused(pem), reason::kAlgorithm},
      {"HS256 keyed with the trimmed PEM", confused(trimmed), reason::kAlgorithm},
      {"HS256 keyed with the JWK", confused(issuer_key().verify_key().canonical_jwk()),
       reason::kAlgorithm},
      {"HS256 keyed with the thumbprint", confused(issuer_key().thumbprint()), reason::kAlgorithm},
      {"a MAC that calls itself RS256", forge(kHeader, claims(), Signer::hs256(pem).value()),
       reason::kSignature},
      {"PSS that calls itself RS256", forge(kHeader, claims(), ps256), reason::kSignature},
  };
}

std::string with_signature(std::string_view signature) {
  std::string token = good();
  return token.substr(0, token.rfind('.') + 1) + encode(signature);
}

// The last letter of a signature of 384 bytes has no unused bits; a header may.
std::string with_trailing_bits() {
  std::string padded = kHeader;
  while (padded.size() % 3 != 1) padded += ' ';
  std::string header = encode(padded);
  header.back() = static_cast<char>(header.back() + 1);
  std::string token = header + '.' + encode(claims());
  return token + '.' + encode(issuer().sign(token));
}

std::vector<Attack> signature_attacks() {
  std::string token = good();
  std::string another = with_claim("sub", R"("agent-8")");
  std::string signature = crypto::from_base64url(token.substr(token.rfind('.') + 1), 1024).value();
  auto stranger = signer_of(Algorithm::kRs256, other_key());
  return {
      {"another key", forge(kHeader, claims(), stranger), reason::kSignature},
      {"signature of another token",
       token.substr(0, token.rfind('.')) + another.substr(another.rfind('.')), reason::kSignature},
      {"claims of another token",
       encode(kHeader) + '.' + encode(claims("sub", R"("root")")) + token.substr(token.rfind('.')),
       reason::kSignature},
      {"header changed",
       encode(R"({"typ":"at+jwt","alg":"RS256","kid":"k1"})") + token.substr(token.find('.')),
       reason::kSignature},
      {"first byte cut", with_signature(signature.substr(1)), reason::kSignature},
      {"last byte cut", with_signature(signature.substr(0, 383)), reason::kSignature},
      {"leading zero", with_signature('\0' + signature), reason::kSignature},
      {"all zero", with_signature(std::string(384, '\0')), reason::kSignature},
      {"all ones", with_signature(std::string(384, '\xff')), reason::kSignature},
      {"one byte", with_signature("x"), reason::kSignature},
      {"none", with_signature(""), reason::kMalformed},
  };
}

std::string header_plus(std::string_view member) {
  return fmt::format(R"({{"alg":"RS256","typ":"at+jwt","kid":"k1",{}}})", member);
}

std::vector<Attack> header_attacks() {
  std::string own_jwk = R"("jwk":)" + other_key().verify_key().canonical_jwk();
  auto kid = [](std::string_view text) {
    return with_header(fmt::format(R"({{"alg":"RS256","typ":"at+jwt","kid":{}}})", text));
  };
  auto typ = [](std::string_view text) {
    return with_header(fmt::format(R"({{"alg":"RS256","kid":"k1"{}}})", text));
  };
  return {
      {"crit", with_header(header_plus(R"("crit":["exp"])")), reason::kHeader},
      {"crit, empty", with_header(header_plus(R"("crit":[])")), reason::kHeader},
      {"crit, null", with_header(header_plus(R"("crit":null)")), reason::kHeader},
      {"jku", with_header(header_plus(R"("jku":"https://evil.example/keys")")), reason::kHeader},
      {"jwk of the signer",
       forge(header_plus(own_jwk), claims(), signer_of(Algorithm::kRs256, other_key())),
       reason::kHeader},
      {"x5u", with_header(header_plus(R"("x5u":"https://evil.example/c")")), reason::kHeader},
      {"x5c", with_header(header_plus(R"("x5c":["MIIB"])")), reason::kHeader},
      {"b64", with_header(header_plus(R"("b64":false)")), reason::kHeader},
      {"kid empty", kid(R"("")"), reason::kHeader},
      {"kid of 65 characters", kid('"' + std::string(65, 'a') + '"'), reason::kHeader},
      {"kid a path", kid(R"("../../dev/null")"), reason::kHeader},
      {"kid with SQL", kid(R"("x' OR '1'='1")"), reason::kHeader},
      {"kid a URL", kid(R"("https://evil.example/k")"), reason::kHeader},
      {"kid with a line end", kid(R"("k1\n")"), reason::kHeader},
      {"kid with a zero byte", kid(R"("k1\u0000")"), reason::kHeader},
      {"kid beyond ASCII", kid(R"("k\u00e9")"), reason::kHeader},
      {"kid a number", kid("1"), reason::kHeader},
      {"kid null", kid("null"), reason::kHeader},
      {"kid a list", kid(R"(["k1"])"), reason::kHeader},
      {"kid of another key", kid(R"("k2")"), reason::kKey},
      {"no typ", typ(""), reason::kType},
      {"typ JWT", typ(R"(,"typ":"JWT")"), reason::kType},
      {"typ null", typ(R"(,"typ":null)"), reason::kType},
      {"typ a list", typ(R"(,"typ":["at+jwt"])"), reason::kType},
      {"typ of a proof", typ(R"(,"typ":"scp-fwd+jws")"), reason::kType},
      {"typ with a space", typ(R"(,"typ":"at+jwt ")"), reason::kType},
      {"typ with the prefix twice", typ(R"(,"typ":"application/application/at+jwt")"),
       reason::kType},
      {"alg twice", with_header(R"({"alg":"none","alg":"RS256","typ":"at+jwt","kid":"k1"})"),
       reason::kMalformed},
      {"kid twice", with_header(header_plus(R"("kid":"k2")")), reason::kMalformed},
      {"alg twice, one escaped", with_header(header_plus(R"("\u0061lg":"none")")),
       reason::kMalformed},
  };
}

std::vector<Attack> form_attacks() {
  std::string token = good();
  std::string header = encode(kHeader);
  std::string rest = token.substr(token.find('.'));
  std::string standard = token;
  return {
      {"nothing", "", reason::kMalformed},
      {"no dots", "abc", reason::kMalformed},
      {"two parts", token.substr(0, token.rfind('.')), reason::kMalformed},
      {"four parts", token + ".x", reason::kMalformed},
      {"five parts, as in JWE", token + ".x.y", reason::kMalformed},
      {"only dots", "..", reason::kMalformed},
      {"no header", rest, reason::kMalformed},
      {"no payload", header + token.substr(token.rfind('.')).insert(0, "."), reason::kMalformed},
      {"the JSON form",
       fmt::format(R"({{"protected":"{}","payload":"{}","signature":"AA"}})", header, header),
       reason::kMalformed},
      {"space before", ' ' + token, reason::kMalformed},
      {"line end after", token + '\n', reason::kMalformed},
      {"zero byte after", token + '\0', reason::kMalformed},
      {"padding", token + '=', reason::kMalformed},
      {"a letter of plain base64", header + rest.substr(0, 20) + '+' + rest.substr(21),
       reason::kMalformed},
      {"trailing bits", with_trailing_bits(), reason::kMalformed},
      {"over 8 KiB", with_claim("pad", '"' + std::string(8192, 'x') + '"'), reason::kMalformed},
      {"header not JSON", with_header("alg=RS256"), reason::kMalformed},
      {"header a list", with_header(R"(["RS256"])"), reason::kMalformed},
      {"header with a tail", with_header(kHeader + "{}"), reason::kMalformed},
      {"header with a byte order mark", with_header("\xef\xbb\xbf" + kHeader), reason::kMalformed},
      {"header of broken UTF-8", with_header(header_plus("\"x\":\"\xff\"")), reason::kMalformed},
      {"header too deep", with_header(header_plus(R"("x":[[[[[[1]]]]]])")), reason::kMalformed},
      {"header too large", with_header(header_plus(R"("x":")" + std::string(2048, 'x') + '"')),
       reason::kMalformed},
  };
}

std::vector<Attack> claim_attacks() {
  auto seconds = [](std::int64_t offset) { return std::to_string(kNow + offset); };
  std::string many = R"(["api://tools")";
  for (int i = 0; i < 16; ++i) many += R"(,"x")";
  std::string words = "\"w";
  for (int i = 0; i < 256; ++i) words += " w";
  return {
      {"payload not JSON", forge(kHeader, "sub=agent"), reason::kClaims},
      {"payload a list", forge(kHeader, "[" + claims() + "]"), reason::kClaims},
      {"payload a JWT", forge(kHeader, good()), reason::kClaims},
      {"exp twice", forge(kHeader, claims("x", R"(1,"exp":9999999999)")), reason::kClaims},
      {"a nested member twice", with_claim("x", R"({"a":1,"a":2})"), reason::kClaims},
      {"payload too deep", with_claim("x", std::string(33, '[') + std::string(33, ']')),
       reason::kClaims},
      {"no exp", with_claim("exp", ""), reason::kClaims},
      {"exp null", with_claim("exp", "null"), reason::kClaims},
      {"exp a text", with_claim("exp", '"' + seconds(600) + '"'), reason::kClaims},
      {"exp with a fraction", with_claim("exp", seconds(600) + ".0"), reason::kClaims},
      {"exp with an exponent", with_claim("exp", "1e11"), reason::kClaims},
      {"exp negative", with_claim("exp", "-1"), reason::kClaims},
      {"exp after the year 9999", with_claim("exp", "253402300800"), reason::kClaims},
      {"exp of 64 bits", with_claim("exp", "9223372036854775807"), reason::kClaims},
      {"exp beyond 64 bits", with_claim("exp", "18446744073709551615"), reason::kClaims},
      {"exp true", with_claim("exp", "true"), reason::kClaims},
      {"iat a text", with_claim("iat", R"("now")"), reason::kClaims},
      {"iat with a fraction", with_claim("iat", seconds(-60) + ".5"), reason::kClaims},
      {"no iat where a lifetime is set", with_claim("iat", ""), reason::kClaims},
      {"nbf a text", with_claim("nbf", R"("0")"), reason::kClaims},
      {"nbf null", with_claim("nbf", "null"), reason::kClaims},
      {"no iss", with_claim("iss", ""), reason::kClaims},
      {"iss a list", with_claim("iss", R"(["https://issuer.example"])"), reason::kClaims},
      {"iss of another", with_claim("iss", R"("https://evil.example")"), reason::kIssuer},
      {"iss with a slash", with_claim("iss", R"("https://issuer.example/")"), reason::kIssuer},
      {"iss in capitals", with_claim("iss", R"("https://ISSUER.example")"), reason::kIssuer},
      {"iss longer", with_claim("iss", R"("https://issuer.example.evil")"), reason::kIssuer},
      {"no aud", with_claim("aud", ""), reason::kClaims},
      {"aud empty", with_claim("aud", R"("")"), reason::kClaims},
      {"aud an empty list", with_claim("aud", "[]"), reason::kClaims},
      {"aud of another", with_claim("aud", R"("api://mail")"), reason::kAudience},
      {"aud longer", with_claim("aud", R"("api://tools2")"), reason::kAudience},
      {"aud a list of others", with_claim("aud", R"(["api://mail","api"])"), reason::kAudience},
      {"aud with a number", with_claim("aud", R"(["api://tools",1])"), reason::kClaims},
      {"17 audiences", with_claim("aud", many + ']'), reason::kClaims},
      {"no sub where it is required", with_claim("sub", ""), reason::kClaims},
      {"sub empty", with_claim("sub", R"("")"), reason::kClaims},
      {"sub a number", with_claim("sub", "7"), reason::kClaims},
      {"jti a number", with_claim("jti", "7"), reason::kClaims},
      {"scope a list", with_claim("scope", R"(["tool:invoke:a.b"])"), reason::kClaims},
      {"scope with two spaces", with_claim("scope", R"("a  b")"), reason::kClaims},
      {"scope with a space at its end", with_claim("scope", R"("a ")"), reason::kClaims},
      {"scope with a tab", with_claim("scope", R"("a\tb")"), reason::kClaims},
      {"scope with a quote", with_claim("scope", R"("a\"b")"), reason::kClaims},
      {"257 words of scope", with_claim("scope", words + '"'), reason::kClaims},
      {"expired at the leeway", with_claim("exp", seconds(-30)), reason::kExpired},
      {"expired long ago", with_claim("exp", seconds(-59)), reason::kExpired},
      {"made in the future", with_claim("iat", seconds(31)), reason::kNotYetValid},
      {"valid in the future", with_claim("nbf", seconds(31)), reason::kNotYetValid},
      {"lasts too long", with_claim("exp", seconds(3541)), reason::kLifetime},
      {"ends when it begins", with_claim("exp", seconds(-60)), reason::kLifetime},
      {"ends before it begins", with_claim("exp", seconds(-61)), reason::kLifetime},
  };
}

void expect_refused(const Attack& attack) {
  SCOPED_TRACE(attack.name);
  auto verified = verify(attack.token, issuer().verifier(), rules(), now());
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().kind(), ErrorKind::kUnauthenticated);
  EXPECT_EQ(verified.error().reason(), attack.reason);
  // Whoever reads the message learns nothing of the token.
  std::string told = verified.error().message() + verified.error().detail();
  for (std::string_view secret : {"evil", "agent", "eyJ", "dev/null", "OR", "mail"}) {
    EXPECT_FALSE(told.contains(secret)) << told;
  }
}

TEST(JwtAttackTest, algorithms) { std::ranges::for_each(algorithm_attacks(), expect_refused); }
TEST(JwtAttackTest, signatures) { std::ranges::for_each(signature_attacks(), expect_refused); }
TEST(JwtAttackTest, headers) { std::ranges::for_each(header_attacks(), expect_refused); }
TEST(JwtAttackTest, forms) { std::ranges::for_each(form_attacks(), expect_refused); }
TEST(JwtAttackTest, claims) { std::ranges::for_each(claim_attacks(), expect_refused); }

TEST(JwtAttackTest, the_token_they_all_differ_from_passes) {
  EXPECT_TRUE(verify(good(), issuer().verifier(), rules(), now()));
}

// The other direction of the confusion: a verifier of MACs is shown signatures.
TEST(JwtAttackTest, a_verifier_of_HS256_takes_no_signature_and_no_weak_pin) {
  auto signer = Signer::hs256(std::string(32, 's')).value();
  Rules hs = rules();
  hs.header.algorithm = Algorithm::kHs256;
  EXPECT_TRUE(
      verify(forge(header_of(R"("HS256")"), claims(), signer), signer.verifier(), hs, now()));
  EXPECT_EQ(verify(good(), signer.verifier(), hs, now()).error().reason(), reason::kAlgorithm);
  // Rules for one algorithm and a key for another: a mistake of ours, refused.
  EXPECT_EQ(verify(good(), signer.verifier(), rules(), now()).error().reason(), reason::kAlgorithm);
  auto pss = Verifier::with_key(Algorithm::kPs256, issuer_key().verify_key()).value();
  EXPECT_EQ(verify(good(), pss, rules(), now()).error().reason(), reason::kAlgorithm);
}

}  // namespace
}  // namespace base::jose
