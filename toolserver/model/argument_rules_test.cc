#include "toolserver/model/argument_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool {
namespace {

using ::testing::HasSubstr;

base::json::Object object(std::string_view text) { return base::json::parse(text)->get_object(); }

const char* const kSchema =
    R"({"type":"object","properties":{"path":{},"paths":{},"n":{},"word":{},"free":{}}})";

ArgumentRules compiled(std::vector<ArgumentRule> rules, std::string_view tool = "read") {
  auto made = ArgumentRules::compile(rules, tool, object(kSchema));
  EXPECT_TRUE(made.has_value());
  return *made;
}

ArgumentRule within(std::string argument, std::string folder) {
  ArgumentRule rule{.tool = "read", .argument = std::move(argument)};
  rule.within = std::move(folder);
  return rule;
}

// The message, or nothing where the arguments are let through.
std::string refusal(const ArgumentRules& rules, std::string_view args) {
  auto checked = rules.check(object(args));
  if (checked) return "";
  EXPECT_EQ(checked.error().code, Code::kPolicy);
  return checked.error().message;
}

TEST(ArgumentRulesTest, a_path_stays_in_its_folder) {
  for (const char* good : {"/srv/repo", "/srv/repo/", "/srv/repo/a", "/srv//repo/./a/b",
                           "/srv/repo/..a", "/srv/repo/a b", "/srv/repo/100%"}) {
    EXPECT_TRUE(is_within(good, "/srv/repo")) << good;
  }
  for (const char* bad :
       {"", "/srv/repository", "/srv", "/", "srv/repo/a", "/srv/repo/../x", "/srv/repo/a/..",
        "/srv/repo/a/../b", "//etc", "/srv/repo/%2e%2e/x", "/srv/repo/%2E./x", "/srv/repo%2Fx",
        "/srv/repo/%252e%252e/x", "/srv/repo/a\\..\\b", "/srv/repo/a\nb", "/SRV/repo/a",
        "file:///srv/repo/a", "~/srv/repo", "--output=/srv/repo/a"}) {
    EXPECT_FALSE(is_within(bad, "/srv/repo")) << bad;
  }
  EXPECT_FALSE(is_within(std::string_view("/srv/repo/a\0b", 13), "/srv/repo"));
  EXPECT_TRUE(is_within("/anything", "/"));
}

TEST(ArgumentRulesTest, a_relative_path_stays_below) {
  for (const char* good : {"a", "a/b", "./a", ".", "a/./b", ".git", "b/c.txt"}) {
    EXPECT_TRUE(is_within(good, ".")) << good;
  }
  for (const char* bad : {"", "/a", "..", "a/../b", "../a", "~", "~root/a", "c:/a", "file:a",
                          "a/%2e%2e/b", "a\\b", "./../a"}) {
    EXPECT_FALSE(is_within(bad, ".")) << bad;
  }
}

TEST(ArgumentRulesTest, a_relative_path_stays_in_a_relative_folder) {
  for (const char* good : {"a/b", "a/b/c", "a/b/", "./a/b/c", "a//b/c", "a/b/..c"}) {
    EXPECT_TRUE(is_within(good, "a/b")) << good;
  }
  for (const char* bad : {"", "a", "a/bc", "A/b", "/a/b", "a/b/../c", "a/x/../b", "~/a/b", "a%2fb",
                          "a/b/%2e%2e/c", "a\\b", "b/a/b", "file:a/b"}) {
    EXPECT_FALSE(is_within(bad, "a/b")) << bad;
  }
  for (const char* folder : {".", "/", "a", "a/b", "/srv/a", ".git", "a/.b"}) {
    EXPECT_TRUE(is_rule_folder(folder)) << folder;
  }
  for (const char* folder : {"", "a/", "/a/", "./a", "a/./b", "a/.", "a//b", "//a", "..", "a/../b",
                             "/..", "~", "c:/a", "a\\b", "%2e"}) {
    EXPECT_FALSE(is_rule_folder(folder)) << folder;
  }
}

TEST(ArgumentRulesTest, a_refusal_names_the_argument_and_the_rule) {
  ArgumentRule n{.tool = "read", .argument = "n"};
  n.min = 1;
  n.max = 5.5;
  ArgumentRule word{.tool = "read", .argument = "word"};
  word.pattern = "[a-z]{1,3}";
  word.values = {"abc", "abcd", "7"};
  auto rules = compiled({within("path", "/srv"), n, word});
  EXPECT_EQ(refusal(rules, R"({"path":"/srv/a","n":5,"word":"abc"})"), "");
  for (auto [args, message] :
       {std::pair{R"({"path":"/etc","n":1,"word":"abc"})", "args.path: must be a path within /srv"},
        {R"({"path":7,"n":1,"word":"abc"})", "args.path: must be a text, or a list of texts"},
        {R"({"path":{"a":"/srv"},"n":1,"word":"abc"})", "args.path: must be a text"},
        {R"({"path":"/srv","n":0,"word":"abc"})", "args.n: must be at least 1"},
        {R"({"path":"/srv","n":5.6,"word":"abc"})", "args.n: must be at most 5.5"},
        {R"({"path":"/srv","n":"5","word":"abc"})", "args.n: must be a number"},
        {R"({"path":"/srv","n":1,"word":"abcd"})", "args.word: must match the pattern"},
        {R"({"path":"/srv","n":1,"word":"abc "})", "args.word: must match the pattern"},
        {R"({"path":"/srv","n":1,"word":"xyz"})", "args.word: must be one of abc, abcd, 7"},
        {R"({"path":"/srv","n":1})", "args.word: must be given"},
        {R"({"path":"/srv","n":1,"word":null})", "args.word: must be given"},
        {R"({"path":"/srv","n":1,"word":"abc","file":"/etc"})",
         "args.file: the tool names no such argument"}}) {
    EXPECT_THAT(refusal(rules, args), HasSubstr(message)) << args;
  }
}

TEST(ArgumentRulesTest, each_item_of_a_list_counts) {
  auto rules = compiled({within("paths", ".")});
  EXPECT_EQ(refusal(rules, R"({"paths":["a","b/c"]})"), "");
  EXPECT_EQ(refusal(rules, R"({"paths":[]})"), "");
  EXPECT_THAT(refusal(rules, R"({"paths":["a","../b"]})"), HasSubstr("args.paths"));
  EXPECT_THAT(refusal(rules, R"({"paths":["a",["b"]]})"), HasSubstr("args.paths"));
}

TEST(ArgumentRulesTest, an_optional_argument_may_be_left_out_and_no_more) {
  ArgumentRule rule = within("path", "/srv");
  rule.is_optional = true;
  auto rules = compiled({rule});
  EXPECT_EQ(refusal(rules, "{}"), "");
  EXPECT_NE(refusal(rules, R"({"path":"/etc"})"), "");
}

TEST(ArgumentRulesTest, a_rule_is_for_its_tool_or_for_all_that_have_the_argument) {
  ArgumentRule all = within("path", "/srv");
  all.tool = "*";
  EXPECT_NE(refusal(compiled({all}), R"({"path":"/etc"})"), "");
  EXPECT_TRUE(compiled({within("path", "/srv")}, "write").empty());
  auto none = ArgumentRules::compile({all}, "read", object(R"({"type":"object"})"));
  EXPECT_TRUE(none->check(object(R"({"path":"/etc"})")).has_value());
  // A rule for this tool alone holds even where its schema says nothing of the argument.
  auto strict =
      ArgumentRules::compile({within("path", "/srv")}, "read", object(R"({"type":"object"})"));
  EXPECT_FALSE(strict->check(object("{}")).has_value());
}

}  // namespace
}  // namespace tool
