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
Grant grant(std::string_view text, std::string_view details = "[]") {
  return {scopes(text), *Details::parse(*json::parse(details))};
}
json::Object object(std::string_view text) { return json::parse(text)->as_object(); }

RoleScopes table() {
  RoleScopes rules;
  rules.claims = {"/groups", "/realm_access/roles", "/https:~1~1id.example~1role"};
  rules.scopes.emplace("readers", grant("cap:list tool:invoke:files.read"));
  rules.scopes.emplace("sql people", grant("cap:list tool:invoke:sql.query"));
  return rules;
}

std::vector<std::string> granted(std::string_view claims, std::string_view own = "") {
  auto all = with_roles(table(), object(claims), grant(own));
  EXPECT_TRUE(all.has_value()) << claims;
  return all ? all->scopes.list() : std::vector<std::string>();
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
  auto all = with_roles(none, object(R"({"groups":["readers"]})"), grant("flow:run"));
  ASSERT_TRUE(all.has_value());
  EXPECT_THAT(all->scopes.list(), ElementsAre("flow:run"));
}

TEST(RoleScopes, refuses_a_claim_that_cannot_be_read) {
  std::string many = "\"r\"";
  for (std::size_t i = 0; i < RoleScopes::kRoles; ++i) many += ",\"r\"";
  for (const std::string& claims :
       {std::string(R"({"groups":7})"), std::string(R"({"groups":["readers",7]})"),
        std::string(R"({"groups":null})"), std::string(R"({"groups":{"readers":true}})"),
        fmt::format(R"({{"groups":[{}]}})", many)}) {
    auto all = with_roles(table(), object(claims), Grant());
    ASSERT_FALSE(all.has_value()) << claims.substr(0, 80);
    EXPECT_EQ(all.error().code, Code::kAuth);
  }
}

TEST(RoleScopes, refuses_more_scopes_than_one_may_have) {
  RoleScopes rules = table();
  std::string many = "s0";
  for (int i = 1; i < 256; ++i) many += fmt::format(" s{}", i);
  rules.scopes.emplace("all", grant(many));
  EXPECT_TRUE(with_roles(rules, object(R"({"groups":["all"]})"), Grant()).has_value());
  EXPECT_FALSE(with_roles(rules, object(R"({"groups":["all","readers"]})"), Grant()).has_value());
}

std::string in(std::string_view folder) {
  return fmt::format(
      R"([{{"type":"scp_tool","tool":"files.read","args":{{"path":{{"within":"{}"}}}}}}])", folder);
}

// What narrows files.read for one who is in `groups` and has `own`.
std::string narrowed(std::string_view groups, const Grant& own) {
  RoleScopes rules;
  rules.claims = {"/groups"};
  rules.scopes.emplace("a", grant("tool:invoke:files.read", in("a")));
  rules.scopes.emplace("b", grant("tool:invoke:files.*", in("b")));
  rules.scopes.emplace("all", grant("tool:invoke:files.read"));
  rules.scopes.emplace("none", grant("cap:list", in("/")));
  auto all = with_roles(rules, object(fmt::format(R"({{"groups":{}}})", groups)), own);
  EXPECT_TRUE(all.has_value()) << groups;
  return all ? json::write(json::Value(all->details.sets_of(*ToolId::parse("files.read")))) : "";
}

TEST(RoleScopes, details_of_a_role_narrow_what_it_grants_and_no_other) {
  EXPECT_EQ(narrowed(R"(["a"])", {}), R"([[{"path":{"within":"a"}}]])");
  EXPECT_EQ(narrowed(R"(["a","b","a"])", {}),
            R"([[{"path":{"within":"a"}},{"path":{"within":"b"}}]])");
  EXPECT_EQ(narrowed(R"(["a","all"])", {}), "[]");
  EXPECT_EQ(narrowed(R"(["a"])", grant("tool:invoke:files.read")), "[]");
  // One without the scope is no way round the others.
  EXPECT_EQ(narrowed(R"(["a","none"])", {}), R"([[{"path":{"within":"a"}}]])");
}

TEST(RoleScopes, details_of_the_token_narrow_all) {
  EXPECT_EQ(narrowed(R"(["all"])", grant("cap:list", in("t"))), R"([[{"path":{"within":"t"}}]])");
  EXPECT_EQ(narrowed(R"(["a"])", grant("cap:list", in("t"))),
            R"([[{"path":{"within":"t"}}],[{"path":{"within":"a"}}]])");
  EXPECT_EQ(narrowed(R"(["a"])", grant("tool:invoke:files.read", in("t"))),
            R"([[{"path":{"within":"t"}}]])");
}

TEST(RoleScopes, refuses_more_details_than_one_may_have) {
  RoleScopes rules;
  rules.claims = {"/groups"};
  std::string many = in("a");
  for (int i = 1; i < 40; ++i)
    many.insert(many.size() - 1, "," + in("a").substr(1, in("a").size() - 2));
  rules.scopes.emplace("a", grant("tool:invoke:files.read", many));
  rules.scopes.emplace("b", grant("tool:invoke:files.read", many));
  EXPECT_TRUE(with_roles(rules, object(R"({"groups":["a"]})"), Grant()).has_value());
  EXPECT_FALSE(with_roles(rules, object(R"({"groups":["a","b"]})"), Grant()).has_value());
}

}  // namespace
}  // namespace tool::session
