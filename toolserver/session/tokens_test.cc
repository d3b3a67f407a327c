#include "toolserver/session/tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/crypto/signing_key.h"
#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using base::jose::Algorithm;
using base::jose::Signer;
using std::chrono::seconds;

const base::Secret kJwtSecret("jH4kLm9pQ2rStUvWx7yZaBcDeFgHiJ0K");
const base::Secret kOther("another-jwt-secret-of-good-length");
const base::Secret kNoSalt;

const base::crypto::SigningKey& rsa_key() {
  static const auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kRsa);
  return key;
}

struct TokensTest : ::testing::Test {
  SessionGrant grant() {
    return {.subject = "alice",
            .scopes = *Scopes::parse("cap:list"),
            .session = session,
            .mode = Mode::kSimple,
            .th1 = th1,
            .expires_at = clock.now() + seconds(900)};
  }
  std::string code(const auto& outcome) {
    return outcome ? "ok" : std::string(name(outcome.error().code));
  }
  Signer session_signer() { return *session_token_signer(kJwtSecret, kNoSalt); }
  Signer client_signer() { return *client_token_signer(kJwtSecret, kNoSalt); }
  Signer rsa_signer() { return *Signer::with_key(Algorithm::kRs256, rsa_key()); }
  ClientGrant client_grant() {
    return {.issuer = "node-b",
            .cluster = "cluster-1",
            .subject = "alice",
            .scopes = *Scopes::parse("cap:list tool:invoke:a.b")};
  }

  testing::TestClock clock;
  testing::TestRandom random;
  Ulid session = Ulid::make(clock.now(), random);
  Digest th1{1, 2, 3};
};

TEST_F(TokensTest, a_session_token_holds_on_its_connection_only) {
  for (const auto& signer : {session_signer(), rsa_signer()}) {
    SessionTokens tokens("node-b", "cluster-1", signer);
    std::string token = *tokens.mint(grant(), clock.now(), random);
    auto claims = tokens.verify(token, session, th1, clock.now());
    ASSERT_TRUE(claims.has_value());
    EXPECT_EQ(claims->subject(), "alice");
    EXPECT_EQ(claims->all().at("mode").as_string(), "simple");
    EXPECT_EQ(code(tokens.verify(token, Ulid::make(clock.now(), random), th1, clock.now())),
              "E_AUTH");
    EXPECT_EQ(code(tokens.verify(token, session, Digest{9}, clock.now())), "E_AUTH");
    SessionTokens other_node("node-x", "cluster-1", signer), other_cluster("node-b", "c", signer);
    EXPECT_EQ(code(other_node.verify(token, session, th1, clock.now())), "E_AUTH");
    EXPECT_EQ(code(other_cluster.verify(token, session, th1, clock.now())), "E_AUTH");
    EXPECT_EQ(code(tokens.verify(token, session, th1, clock.now() + seconds(899))), "ok");
    EXPECT_EQ(code(tokens.verify(token, session, th1, clock.now() + seconds(900))), "E_EXPIRED");
    EXPECT_EQ(code(tokens.verify(token, session, th1, clock.now() - seconds(1))), "E_AUTH");
  }
}

TEST_F(TokensTest, a_client_token_gives_its_principal) {
  for (const auto& signer : {client_signer(), rsa_signer()}) {
    ClientTokens tokens("node-b", "cluster-1", signer.verifier());
    std::string token = *mint_client_token(signer, client_grant(), clock.now(), random);
    auto principal = tokens.verify(token, clock.now());
    ASSERT_TRUE(principal.has_value());
    EXPECT_EQ(principal->subject, "alice");
    EXPECT_EQ(principal->issuer, "node-b");
    EXPECT_EQ(principal->method, Method::kJwt);
    EXPECT_EQ(principal->scopes.text(), "cap:list tool:invoke:a.b");
    // For as long as the token itself is taken.
    EXPECT_EQ(principal->expires_at, clock.now() + seconds(3630));
    EXPECT_EQ(code(tokens.verify(token, clock.now() + seconds(3629))), "ok");
    EXPECT_EQ(code(tokens.verify(token, clock.now() + seconds(3630))), "E_EXPIRED");
  }
}

