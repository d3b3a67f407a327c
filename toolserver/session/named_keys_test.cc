#include "toolserver/session/named_keys.h"

#include <gtest/gtest.h>

#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

using std::chrono::hours;

const base::WallTime kNow(std::chrono::milliseconds(1'795'251'600'000));
const base::crypto::Digest kTh1 = base::crypto::sha256("a transcript");

const Details kDetails = *Details::parse(*base::json::parse(
    R"([{"type":"scp_tool","tool":"sql.query","args":{"sql":{"tables":["sales"]}}}])"));

struct NamedKeysTest : ::testing::Test {
  NamedKeysTest() {
    for (const char* name : {"reports", "nightly-2"}) {
      made.emplace(name, make_named_key(name, random));
      keys[name] = {base::crypto::sha256(made.at(name).reveal()),
                    {*Scopes::parse("tool:invoke:sql.query"), kDetails},
                    kNow + hours(1)};
    }
  }
  Outcome<Principal> verify(std::string_view credential, base::WallTime now = kNow) {
    return verify_named_key(credential, keys, kTh1, "node-b", now, kNow + hours(12));
  }
  std::string code(std::string_view credential, base::WallTime now = kNow) {
    auto verified = verify(credential, now);
    return verified ? "ok" : std::string(name(verified.error().code));
  }

  base::SystemRandom random;
  std::map<std::string, base::Secret> made;
  NamedKeys keys;
};

TEST_F(NamedKeysTest, a_key_says_its_name) {
  std::string key(made.at("nightly-2").reveal());
  EXPECT_EQ(key.size(), 5 + 9 + 1 + 43U);
  EXPECT_EQ(name_in_key(key), "nightly-2");
  EXPECT_NE(make_named_key("reports", random).reveal(), made.at("reports").reveal());
  for (const std::string& text :
       {std::string(), std::string("scpk_"), std::string("scpk_a_short"), key + "x", key.substr(1),
        key.substr(0, key.size() - 1) + ".", "scpk_Nightly_" + std::string(43, 'x'),
        "scpk__" + std::string(43, 'x'),
        "scpk_" + std::string(65, 'a') + "_" + std::string(43, 'x')}) {
    EXPECT_EQ(name_in_key(text), "") << text;
  }
  EXPECT_EQ(name_in_key("scpk_" + std::string(64, 'a') + "_" + std::string(43, '_')),
            std::string(64, 'a'));
}

TEST_F(NamedKeysTest, a_proof_opens_what_the_key_may_do) {
  auto credential = api_key_credential(made.at("reports"), kTh1);
  EXPECT_TRUE(is_of_named_key(credential));
  EXPECT_EQ(credential, named_key_credential("reports", keys["reports"].hash, kTh1));
  auto principal = verify(credential);
  ASSERT_TRUE(principal.has_value());
  EXPECT_EQ(principal->subject, "key:reports");
  EXPECT_EQ(principal->issuer, "node-b");
  EXPECT_EQ(principal->method, Method::kApiKey);
  EXPECT_EQ(principal->scopes.text(), "tool:invoke:sql.query");
  EXPECT_EQ(principal->details.json(), kDetails.json());
  EXPECT_EQ(principal->expires_at, kNow + hours(1));
  keys["reports"].expires_at = base::WallTime::max();
  EXPECT_EQ(verify(credential)->expires_at, kNow + hours(12));
}

TEST_F(NamedKeysTest, another_proof_opens_nothing) {
  auto credential = api_key_credential(made.at("reports"), kTh1);
  std::string mac = credential.substr(credential.find('.'));
  auto elsewhere = api_key_credential(made.at("reports"), base::crypto::sha256("another"));
  for (const std::string& wrong :
       {std::string("."), "reports" + std::string("."), "nightly-2" + mac, "unknown" + mac, mac,
        credential + "x", elsewhere,
        named_key_credential("unknown", base::crypto::Digest{}, kTh1)}) {
    EXPECT_EQ(code(wrong), "E_AUTH") << wrong;
  }
  keys.erase("reports");
  EXPECT_EQ(code(credential), "E_AUTH");
}

TEST_F(NamedKeysTest, a_key_ends_and_only_its_holder_is_told) {
  auto credential = api_key_credential(made.at("reports"), kTh1);
  EXPECT_EQ(code(credential, kNow + hours(1) - std::chrono::milliseconds(1)), "ok");
  EXPECT_EQ(code(credential, kNow + hours(1)), "E_EXPIRED");
  EXPECT_EQ(code("reports.wrong", kNow + hours(1)), "E_AUTH");
}

TEST_F(NamedKeysTest, a_shared_key_is_proved_as_before) {
  base::Secret shared("Zr5Xq8Wn2Vb7Mc4Kj9Hg3Fd6Sa1PoIu0");
  EXPECT_FALSE(is_of_named_key(api_key_credential(shared, kTh1)));
}

}  // namespace
}  // namespace tool::session
