#include "toolserver/guard/rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tool::guard {
namespace {

using ::testing::HasSubstr;

std::string file_with(std::string_view rule) {
  return fmt::format("format = \"securetool-rules/1\"\nname = \"mine\"\nversion = 2\n{}", rule);
}

// A good rule with one line changed or added; a line of the same member goes.
std::string rule_with(std::string_view changed) {
  std::string out = "[[rule]]\n";
  for (std::string_view line :
       {"id = \"a.b\"", "severity = \"high\"", "kind = \"secret\"", "where = [\"result\"]",
        "pattern = 'x[0-9]'", "action = \"redact\"", "matches = [\"x1\"]", "misses = [\"y\"]"}) {
    std::string_view member = line.substr(0, line.find(' '));
    if (!changed.starts_with(fmt::format("{} =", member))) out += fmt::format("{}\n", line);
  }
  return out + std::string(changed) + "\n";
}

TEST(RuleFile, a_rule_is_read_whole) {
  auto file = parse_rule_file(file_with(rule_with("where = [\"arguments\", \"result\"]")));
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(file->name, "mine");
  EXPECT_EQ(file->version, 2);
  ASSERT_EQ(file->rules.size(), 1U);
  const Rule& rule = file->rules[0];
  EXPECT_EQ(rule.id, "a.b");
  EXPECT_EQ(rule.severity, Severity::kHigh);
  EXPECT_EQ(rule.kind, RuleKind::kSecret);
  EXPECT_TRUE(rule.where.arguments && rule.where.result && !rule.where.description);
  EXPECT_EQ(rule.pattern, "x[0-9]");
  EXPECT_EQ(rule.action, RuleAction::kRedact);
  EXPECT_EQ(rule.check, RuleCheck::kNone);
  EXPECT_EQ(rule.matches, std::vector<std::string>{"x1"});
  EXPECT_EQ(rule.misses, std::vector<std::string>{"y"});
}

TEST(RuleFile, what_breaks_a_rule_is_named_with_the_rules_id) {
  struct Case {
    std::string changed;
    std::string_view named;
  };
  for (const Case& c : {
           Case{"severity = \"huge\"", "rule a.b: severity"},
           Case{"severity = 3", "rule a.b: severity"},
           Case{"kind = \"virus\"", "rule a.b: kind"},
           Case{"where = []", "rule a.b: where"},
           Case{"where = [\"result\", \"result\"]", "rule a.b: where"},
           Case{"where = [\"answer\"]", "rule a.b: where"},
           Case{"where = \"result\"", "rule a.b: where"},
           Case{"pattern = ''", "rule a.b: pattern"},
           Case{"pattern = '" + std::string(kPatternBytes + 1, 'a') + "'", "rule a.b: pattern"},
           Case{"action = \"kill\"", "rule a.b: action"},
           Case{"action = \"consent\"", "rule a.b: action: nobody can be asked"},
           Case{"where = [\"description\"]", "rule a.b: action: must be deny"},
           Case{"check = \"sum\"", "rule a.b: check"},
           Case{"matches = []", "rule a.b: matches"},
           Case{"misses = [1]", "rule a.b: misses"},
           Case{"patern = 'a'", "rule a.b: patern: no such member"},
           Case{"id = \"A\"", "rule 1: id"},
           Case{"id = \"\"", "rule 1: id"},
       }) {
    auto file = parse_rule_file(file_with(rule_with(c.changed)));
    ASSERT_FALSE(file.has_value()) << c.changed;
    EXPECT_THAT(file.error().message(), HasSubstr(c.named)) << c.changed;
  }
}

TEST(RuleFile, what_is_no_rule_file_is_refused) {
  std::string good = file_with(rule_with("id = \"a.b\""));
  ASSERT_TRUE(parse_rule_file(good).has_value());
  auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {std::string(), std::string("\xff"), std::string("name"),
        changed("securetool-rules/1", "securetool-rules/2"), changed("version = 2", "version = 0"),
        changed("version = 2", "version = \"2\""), changed("name = \"mine\"", "name = \"Mine\""),
        changed("version = 2", "version = 2\nother = 1"), file_with(""), file_with("rule = []"),
        file_with("rule = [1]"), good + rule_with("id = \"a.b\"")}) {
    EXPECT_FALSE(parse_rule_file(text).has_value()) << text;
  }
  auto large = parse_rule_file(good + std::string(kRuleFileBytes, '#'));
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().kind(), base::ErrorKind::kTooLarge);
}

TEST(RuleCheck, digits_must_hold) {
  EXPECT_TRUE(passes(RuleCheck::kLuhn, "4111 1111 1111 1111"));
  EXPECT_FALSE(passes(RuleCheck::kLuhn, "4111 1111 1111 1112"));
  EXPECT_FALSE(passes(RuleCheck::kLuhn, "0"));
  EXPECT_TRUE(passes(RuleCheck::kIban, "DE89 3704 0044 0532 0130 00"));
  EXPECT_FALSE(passes(RuleCheck::kIban, "DE88 3704 0044 0532 0130 00"));
  EXPECT_FALSE(passes(RuleCheck::kIban, "DE89"));
  EXPECT_TRUE(passes(RuleCheck::kNone, ""));
}

}  // namespace
}  // namespace tool::guard
