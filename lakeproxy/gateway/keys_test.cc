#include "lakeproxy/gateway/keys.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/crypto/encoding.h"

namespace lake::gateway {
namespace {

using std::chrono::seconds;

base::WallTime at(int second) { return base::WallTime(seconds(1'800'000'000 + second)); }

Grant some_grant() {
  auto grants = std::make_shared<auth::Grants>();
  grants->scopes = *auth::Scopes::parse("ns:a:rw ns:b:r", auth::OtherWords::kRefused);
  grants->roles = {"x", "y"};
  return {.principal = {.subject = "jane",
                        .superuser = false,
                        .account = "acme",
                        .issuer = "lakeproxy",
                        .grants = grants},
          .catalog = "lake",
          .table = {{{"a", "b.c"}}, "t"},
          .location = "s3://bucket/data/a/t",
          .access = delegation::KeyAccess::kReadWrite,
          .expires = at(60)};
}

base::Secret secret_of(char letter) { return base::Secret(std::string(32, letter)); }

struct KeysTest : ::testing::Test {
  Keys keys(base::Secret secret = secret_of('a'), base::Secret other = {}) {
    return *Keys::create(secret, other, random);
  }
  std::string verdict(Keys& keys, const std::string& id, const std::string& token,
                      base::WallTime now = at(0)) {
    auto opened = keys.open(id, token, now);
    return opened ? "ok" : std::string(opened.error().reason());
  }
  base::SystemRandom random;
};

TEST_F(KeysTest, opens_what_it_has_made) {
  Keys made = keys();
  Key key = *made.mint(some_grant());
  Keys of_another_server = keys();
  auto opened = of_another_server.open(key.access_key_id, key.session_token.reveal(), at(0));
  ASSERT_TRUE(opened.has_value());
  const Grant& grant = opened->grant;
  EXPECT_EQ(grant.principal.subject, "jane");
  EXPECT_EQ(grant.principal.issuer, "lakeproxy");
  EXPECT_EQ(grant.principal.account, "acme");
  EXPECT_FALSE(grant.principal.superuser);
  EXPECT_EQ(grant.principal.grants->scopes.text(), some_grant().principal.grants->scopes.text());
  EXPECT_EQ(grant.principal.grants->roles, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(grant.catalog, "lake");
  EXPECT_EQ(grant.table, some_grant().table);
  EXPECT_EQ(grant.location, "s3://bucket/data/a/t");
  EXPECT_FALSE(grant.staged);
  EXPECT_EQ(grant.access, delegation::KeyAccess::kReadWrite);
  EXPECT_EQ(grant.expires, at(60));
  EXPECT_TRUE(opened->secret_access_key.equals(key.secret_access_key.reveal()));
}

TEST_F(KeysTest, remembers_who_acts) {
  Keys made = keys();
  Grant given = some_grant();
  given.principal.actor = "bot";
  Key key = *made.mint(given);
  EXPECT_EQ(made.open(key.access_key_id, key.session_token.reveal(), at(0))->grant.principal.actor,
            "bot");
}

TEST_F(KeysTest, ends_at_its_time) {
  Keys made = keys();
  Key key = *made.mint(some_grant());
  EXPECT_EQ(verdict(made, key.access_key_id, key.session_token.reveal(), at(59)), "ok");
  EXPECT_EQ(verdict(made, key.access_key_id, key.session_token.reveal(), at(60)), "ExpiredToken");
}

TEST_F(KeysTest, refuses_each_changed_character) {
  Keys made = keys();
  Key key = *made.mint(some_grant());
  const std::string token = key.session_token.reveal();
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(verdict(made, key.access_key_id, other), "InvalidToken") << i;
  }
  EXPECT_EQ(verdict(made, key.access_key_id, token.substr(0, token.size() - 4)), "InvalidToken");
  EXPECT_EQ(verdict(made, key.access_key_id, ""), "InvalidToken");
  EXPECT_EQ(verdict(made, key.access_key_id, token + "="), "InvalidToken");
}

TEST_F(KeysTest, does_not_mix_the_ids_and_tokens_of_two_keys) {
  Keys made = keys();
  Key one = *made.mint(some_grant());
  Key two = *made.mint(some_grant());
  EXPECT_NE(one.access_key_id, two.access_key_id);
  EXPECT_FALSE(one.secret_access_key.equals(two.secret_access_key.reveal()));
  EXPECT_EQ(verdict(made, one.access_key_id, two.session_token.reveal()), "InvalidToken");
  EXPECT_EQ(verdict(made, "AKIAIOSFODNN7EXAMPLE", one.session_token.reveal()),
            "InvalidAccessKeyId");
}

TEST_F(KeysTest, takes_keys_of_the_other_secret_while_secrets_are_changed) {
  Keys before = keys(secret_of('a'));
  Key key = *before.mint(some_grant());
  Keys between = keys(secret_of('b'), secret_of('a'));
  auto opened = between.open(key.access_key_id, key.session_token.reveal(), at(0));
  ASSERT_TRUE(opened.has_value());
  EXPECT_TRUE(opened->secret_access_key.equals(key.secret_access_key.reveal()));
  Keys after = keys(secret_of('b'));
  EXPECT_EQ(verdict(after, key.access_key_id, key.session_token.reveal()), "InvalidToken");
}

TEST_F(KeysTest, needs_a_secret_of_32_bytes) {
  EXPECT_FALSE(Keys::create(base::Secret(std::string(31, 'a')), {}, random).has_value());
  EXPECT_FALSE(Keys::create(secret_of('a'), base::Secret("short"), random).has_value());
}

TEST_F(KeysTest, tells_nothing_of_what_it_is_for) {
  Keys made = keys();
  const std::string token = made.mint(some_grant())->session_token.reveal();
  EXPECT_FALSE(base::crypto::from_base64url(token, 8192)->contains("jane"));
}

}  // namespace
}  // namespace lake::gateway
