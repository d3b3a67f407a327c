// The vectors of tests/golden/wire: made by another implementation, in another
// language, from the text of docs/wire-3.0.md.

#include "base/testing/golden.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/crypto/encoding.h"
#include "base/json/canonical.h"
#include "toolserver/model/ijson.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/fixture_test.h"
#include "toolserver/session/holder_proof.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

using base::json::Object;

base::json::Array cases_of(std::string_view file) {
  auto value = base::json::parse(base::testing::read_golden("wire/" + std::string(file)));
  EXPECT_TRUE(value.has_value());
  auto cases = value->as_object().at("cases").as_array();
  EXPECT_FALSE(cases.empty());
  return cases;
}

std::string text(const Object& object, std::string_view name) {
  return std::string(object.at({name.data(), name.size()}).as_string());
}
std::string bytes(const Object& object, std::string_view name) {
  return *base::crypto::from_hex(text(object, name), 1 << 20);
}
Digest digest(const Object& object, std::string_view name) {
  Digest out{};
  auto from = bytes(object, name);
  EXPECT_EQ(from.size(), out.size());
  std::copy(from.begin(), from.end(), out.begin());
  return out;
}
std::string hex(const Digest& value) { return base::crypto::to_hex(base::crypto::view(value)); }
std::string hex(const SecretBytes& value) { return base::crypto::to_hex(value.reveal()); }
SecretBytes secret(const Object& object, std::string_view name) {
  return SecretBytes::copy_of(bytes(object, name));
}
std::string answer_of(const auto& outcome) {
  return outcome ? "ok" : std::string(name(outcome.error().code));
}

TEST(GoldenTest, canonical_forms) {
  for (const auto& value : cases_of("canonical.json")) {
    const auto& row = value.as_object();
    auto parsed = parse_ijson(bytes(row, "input"));
    if (row.contains("refused")) {
      EXPECT_EQ(answer_of(parsed), text(row, "refused")) << text(row, "name");
      continue;
    }
    ASSERT_TRUE(parsed.has_value()) << text(row, "name") << parsed.error().message;
    EXPECT_EQ(*base::json::canonical(*parsed), bytes(row, "canonical")) << text(row, "name");
  }
}

void expect_keys(const SessionKeys& keys, const Object& wanted) {
  EXPECT_EQ(wanted.size(), kKeyLabels);
  for (std::size_t i = 0; i < kKeyLabels; ++i) {
    auto label = static_cast<KeyLabel>(i);
    EXPECT_EQ(hex(keys.key(label)), text(wanted, name(label))) << name(label);
  }
}

TEST(GoldenTest, key_schedules) {
  for (const auto& value : cases_of("key_schedule.json")) {
    const auto& row = value.as_object();
    auto psk = make_psk(base::Secret(text(row, "secret")), base::Secret(text(row, "kdf_salt")));
    EXPECT_EQ(hex(psk), text(row, "psk"));
    Digest th1 =
        transcript_hello(bytes(row, "hello"), bytes(row, "welcome0"), bytes(row, "binding"));
    EXPECT_EQ(hex(th1), text(row, "th1"));
    auto keys = SessionKeys::first(th1, secret(row, "dh"), psk);
    expect_keys(keys, row.at("keys").as_object());
    EXPECT_EQ(hex(server_proof(psk, th1)), text(row, "proof"));
    EXPECT_EQ(api_key_credential(base::Secret(text(row, "api_key")), th1),
              text(row, "api_key_credential"));
    Digest th_auth = transcript_auth(th1, bytes(row, "auth0"));
    EXPECT_EQ(hex(th_auth), text(row, "th_auth"));
    EXPECT_EQ(hex(base::crypto::hmac_sha256(keys.key(KeyLabel::kConfirmC).reveal(),
                                            base::crypto::view(th_auth))),
              text(row, "confirm_c"));
    Digest th2 = transcript_ready(th_auth, bytes(row, "ready0"));
    EXPECT_EQ(hex(th2), text(row, "th2"));
    EXPECT_EQ(hex(base::crypto::hmac_sha256(keys.key(KeyLabel::kConfirmS).reveal(),
                                            base::crypto::view(th2))),
              text(row, "confirm_s"));
    auto epoch = static_cast<std::uint32_t>(row.at("epoch").as_int64());
    Digest th_r = transcript_rekey(th2, epoch, bytes(row, "eph_c"), bytes(row, "eph_s"));
    EXPECT_EQ(hex(th_r), text(row, "th_r"));
    expect_keys(keys.next(th_r, secret(row, "dh2")), row.at("next_keys").as_object());
  }
}

