#include "lakeproxy/auth/clients.h"

#include <gtest/gtest.h>

namespace lake::auth {
namespace {

// Of "open sesame".
constexpr const char* kBcrypt = "$2b$05$abcdefghijklmnopqrstuupx2xBUC4954936wVIjyyPHmUBFu0wCW";

TEST(Clients, are_read_of_entries) {
  Clients clients;
  ASSERT_TRUE(clients.add_entries(
      "admin:top:secret|*, etl:s2|ns:sales:rw ns:ops:r|loader auditor|acme ,\n ro:s3|ns:*:r||"));
  EXPECT_EQ(clients.size(), 3U);
  const Client* admin = clients.find("admin");
  ASSERT_NE(admin, nullptr);
  EXPECT_TRUE(admin->secret.equals("top:secret"));
  EXPECT_TRUE(admin->scopes.is_administrator());
  EXPECT_FALSE(admin->account);
  const Client* etl = clients.find("etl");
  ASSERT_NE(etl, nullptr);
  EXPECT_EQ(etl->scopes.text(), "ns:sales:rw ns:ops:r");
  EXPECT_EQ(etl->roles, (std::vector<std::string>{"loader", "auditor"}));
  EXPECT_EQ(etl->account, "acme");
  EXPECT_FALSE(clients.find("ro")->account);
  EXPECT_EQ(clients.find("nobody"), nullptr);
  EXPECT_FALSE(clients.has_hashes());
}

TEST(Clients, are_read_of_a_file) {
  Clients clients;
  ASSERT_TRUE(clients.add_json(R"([
      {"id": "a", "secret": "x|y,z", "scope": "*"},
      {"id": "b", "secret": ")" +
                               std::string(kBcrypt) + R"(", "scope": ["ns:sales:r", "ns:x:w"],
       "roles": ["data engineer", "q"], "account": "acme"},
      {"id": "c", "secret": "s", "scope": "ns:a:r ns:b:r", "roles": "one two", "account": null}])"));
  EXPECT_TRUE(clients.find("a")->secret.equals("x|y,z"));
  const Client* b = clients.find("b");
  EXPECT_TRUE(b->secret.is_hash());
  EXPECT_TRUE(b->secret.is_hash_of("open sesame"));
  EXPECT_FALSE(b->secret.is_hash_of("open"));
  EXPECT_FALSE(b->secret.equals(kBcrypt)) << "the hash is no secret";
  EXPECT_EQ(b->scopes.text(), "ns:sales:r ns:x:w");
  EXPECT_EQ(b->roles.front(), "data engineer");
  EXPECT_EQ(clients.find("c")->roles.size(), 2U);
  EXPECT_TRUE(clients.has_hashes());
}

TEST(Clients, a_wrong_entry_is_named_by_its_number_and_never_shown) {
  const std::pair<const char*, const char*> cases[] = {
      {"s3cr3t", "entry 1: entry: must begin with id:secret"},
      {"a:s3cr3t", "entry 1: scope: is required, such as ns:sales:r"},
      {"a:s3cr3t|", "entry 1: scope: is required, such as ns:sales:r"},
      {"a:s3cr3t|*,b:|*", "entry 2: secret: must be 1 to 512 bytes"},
      {":s3cr3t|*",
       "entry 1: id: must be 1 to 255 printable ASCII characters without ':' and \", \""},
      {"a:s3cr3t|read", "entry 1: scope: word 1 must be * or ns:<name>:<r, w, rw or *>"},
      {"a:s3cr3t|*|r|x|s3cr3t", "entry 1: entry: must be id:secret|scope|roles|account"},
      {"a:s3cr3t|*,a:s3cr3t|*", "entry 2: id: is there twice"},
      {"a:$6$s3cr3t|*",
       "entry 1: secret: begins with '$' and is neither an argon2id nor a bcrypt hash"},
      {"a:s3cr3t|*||\x01", "entry 1: account: must be 1 to 255 printable ASCII characters"},
  };
  for (const auto& [text, message] : cases) {
    Clients clients;
    auto added = clients.add_entries(text);
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().message(), message);
    EXPECT_FALSE(added.error().message().contains("s3cr3t"));
    EXPECT_FALSE(added.error().detail().contains("s3cr3t"));
  }
}

TEST(Clients, a_wrong_file_is_refused_and_never_shown) {
  for (const char* text :
       {"", "{}", "[s3cr3t]", R"(["s3cr3t"])", R"([{"id":"a","secret":"s3cr3t"}])",
        R"([{"id":"a","secret":"s3cr3t","scope":7}])",
        R"([{"id":"a","secret":["s3cr3t"],"scope":"*"}])",
        R"([{"id":"a","secret":"s3cr3t","scope":"*","accounts":"x"}])",
        R"([{"id":"a","secret":"s3cr3t","scope":"*","account":""}])",
        R"([{"id":"a","secret":"s3cr3t","scope":"*","roles":[""]}])",
        R"([{"id":"a:b","secret":"s3cr3t","scope":"*"}])",
        R"([{"id":"a","secret":"$argon2i$s3cr3t","scope":"*"}])",
        R"([{"id":"a","id":"b","secret":"s3cr3t","scope":"*"}])"}) {
    Clients clients;
    auto added = clients.add_json(text);
    ASSERT_FALSE(added) << text;
    EXPECT_FALSE(added.error().message().contains("s3cr3t")) << added.error().message();
    EXPECT_FALSE(added.error().detail().contains("s3cr3t")) << added.error().detail();
  }
}

TEST(Clients, one_name_stands_in_one_place) {
  Clients clients;
  ASSERT_TRUE(clients.add_entries("a:s|*"));
  EXPECT_FALSE(clients.add_json(R"([{"id":"a","secret":"other","scope":"*"}])"));
  EXPECT_TRUE(clients.find("a")->secret.equals("s"));
}

}  // namespace
}  // namespace lake::auth