const base::json::Array kDetails = base::json::parse(R"([{"type":"scp_tool","tool":"a.b",
    "args":{"path":{"within":"reports"}}}])")
                                       ->get_array();

TEST_F(TokensTest, a_client_token_narrows_its_bearer) {
  ClientTokens tokens("node-b", "cluster-1", client_signer().verifier());
  ClientGrant narrow = client_grant();
  narrow.details = kDetails;
  auto principal =
      tokens.verify(*mint_client_token(client_signer(), narrow, clock.now(), random), clock.now());
  ASSERT_TRUE(principal.has_value());
  EXPECT_EQ(principal->details.json(), base::json::Array{base::json::Value(kDetails)});
  // A detail that nobody understands is neither signed nor taken for none.
  narrow.details[0].get_object()["type"] = "other";
  EXPECT_FALSE(mint_client_token(client_signer(), narrow, clock.now(), random).has_value());
  auto claims = base::json::Object{{"iss", "node-b"},
                                   {"aud", "cluster-1"},
                                   {"sub", "alice"},
                                   {"scope", "tool:invoke:a.b"},
                                   {"jti", "1"},
                                   {"iat", base::jose::numeric_date(clock.now())},
                                   {"nbf", base::jose::numeric_date(clock.now())},
                                   {"exp", base::jose::numeric_date(clock.now() + seconds(60))}};
  auto taken = [&](const base::json::Value& details) {
    claims["authorization_details"] = details;
    auto token = *base::jose::sign(client_signer(), "scp-client+jwt", claims);
    return code(tokens.verify(token, clock.now()));
  };
  EXPECT_EQ(taken(kDetails), "ok");
  EXPECT_EQ(taken(base::json::Array()), "ok");
  EXPECT_EQ(taken(narrow.details), "E_AUTH");
  EXPECT_EQ(taken(kDetails[0]), "E_AUTH");
  EXPECT_EQ(taken(nullptr), "E_AUTH");
  EXPECT_EQ(taken("[]"), "E_AUTH");
}

TEST_F(TokensTest, a_session_token_says_what_narrows_its_bearer) {
  SessionTokens tokens("node-b", "cluster-1", session_signer());
  auto narrow = grant();
  narrow.details = *Details::parse(kDetails);
  auto claims = tokens.verify(*tokens.mint(narrow, clock.now(), random), session, th1, clock.now());
  ASSERT_TRUE(claims.has_value());
  EXPECT_EQ(claims->all().at("details"),
            base::json::Value(base::json::Array{base::json::Value(kDetails)}));
  claims = tokens.verify(*tokens.mint(grant(), clock.now(), random), session, th1, clock.now());
  ASSERT_TRUE(claims.has_value());
  EXPECT_FALSE(claims->all().contains("details"));
}

TEST_F(TokensTest, a_client_token_names_the_key_that_it_is_bound_to) {
  auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
  ClientTokens tokens("node-b", "cluster-1", client_signer().verifier());
  ClientGrant bound = client_grant();
  bound.holder = key.thumbprint();
  auto principal =
      tokens.verify(*mint_client_token(client_signer(), bound, clock.now(), random), clock.now());
  ASSERT_TRUE(principal.has_value());
  EXPECT_EQ(principal->bound_to, (Binding{key.thumbprint(), ""}));
  principal = tokens.verify(
      *mint_client_token(client_signer(), client_grant(), clock.now(), random), clock.now());
  ASSERT_TRUE(principal.has_value());
  EXPECT_TRUE(principal->bound_to.empty());
  // One that cannot be checked is not taken as none.
  bound.holder = "no-thumbprint";
  auto unknown =
      tokens.verify(*mint_client_token(client_signer(), bound, clock.now(), random), clock.now());
  EXPECT_EQ(code(unknown), "E_AUTH");
}

