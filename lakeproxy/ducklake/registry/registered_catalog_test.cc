#include "lakeproxy/ducklake/registry/registered_catalog.h"

#include <gtest/gtest.h>

namespace lake::model {
namespace {

base::Result<RegisteredCatalog> parsed(base::json::Object members) {
  return registered_catalog_from_json(base::json::Value(std::move(members)));
}

base::json::Object good() {
  return {{"catalog_id", "tenant-1"}, {"metadata_schema", "tenant_1"}, {"data_prefix", "t/1/"}};
}

TEST(RegisteredCatalog, reads_what_it_writes) {
  auto members = good();
  members["account_id"] = "acme";
  auto catalog = parsed(members);
  ASSERT_TRUE(catalog) << catalog.error().message();
  EXPECT_EQ(*catalog, (RegisteredCatalog{"tenant-1", "tenant_1", "t/1/", "acme"}));
  EXPECT_EQ(to_json(*catalog), base::json::Value(members));
  EXPECT_EQ(parsed(good())->account_id, std::nullopt);
}

struct Case {
  const char* member;
  std::string value;
  bool good;
};

TEST(RegisteredCatalog, names_the_member_that_breaks_its_rule) {
  const Case cases[] = {
      {"catalog_id", "a", true},
      {"catalog_id", "_A-9", true},
      {"catalog_id", std::string(63, 'a'), true},
      {"catalog_id", std::string(64, 'a'), false},
      {"catalog_id", "", false},
      {"catalog_id", "1a", false},
      {"catalog_id", "-a", false},
      {"catalog_id", "a/b", false},
      {"catalog_id", "a b", false},
      {"catalog_id", "config", false},
      {"catalog_id", "oauth", false},
      {"metadata_schema", "a_1", true},
      {"metadata_schema", std::string(63, 's'), true},
      {"metadata_schema", std::string(64, 's'), false},
      {"metadata_schema", "", false},
      {"metadata_schema", "A", false},
      {"metadata_schema", "a-b", false},
      {"metadata_schema", "a\"b", false},
      {"metadata_schema", "1a", false},
      {"metadata_schema", "pg_catalog", false},
      {"metadata_schema", "information_schema", false},
      {"data_prefix", "a/", true},
      {"data_prefix", "a.b/c=d/", true},
      {"data_prefix", std::string(511, 'p') + "/", true},
      {"data_prefix", std::string(512, 'p') + "/", false},
      {"data_prefix", "", false},
      {"data_prefix", "/", false},
      {"data_prefix", "a", false},
      {"data_prefix", "/a/", false},
      {"data_prefix", "a//b/", false},
      {"data_prefix", "../", false},
      {"data_prefix", "a/./", false},
      {"data_prefix", "a%2F/", false},
      {"account_id", "acme", true},
      {"account_id", std::string(255, 'x'), true},
      {"account_id", std::string(256, 'x'), false},
      {"account_id", "", false},
      {"account_id", "a\nb", false},
      {"acount_id", "acme", false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.member) + "=" + c.value);
    auto members = good();
    members[c.member] = c.value;
    auto catalog = parsed(members);
    EXPECT_EQ(catalog.has_value(), c.good);
    if (!catalog) {
      EXPECT_EQ(catalog.error().kind(), base::ErrorKind::kInvalid);
      EXPECT_NE(catalog.error().message().find(c.member), std::string::npos);
    }
  }
}

TEST(RegisteredCatalog, needs_every_member_but_the_account) {
  for (const char* member : {"catalog_id", "metadata_schema", "data_prefix"}) {
    auto members = good();
    members.erase(member);
    EXPECT_EQ(parsed(members).error().kind(), base::ErrorKind::kInvalid) << member;
  }
}

}  // namespace
}  // namespace lake::model