TEST(GoldenTest, records) {
  for (const auto& value : cases_of("records.json")) {
    const auto& row = value.as_object();
    auto key = bytes(row, "key"), iv = bytes(row, "iv");
    RecordStart start{.algorithm = traits(*suite_of(text(row, "suite"))).aead,
                      .key = key,
                      .iv = iv,
                      .transcript = digest(row, "binding"),
                      .epoch = static_cast<std::uint16_t>(row.at("epoch").as_int64()),
                      .counter = static_cast<std::uint64_t>(row.at("counter").as_int64())};
    auto opened = RecordOpener(start).open(bytes(row, "record"));
    if (row.contains("refused")) {
      EXPECT_EQ(answer_of(opened), text(row, "refused")) << text(row, "name");
      continue;
    }
    ASSERT_TRUE(opened.has_value()) << text(row, "name");
    EXPECT_EQ(*opened, bytes(row, "plaintext"));
    EXPECT_EQ(RecordSealer(start).seal(*opened), bytes(row, "record"));
  }
}

TEST(GoldenTest, signatures) {
  int whole = 0;
  for (const auto& value : cases_of("signatures.json")) {
    const auto& row = value.as_object();
    auto tree = parse_ijson(text(row, "message"));
    ASSERT_TRUE(tree.has_value());
    EXPECT_EQ(*base::json::canonical(*tree), bytes(row, "canonical")) << text(row, "name");
    // Some are of a type that wants more members; a signature does not care.
    if (auto envelope = parse_envelope(text(row, "message"))) {
      ++whole;
      EXPECT_EQ(*canonical_without_sig(*envelope), bytes(row, "canonical")) << text(row, "name");
    }
    MessageKey key(Direction::kClientToServer, secret(row, "key"));
    auto signature = key.sign(digest(row, "transcript"), bytes(row, "canonical"));
    EXPECT_EQ(base::crypto::to_base64url(base::crypto::view(signature.value)), text(row, "v"));
    EXPECT_TRUE(key.verify(digest(row, "transcript"), bytes(row, "canonical"), signature));
  }
  EXPECT_GE(whole, 10);
}

TEST(GoldenTest, replay_decisions) {
  for (const auto& value : cases_of("replay.json")) {
    const auto& row = value.as_object();
    testing::TestRandom random;
    auto at = [](const Object& object, const char* name) {
      return WireTime(std::chrono::milliseconds(object.at(name).as_int64()));
    };
    ReplayWindow window({.window = std::chrono::milliseconds(row.at("window_ms").as_int64())},
                        random);
    std::map<std::string, Ulid> sessions;
    for (const auto& each : row.at("steps").as_array()) {
      const auto& step = each.as_object();
      auto [session, is_new] = sessions.try_emplace(text(step, "session"));
      if (is_new) session->second = Ulid::make(at(step, "now"), random);
      MessageNonce nonce{};
      auto from = bytes(step, "nonce");
      std::copy(from.begin(), from.end(), nonce.begin());
      auto answer = window.admit(session->second, nonce, at(step, "ts"), at(step, "now"));
      EXPECT_EQ(answer_of(answer), text(step, "answer")) << text(row, "name");
    }
  }
}

base::jose::Verifier verifier_of(const Object& row) {
  if (text(row, "alg") == "HS256") {
    return client_token_signer(base::Secret(text(row, "jwt_secret")),
                               base::Secret(text(row, "kdf_salt")))
        ->verifier();
  }
  return *base::jose::Verifier::with_key(
      base::jose::Algorithm::kRs256,
      *base::crypto::VerifyKey::from_pem(text(row, "public_key_pem")));
}

TEST(GoldenTest, tokens) {
  for (const auto& value : cases_of("tokens.json")) {
    const auto& row = value.as_object();
    ASSERT_EQ(text(row, "typ"), "scp-client+jwt");
    ClientTokens tokens(text(row, "issuer"), text(row, "audience"), verifier_of(row));
    base::WallTime now{std::chrono::seconds(row.at("now").as_int64())};
    EXPECT_EQ(answer_of(tokens.verify(text(row, "token"), now)), text(row, "answer"))
        << text(row, "name");
  }
}

std::vector<std::string> texts(const Object& object, std::string_view name) {
  std::vector<std::string> out;
  for (const auto& one : object.at({name.data(), name.size()}).as_array()) {
    out.emplace_back(one.as_string());
  }
  return out;
}