TEST_F(TokensTest, no_token_passes_for_another_kind) {
  SessionTokens session_tokens("node-b", "cluster-1", session_signer());
  std::string of_session = *session_tokens.mint(grant(), clock.now(), random);
  std::string of_client = *mint_client_token(client_signer(), client_grant(), clock.now(), random);
  std::string of_rsa = *mint_client_token(rsa_signer(), client_grant(), clock.now(), random);
  // One key for both kinds: the typ alone tells them apart.
  SessionTokens same_key("node-b", "cluster-1", rsa_signer());
  std::string rsa_session = *same_key.mint(grant(), clock.now(), random);
  ClientTokens hs("node-b", "cluster-1", client_signer().verifier());
  ClientTokens rs("node-b", "cluster-1", rsa_signer().verifier());
  struct Case {
    const char* what;
    std::string answer;
  };
  const std::vector<Case> cases = {
      {"session as client", code(hs.verify(of_session, clock.now()))},
      {"client as session", code(session_tokens.verify(of_client, session, th1, clock.now()))},
      {"session as client, one key", code(rs.verify(rsa_session, clock.now()))},
      {"client as session, one key", code(same_key.verify(of_rsa, session, th1, clock.now()))},
      {"RS where HS is pinned", code(hs.verify(of_rsa, clock.now()))},
      {"HS where RS is pinned", code(rs.verify(of_client, clock.now()))},
      {"empty", code(hs.verify("", clock.now()))},
      {"dots", code(hs.verify("..", clock.now()))},
  };
  for (const auto& [what, answer] : cases) EXPECT_EQ(answer, "E_AUTH") << what;
}

TEST_F(TokensTest, the_public_key_is_no_hmac_secret) {
  ClientTokens rs("node-b", "cluster-1", rsa_signer().verifier());
  for (const auto& secret :
       {rsa_key().verify_key().to_pem(), rsa_key().verify_key().canonical_jwk()}) {
    auto forged = *mint_client_token(*Signer::hs256(secret), client_grant(), clock.now(), random);
    EXPECT_EQ(code(rs.verify(forged, clock.now())), "E_AUTH");
  }
}

TEST_F(TokensTest, another_secret_salt_issuer_or_audience_is_refused) {
  std::string token = *mint_client_token(client_signer(), client_grant(), clock.now(), random);
  auto verify = [&](std::string issuer, std::string cluster, const Signer& signer) {
    return code(ClientTokens(issuer, cluster, signer.verifier()).verify(token, clock.now()));
  };
  EXPECT_EQ(verify("node-b", "cluster-1", client_signer()), "ok");
  EXPECT_EQ(verify("node-x", "cluster-1", client_signer()), "E_AUTH");
  EXPECT_EQ(verify("node-b", "cluster-2", client_signer()), "E_AUTH");
  EXPECT_EQ(verify("", "cluster-1", client_signer()), "E_AUTH");
  EXPECT_EQ(verify("node-b", "", client_signer()), "E_AUTH");
  EXPECT_EQ(verify("node-b", "cluster-1", *client_token_signer(kOther, kNoSalt)), "E_AUTH");
  EXPECT_EQ(verify("node-b", "cluster-1", *client_token_signer(kJwtSecret, kOther)), "E_AUTH");
  EXPECT_EQ(verify("node-b", "cluster-1", session_signer()), "E_AUTH");
}

TEST_F(TokensTest, refusals_say_nothing_of_the_credential) {
  ClientTokens tokens("node-b", "cluster-1", client_signer().verifier());
  std::string token = *mint_client_token(session_signer(), client_grant(), clock.now(), random);
  auto refused = tokens.verify(token, clock.now());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the credential was not accepted");
  EXPECT_EQ(refused.error().detail.find(token.substr(0, 20)), std::string::npos);
}

