#include "toolserver/session/role_scopes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::session {
namespace {

namespace json = base::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Scopes scopes(std::string_view text) { return *Scopes::parse(text); }
json::Object object(std::string_view text) { return json::parse(text)->as_object(); }

RoleScopes table() {
  RoleScopes rules;
  rules.claims = {"/groups", "/realm_access/roles", "/https:~1~1id.example~1role"};
  rules.scopes.emplace("readers", scopes("cap:list tool:invoke:files.read"));
  rules.scopes.emplace("sql people", scopes("cap:list tool:invoke:sql.query"));
  return rules;
}

std::vector<std::string> granted(std::string_view claims, std::string_view own = "") {
  auto all = with_roles(table(), object(claims), own.empty() ? Scopes() : scopes(own));
  EXPECT_TRUE(all.has_value()) << claims;
  return all ? all->list() : std::vector<std::string>();
}

TEST(RoleScopes, grants_what_the_table_says_of_each_role) {
  EXPECT_THAT(granted(R"({"groups":["readers"]})"),
              ElementsAre("cap:list", "tool:invoke:files.read"));
  EXPECT_THAT(granted(R"({"groups":"sql people"})"),
              ElementsAre("cap:list", "tool:invoke:sql.query"));
  EXPECT_THAT(granted(R"({"realm_access":{"roles":["readers","sql people"]}})"),
              ElementsAre("cap:list", "tool:invoke:files.read", "tool:invoke:sql.query"));
  EXPECT_THAT(granted(R"({"https://id.example/role":"readers"})"),
              ElementsAre("cap:list", "tool:invoke:files.read"));
}

TEST(RoleScopes, adds_to_the_scopes_of_the_token) {
  EXPECT_THAT(granted(R"({"groups":["readers"]})", "flow:run cap:list"),
              ElementsAre("flow:run", "cap:list", "tool:invoke:files.read"));
}

TEST(RoleScopes, grants_nothing_for_what_is_not_in_the_table) {
  for (const char* claims :
       {R"({})", R"({"groups":[]})", R"({"groups":["Readers","reader","readers ","*",""]})",
        R"({"groups":"readers,sql people"})", R"({"other":["readers"]})",
        R"({"realm_access":["readers"]})", R"({"realm_access":"readers"})"}) {
    EXPECT_THAT(granted(claims), IsEmpty()) << claims;
  }
}

TEST(RoleScopes, reads_no_claim_that_the_table_does_not_name) {
  RoleScopes none = table();
  none.claims.clear();
  auto all = with_roles(none, object(R"({"groups":["readers"]})"), scopes("flow:run"));
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT(all->list(), ElementsAre("flow:run"));
}

TEST(RoleScopes, refuses_a_claim_that_cannot_be_read) {
  std::string many = "\"r\"";
  for (std::size_t i = 0; i < RoleScopes::kRoles; ++i) many += ",\"r\"";
  for (const std::string& claims :
       {std::string(R"({"groups":7})"), std::string(R"({"groups":["readers",7]})"),
        std::string(R"({"groups":null})"), std::string(R"({"groups":{"readers":true}})"),
        fmt::format(R"({{"groups":[{}]}})", many)}) {
    auto all = with_roles(table(), object(claims), Scopes());
    ASSERT_FALSE(all.has_value()) << claims.substr(0, 80);
    EXPECT_EQ(all.error().code, Code::kAuth);
  }
}

TEST(RoleScopes, refuses_more_scopes_than_one_may_have) {
  RoleScopes rules = table();
  std::string many = "s0";
  for (int i = 1; i < 256; ++i) many += fmt::format(" s{}", i);
  rules.scopes.emplace("all", scopes(many));
  EXPECT_TRUE(with_roles(rules, object(R"({"groups":["all"]})"), Scopes()).has_value());
  EXPECT_FALSE(with_roles(rules, object(R"({"groups":["all","readers"]})"), Scopes()).has_value());
}

}  // namespace
}  // namespace tool::session