void expect_client_answer(const Object& row) {
  bool is_enterprise = text(row, "mode") == "enterprise";
  ProofTrust trust{.server_keys = texts(row, "pins"), .psks = {}, .may_be_none = is_enterprise};
  if (trust.server_keys.empty()) {
    for (const auto& secret : texts(row, "secrets")) {
      trust.psks.push_back(make_psk(base::Secret(secret), base::Secret(text(row, "kdf_salt"))));
    }
  }
  auto shown = read_proof(row.at("welcome").as_object());
  if (!shown) {
    EXPECT_EQ(answer_of(shown), text(row, "answer")) << text(row, "name");
    return;
  }
  Digest th1 = digest(row, "th1");
  auto proved = check_proof(*shown, trust, th1);
  EXPECT_EQ(answer_of(proved), text(row, "answer")) << text(row, "name");
  if (!proved) return;
  EXPECT_EQ(*proved ? hex(trust.psks[**proved]) : hex(make_psk({}, {})), text(row, "psk"));
  if (!row.contains("private_key_pem")) return;
  auto key = base::crypto::SigningKey::from_pem(text(row, "private_key_pem"));
  EXPECT_EQ(*sign_node_proof(*key, th1), shown->value);
}

void expect_choice(const Object& row) {
  auto kind = choose_proof({.node_key = row.at("node_key").as_bool(),
                            .secret = row.at("secret").as_bool(),
                            .may_be_none = text(row, "mode") == "enterprise"},
                           texts(row, "proofs"));
  auto wanted = row.at("kind").is_null() ? "" : text(row, "kind");
  EXPECT_EQ(kind ? name(*kind) : "", wanted) << text(row, "name");
}

void expect_transcript(const Object& row) {
  auto welcome = parse_envelope(text(row, "welcome"));
  ASSERT_TRUE(welcome.has_value());
  auto read = read_welcome(welcome->payload);
  ASSERT_TRUE(read.has_value());
  welcome->payload.erase("proof");
  Digest th1 = transcript_hello(text(row, "hello"), *canonical_without_sig(*welcome), "");
  EXPECT_EQ(hex(th1), text(row, "th1"));
  auto hello = read_hello(parse_envelope(text(row, "hello"))->payload);
  EXPECT_TRUE(hello.has_value());
  ProofTrust trust{.server_keys = texts(row, "pins"), .psks = {}};
  EXPECT_EQ(hello->proofs, offered_proofs(trust));
  EXPECT_TRUE(check_proof(read->proof, trust, th1).has_value());
}

TEST(GoldenTest, proofs_of_servers) {
  for (const auto& value : cases_of("proofs.json")) {
    const auto& row = value.as_object();
    auto side = text(row, "side");
    if (side == "client") expect_client_answer(row);
    if (side == "server") expect_choice(row);
    if (side == "transcript") expect_transcript(row);
  }
}

// What a server answers to a token with these claims, shown with this proof.
Outcome<void> answer_to(const Object& row) {
  Binding shown;
  if (row.contains("holder")) {
    auto read = read_credential(
        {{"method", "jwt"}, {"credential", row.at("credential")}, {"holder", row.at("holder")}});
    if (!read) return std::move(read).error();
    auto key = verify_holder(*read->holder, digest(row, "th1"), read->credential.reveal());
    if (!key) return std::move(key).error();
    shown.key = *key;
  }
  if (row.contains("certificate")) shown.certificate = text(row, "certificate");
  auto wanted = read_binding(row.at("claims").as_object());
  if (!wanted) return std::move(wanted).error();
  return check_binding(*wanted, shown,
                       row.at("required").as_bool() ? Unbound::kRefused : Unbound::kAccepted);
}

TEST(GoldenTest, holders) {
  for (const auto& value : cases_of("holders.json")) {
    const auto& row = value.as_object();
    EXPECT_EQ(answer_of(answer_to(row)), text(row, "answer")) << text(row, "name");
    if (!row.contains("thumbprint")) continue;
    auto proof = read_holder(row.at("holder").as_object());
    ASSERT_TRUE(proof.has_value()) << text(row, "name");
    auto shown = verify_holder(*proof, digest(row, "th1"), text(row, "credential"));
    ASSERT_TRUE(shown.has_value()) << text(row, "name");
    EXPECT_EQ(*shown, text(row, "thumbprint"));
    auto key = base::crypto::VerifyKey::from_ed25519(proof->key);
    EXPECT_TRUE(key->verify(base::crypto::SignatureAlgorithm::kEd25519, bytes(row, "signed"),
                            proof->signature));
  }
}

}  // namespace
}  // namespace tool::session