TEST_F(TokensTest, lifetimes_are_bounded_at_both_ends) {
  for (auto [lifetime, good] :
       {std::pair{0, false}, {1, true}, {86'400, true}, {86'401, false}, {-1, false}}) {
    auto grant = client_grant();
    grant.lifetime = seconds(lifetime);
    EXPECT_EQ(mint_client_token(client_signer(), grant, clock.now(), random).has_value(), good)
        << lifetime;
  }
  for (auto member : {&ClientGrant::issuer, &ClientGrant::cluster, &ClientGrant::subject}) {
    auto grant = client_grant();
    grant.*member = "";
    EXPECT_FALSE(mint_client_token(client_signer(), grant, clock.now(), random).has_value());
  }
  EXPECT_FALSE(session_token_signer({}, kNoSalt).has_value());
}

TEST_F(TokensTest, access_tokens_are_rs256_of_the_issuer_for_us) {
  auto rules = access_token_rules("https://idp", "scp", seconds(30));
  auto token = [&](std::string_view typ, base::json::Object change) {
    base::json::Object claims{{"iss", "https://idp"},
                              {"aud", {"other", "scp"}},
                              {"sub", "svc"},
                              {"scope", "cap:list"},
                              {"iat", base::jose::numeric_date(clock.now())},
                              {"exp", base::jose::numeric_date(clock.now() + seconds(60))}};
    for (auto& member : change) {
      if (member.value().is_null())
        claims.erase(member.key());
      else
        claims[member.key()] = member.value();
    }
    if (!typ.empty()) return *base::jose::sign(rsa_signer(), typ, claims);
    std::string text = base::crypto::to_base64url(R"({"alg":"RS256"})") + "." +
                       base::crypto::to_base64url(base::json::write(claims));
    return text + "." + base::crypto::to_base64url(rsa_signer().sign(text));
  };
  auto verifier = rsa_signer().verifier();
  auto answer = [&](const std::string& text) {
    return code(verify_access_token(text, verifier, rules, clock.now()));
  };
  for (std::string_view typ : {"", "JWT", "at+jwt", "AT+JWT"})
    EXPECT_EQ(answer(token(typ, {})), "ok") << typ;
  for (std::string_view typ : {"scp-client+jwt", "scp-session+jwt", "id+jwt"}) {
    EXPECT_EQ(answer(token(typ, {})), "E_AUTH") << typ;
  }
  for (const char* missing : {"iss", "aud", "sub", "iat", "exp"}) {
    EXPECT_EQ(answer(token("JWT", {{missing, nullptr}})), "E_AUTH") << missing;
  }
  EXPECT_EQ(answer(token("JWT", {{"scope", nullptr}})), "ok");
  EXPECT_EQ(answer(token("JWT", {{"iss", "https://idp/"}})), "E_AUTH");
  EXPECT_EQ(answer(token("JWT", {{"aud", "other"}})), "E_AUTH");
  EXPECT_EQ(answer(token("JWT", {{"exp", base::jose::numeric_date(clock.now() - seconds(30))}})),
            "E_EXPIRED");
  EXPECT_EQ(answer(token("JWT", {{"exp", base::jose::numeric_date(clock.now() - seconds(29))}})),
            "ok");
  auto forged = *base::jose::sign(*Signer::hs256(rsa_key().verify_key().to_pem()), "JWT",
                                  {{"iss", "https://idp"},
                                   {"aud", "scp"},
                                   {"sub", "svc"},
                                   {"iat", base::jose::numeric_date(clock.now())},
                                   {"exp", base::jose::numeric_date(clock.now() + seconds(60))}});
  EXPECT_EQ(answer(forged), "E_AUTH");
}

