#include "toolserver/model/principal.h"

#include <gtest/gtest.h>

namespace tool {
namespace {

Scopes scopes(std::string_view text) {
  auto parsed = Scopes::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : Scopes();
}

ToolId id(std::string_view text) { return *ToolId::parse(text); }

TEST(ScopesTest, a_scope_grants_the_tool_it_names_and_no_other) {
  struct Case {
    std::string_view granted;
    std::string_view tool;
    bool invoke;
    bool describe;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"tool:invoke:sql.query", "sql.query", true, true},
           {"tool:invoke:sql.query", "sql.querys", false, false},
           {"tool:invoke:sql.query", "sql.quer", false, false},
           {"tool:invoke:sql.query", "sqls.query", false, false},
           {"tool:describe:sql.query", "sql.query", false, true},
           {"tool:invoke:sql.*", "sql.query", true, true},
           {"tool:invoke:sql.*", "sqlx.query", false, false},
           {"tool:describe:sql.*", "sql.query", false, true},
           {"tool:invoke:*", "sql.query", false, false},
           {"tool:invoke:*.*", "sql.query", false, false},
           {"tool:invoke:.*", "sql.query", false, false},
           {"tool:invoke:sql", "sql.query", false, false},
           {"tool:invoke:sql.q*", "sql.query", false, false},
           {"tool:*:sql.query", "sql.query", false, false},
           {"TOOL:invoke:sql.query", "sql.query", false, false},
           {"xtool:invoke:sql.query", "sql.query", false, false},
           {"tool:invoke:sql.query:x", "sql.query", false, false},
           {"sql.query", "sql.query", false, false},
           {"*", "sql.query", false, false},
           {"admin:tools", "sql.query", false, false},
           {"", "sql.query", false, false},
           {"cap:list tool:invoke:files.read tool:invoke:sql.query", "sql.query", true, true},
       }) {
    EXPECT_EQ(scopes(c.granted).allows_invoke(id(c.tool)), c.invoke) << c.granted;
    EXPECT_EQ(scopes(c.granted).allows_describe(id(c.tool)), c.describe) << c.granted;
  }
}

TEST(ScopesTest, prompts_and_resources_have_scopes_of_their_own) {
  auto prompt = *ToolId::parse_any("prompt:git.log");
  auto resource = *ToolId::parse_any("resource:git.log");
  struct Case {
    std::string_view granted;
    bool tool;
    bool prompt;
    bool resource;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"tool:invoke:git.log", true, false, false},
                                   {"tool:invoke:git.*", true, false, false},
                                   {"prompt:get:git.log", false, true, false},
                                   {"prompt:get:git.*", false, true, false},
                                   {"resource:read:git.log", false, false, true},
                                   {"resource:read:git.*", false, false, true},
                                   {"prompt:get:other.*", false, false, false},
                                   {"resource:read:git.logs", false, false, false},
                                   {"prompt:get:*", false, false, false},
                                   {"resource:read:*", false, false, false},
                                   {"prompt:read:git.log", false, false, false},
                                   {"tool:invoke:prompt:git.log", false, false, false},
                                   {"mcp:resources", false, false, false},
                                   {"mcp:prompts", false, false, false}}) {
    Scopes granted = scopes(c.granted);
    EXPECT_EQ(granted.allows_invoke(id("git.log")), c.tool) << c.granted;
    EXPECT_EQ(granted.allows_invoke(prompt), c.prompt) << c.granted;
    EXPECT_EQ(granted.allows_describe(prompt), c.prompt) << c.granted;
    EXPECT_EQ(granted.allows_invoke(resource), c.resource) << c.granted;
    EXPECT_EQ(granted.allows_describe(resource), c.resource) << c.granted;
  }
  EXPECT_FALSE(scopes("tool:describe:git.log").allows_describe(prompt));
  EXPECT_EQ(invoke_scope(id("git.log")), "tool:invoke:git.log");
  EXPECT_EQ(invoke_scope(prompt), "prompt:get:git.log");
  EXPECT_EQ(invoke_scope(resource), "resource:read:git.log");
}

TEST(ScopesTest, refuses_text_that_is_no_list_of_scopes) {
  std::string many = "a";
  for (int i = 1; i < 257; ++i) many += " a";
  for (const std::string& text :
       {std::string(" "), std::string(" a"), std::string("a "), std::string("a  b"),
        std::string("a\tb"), std::string("a\nb"), std::string("a\"b"), std::string("a\\b"),
        std::string("a\x7f"), std::string("\xC3\xA9"), std::string("a\0", 2), many}) {
    auto parsed = Scopes::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().kind(), base::ErrorKind::kInvalid);
  }
  EXPECT_EQ(scopes(many.substr(2)).list().size(), 256u);
}

TEST(ScopesTest, keeps_unknown_scopes_as_text) {
  Scopes set = scopes("cap:list x:y");
  EXPECT_EQ(set.text(), "cap:list x:y");
  EXPECT_TRUE(set.has("cap:list"));
  EXPECT_FALSE(set.has("cap"));
  EXPECT_EQ(Scopes().text(), "");
}

TEST(ScopesTest, within_compares_what_is_granted) {
  struct Case {
    std::string_view narrow;
    std::string_view wide;
    bool within;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "", true},
           {"", "cap:list", true},
           {"cap:list", "", false},
           {"cap:list", "flow:run cap:list", true},
           {"tool:invoke:sql.query", "tool:invoke:sql.*", true},
           {"tool:invoke:sql.*", "tool:invoke:sql.query", false},
           {"tool:invoke:sql.*", "tool:invoke:sql.*", true},
           {"tool:describe:sql.query", "tool:invoke:sql.query", true},
           {"tool:describe:sql.*", "tool:invoke:sql.*", true},
           {"tool:describe:sql.*", "tool:invoke:sql.query", false},
           {"tool:invoke:sql.query", "tool:describe:sql.*", false},
           {"tool:invoke:sql.query cap:list", "tool:invoke:sql.query", false},
           {"tool:invoke:*", "tool:invoke:sql.*", false},
           {"tool:delete:sql.query", "tool:invoke:sql.query", false},
           {"admin:audit", "admin:tools", false},
           {"prompt:get:git.log", "prompt:get:git.*", true},
           {"prompt:get:git.*", "prompt:get:git.log", false},
           {"prompt:get:git.log", "tool:invoke:git.*", false},
           {"tool:invoke:git.log", "prompt:get:git.*", false},
           {"resource:read:git.log", "resource:read:git.*", true},
           {"resource:read:git.log", "prompt:get:git.*", false},
       }) {
    EXPECT_EQ(scopes(c.narrow).within(scopes(c.wide)), c.within) << c.narrow << " in " << c.wide;
  }
}

TEST(PrincipalTest, modes_and_methods_have_the_names_of_the_wire) {
  EXPECT_EQ(name(Mode::kSimple), "simple");
  EXPECT_EQ(name(Mode::kBasic), "basic");
  EXPECT_EQ(name(Mode::kEncrypted), "encrypted");
  EXPECT_EQ(name(Mode::kEnterprise), "enterprise");
  EXPECT_EQ(name(Method::kApiKey), "api_key");
  EXPECT_EQ(name(Method::kJwt), "jwt");
  EXPECT_EQ(name(Method::kOauth2), "oauth2");
  EXPECT_EQ(name(Method::kMtls), "mtls");
  EXPECT_EQ(name(Method::kNode), "node");
}

}  // namespace
}  // namespace tool
