#include "toolserver/mcp_login/login.h"

#include <gtest/gtest.h>

#include "base/crypto/signing_key.h"
#include "base/jose/jwt.h"

namespace tool::login {
namespace {

using base::ErrorKind;

ServerMetadata server_of(bool sends_issuer) {
  ServerMetadata out;
  out.issuer = "https://as.example";
  out.sends_issuer = sends_issuer;
  return out;
}

TEST(Redirect, the_code_of_the_right_redirect_is_read) {
  for (const auto& [target, sends_issuer] : std::initializer_list<std::pair<const char*, bool>>{
           {"/callback?code=c%2B1&state=s&iss=https%3A%2F%2Fas.example", true},
           {"/callback?iss=https://as.example&state=s&code=c%2B1", false},
           {"/callback?state=s&code=c%2B1", false}}) {
    auto code = read_redirect(target, "s", server_of(sends_issuer));
    ASSERT_TRUE(code) << target << ": " << code.error().message();
    EXPECT_EQ(*code, "c+1");
  }
}

TEST(Redirect, every_other_one_is_refused) {
  struct Case {
    const char* target;
    bool sends_issuer;
    ErrorKind kind;
  };
  for (const auto& one : std::initializer_list<Case>{
           {"/callback", false, ErrorKind::kInvalid},
           {"/callback?code=c", false, ErrorKind::kInvalid},
           {"/callback?code=c&state=", false, ErrorKind::kInvalid},
           {"/callback?code=c&state=S", false, ErrorKind::kInvalid},
           {"/callback?code=c&state=s&state=s", false, ErrorKind::kInvalid},
           {"/callback?code=c&code=d&state=s", false, ErrorKind::kInvalid},
           {"/callback?code=%zz&state=s", false, ErrorKind::kInvalid},
           {"/callback?state=s", false, ErrorKind::kInvalid},
           {"/callback?code=c&state=s", true, ErrorKind::kForbidden},
           {"/callback?code=c&state=s&iss=https://as.example/", true, ErrorKind::kForbidden},
           {"/callback?code=c&state=s&iss=https://AS.example", false, ErrorKind::kForbidden},
           {"/callback?code=c&state=s&iss=https://as.example:443", false, ErrorKind::kForbidden},
           {"/callback?error=x&state=s&iss=https://evil.example", false, ErrorKind::kForbidden},
           {"/callback?error=access_denied&state=s", false, ErrorKind::kUnauthenticated}}) {
    auto code = read_redirect(one.target, "s", server_of(one.sends_issuer));
    ASSERT_FALSE(code) << one.target;
    EXPECT_EQ(code.error().kind(), one.kind) << one.target;
  }
  EXPECT_FALSE(read_redirect("/callback?code=c&state=", "", server_of(false)));
}

TEST(Redirect, a_text_of_the_servers_is_no_message) {
  auto code = read_redirect("/callback?error=%3Cb%3E&error_description=call+me&state=s", "s",
                            server_of(false));
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().message(), "the authorisation server refuses (?)");
}

TEST(LoginChallenge, a_forbidden_request_is_one_only_for_want_of_a_scope) {
  EXPECT_TRUE(is_challenge(401, ""));
  EXPECT_TRUE(is_challenge(403, R"(Bearer error="insufficient_scope", scope="a")"));
  EXPECT_FALSE(is_challenge(403, R"(Bearer error="invalid_token")"));
  EXPECT_FALSE(is_challenge(403, ""));
  EXPECT_FALSE(is_challenge(404, R"(Bearer error="insufficient_scope")"));
}

ServerMetadata taking(std::vector<ClientAuth> auths) {
  ServerMetadata out;
  out.client_auths = std::move(auths);
  return out;
}

TEST(ClientAuthentication, is_of_a_kind_that_the_server_takes) {
  auto both = taking({ClientAuth::kPost, ClientAuth::kBasic});
  EXPECT_EQ(*choose_auth(both, true, false), ClientAuth::kBasic);
  EXPECT_EQ(*choose_auth(taking({ClientAuth::kPost}), true, false), ClientAuth::kPost);
  EXPECT_EQ(*choose_auth(taking({ClientAuth::kPrivateKeyJwt}), false, true),
            ClientAuth::kPrivateKeyJwt);
  EXPECT_EQ(*choose_auth(both, false, false), ClientAuth::kNone);
  EXPECT_EQ(choose_auth(taking({ClientAuth::kNone}), true, false).error().kind(),
            ErrorKind::kUnsupported);
  EXPECT_EQ(choose_auth(both, false, true).error().kind(), ErrorKind::kUnsupported);
}

TEST(ClientAuthentication, a_secret_stands_where_its_method_says) {
  base::SystemRandom random;
  Client client{"us&co", base::Secret("p:w"), {}, ClientAuth::kBasic};
  auto basic = authenticate(Form().add("code", "c"), client, "i", {}, random);
  ASSERT_TRUE(basic);
  EXPECT_EQ(basic->headers.get("Authorization"), "Basic dXMlMjZjbzpwJTNBdw==");
  EXPECT_EQ(basic->body, "code=c");
  client.auth = ClientAuth::kPost;
  auto post = authenticate(Form().add("code", "c"), client, "i", {}, random);
  EXPECT_FALSE(post->headers.get("Authorization"));
  EXPECT_EQ(post->body, "code=c&client_id=us%26co&client_secret=p%3Aw");
  client.auth = ClientAuth::kNone;
  EXPECT_EQ(authenticate(Form(), client, "i", {}, random)->body, "client_id=us%26co");
  client.auth = ClientAuth::kPrivateKeyJwt;
  EXPECT_EQ(authenticate(Form(), client, "i", {}, random).error().kind(), ErrorKind::kInvalid);
}

// Who the client is, of a request that a key of that kind signed; `taken` by the server.
base::Result<std::string> assertion_by(const base::crypto::SigningKey& key,
                                       std::vector<std::string> taken, base::WallTime now) {
  base::SystemRandom random;
  base::crypto::SecretBytes pem = key.to_pem();
  Client client{"us",
                {},
                base::Secret(std::string(pem.reveal())),
                ClientAuth::kPrivateKeyJwt,
                std::move(taken)};
  ASSIGN_OR_RETURN(auto request, authenticate(Form(), client, "https://as.example", now, random));
  constexpr std::string_view kField = "client_assertion=";
  return request.body.substr(request.body.rfind(kField) + kField.size());
}

TEST(ClientAuthentication, a_private_key_signs_for_one_issuer_and_one_minute) {
  using base::crypto::KeyType;
  using base::jose::Algorithm;
  struct Case {
    KeyType type;
    std::vector<std::string> taken;
    Algorithm algorithm;
  };
  const base::WallTime now(std::chrono::seconds(1'790'000'000));
  for (const auto& [type, taken, algorithm] :
       std::initializer_list<Case>{{KeyType::kEd25519, {}, Algorithm::kEdDsa},
                                   {KeyType::kP256, {}, Algorithm::kEs256},
                                   {KeyType::kP256, {"RS256", "ES256"}, Algorithm::kEs256},
                                   {KeyType::kRsa, {}, Algorithm::kRs256},
                                   {KeyType::kRsa, {"PS256", "RS256"}, Algorithm::kRs256},
                                   {KeyType::kRsa, {"ES256", "PS256"}, Algorithm::kPs256}}) {
    auto key = base::crypto::SigningKey::generate(type);
    auto token = assertion_by(key, taken, now);
    ASSERT_TRUE(token) << token.error().message();
    auto verifier = base::jose::Verifier::with_key(algorithm, key.verify_key());
    base::jose::Rules rules;
    rules.header = {algorithm, {"JWT"}};
    rules.issuer = "us";
    rules.audience = "https://as.example";
    rules.max_lifetime = std::chrono::seconds(60);
    auto claims = base::jose::verify(*token, *verifier, rules, now);
    ASSERT_TRUE(claims) << name(algorithm) << claims.error().message();
    EXPECT_EQ(claims->subject(), "us");
    EXPECT_FALSE(claims->token_id().empty());
    auto again = base::jose::verify(*assertion_by(key, taken, now), *verifier, rules, now);
    EXPECT_NE(again->token_id(), claims->token_id());
    rules.audience = "https://other.example";
    EXPECT_FALSE(base::jose::verify(*token, *verifier, rules, now));
  }
}

TEST(ClientAuthentication, a_private_key_that_the_server_has_no_use_for_is_refused) {
  const base::WallTime now(std::chrono::seconds(1'790'000'000));
  auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kP256);
  auto token = assertion_by(key, {"RS256", "EdDSA"}, now);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().kind(), ErrorKind::kUnsupported);
  EXPECT_TRUE(token.error().message().contains("does not take ES256"));
}

}  // namespace
}  // namespace tool::login