TEST_F(TokensTest, an_untyped_token_is_refused_where_a_type_is_wanted) {
  base::json::Object claims{{"iss", "node-b"},
                            {"aud", "cluster-1"},
                            {"sub", "a"},
                            {"jti", "1"},
                            {"scope", ""},
                            {"iat", base::jose::numeric_date(clock.now())},
                            {"nbf", base::jose::numeric_date(clock.now())},
                            {"exp", base::jose::numeric_date(clock.now() + seconds(60))}};
  std::string text = base::crypto::to_base64url(R"({"alg":"HS256"})") + "." +
                     base::crypto::to_base64url(base::json::write(claims));
  text += "." + base::crypto::to_base64url(client_signer().sign(text));
  ClientTokens tokens("node-b", "cluster-1", client_signer().verifier());
  EXPECT_EQ(code(tokens.verify(text, clock.now())), "E_AUTH");
}

TEST_F(TokensTest, faults_of_credentials_keep_temporary_and_final_apart) {
  using base::ErrorKind;
  struct Case {
    ErrorKind kind;
    std::string_view reason;
    Code code;
  };
  const std::vector<Case> cases = {
      {ErrorKind::kUnauthenticated, base::jose::reason::kExpired, Code::kExpired},
      {ErrorKind::kUnauthenticated, base::jose::reason::kNotYetValid, Code::kAuth},
      {ErrorKind::kUnauthenticated, base::jose::reason::kSignature, Code::kAuth},
      {ErrorKind::kUnavailable, "", Code::kUpstream},
      {ErrorKind::kTimeout, "", Code::kTimeout},
      {ErrorKind::kInternal, "", Code::kAuth},
  };
  for (const auto& [kind, reason, wanted] : cases) {
    EXPECT_EQ(credential_fault(base::fail(kind, "x").with_reason(reason)).code, wanted);
  }
}

TEST_F(TokensTest, the_api_key_is_proved_for_one_connection) {
  base::Secret key("Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0");
  auto credential = api_key_credential(key, th1);
  EXPECT_EQ(code(verify_api_key(credential, key, th1, {})), "ok");
  EXPECT_EQ(code(verify_api_key(credential, key, Digest{7}, {})), "E_AUTH");
  EXPECT_EQ(code(verify_api_key(credential, kOther, th1, {})), "E_AUTH");
  EXPECT_EQ(code(verify_api_key("", key, th1, {})), "E_AUTH");
  EXPECT_EQ(code(verify_api_key(credential + "A", key, th1, {})), "E_AUTH");
  EXPECT_EQ(code(verify_api_key(key.reveal(), key, th1, {})), "E_AUTH");
  EXPECT_EQ(code(verify_api_key(api_key_credential({}, th1), {}, th1, {})), "E_AUTH");
  EXPECT_EQ(verify_api_key(credential, key, th1, {.subject = "key", .issuer = "n"})->subject,
            "key");
}

TEST(MethodTest, fits_its_modes_only) {
  struct Case {
    Method method;
    std::vector<Mode> modes;
  };
  const std::vector<Case> cases = {
      {Method::kApiKey, {Mode::kSimple, Mode::kEncrypted}},
      {Method::kJwt, {Mode::kSimple, Mode::kBasic, Mode::kEncrypted}},
      {Method::kOauth2, {Mode::kEnterprise}},
      {Method::kMtls, {Mode::kBasic, Mode::kEnterprise}},
      {Method::kNode, {Mode::kSimple, Mode::kBasic, Mode::kEncrypted, Mode::kEnterprise}},
  };
  for (const auto& [method, modes] : cases) {
    for (auto mode : {Mode::kSimple, Mode::kBasic, Mode::kEncrypted, Mode::kEnterprise}) {
      bool wanted = std::ranges::find(modes, mode) != modes.end();
      EXPECT_EQ(fits(method, mode), wanted) << name(method) << name(mode);
    }
  }
  EXPECT_FALSE(method_of("password").has_value());
  EXPECT_EQ(method_of("node"), Method::kNode);
  EXPECT_EQ(method_of("api_key"), Method::kApiKey);
}

}  // namespace
}  // namespace tool::session
