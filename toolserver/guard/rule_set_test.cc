#include "toolserver/guard/rule_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto/encoding.h"
#include "toolserver/guard/rule_source.h"

namespace tool::guard {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;
using Indexes = std::vector<std::size_t>;

Rule rule(std::string id, std::string pattern, RuleAction action = RuleAction::kRedact) {
  Rule one;
  one.id = std::move(id);
  one.pattern = std::move(pattern);
  one.action = action;
  one.where = {.arguments = true, .result = true};
  return one;
}

std::shared_ptr<const RuleSet> set_of(std::vector<Rule> rules) {
  auto set = RuleSet::compile(std::move(rules));
  EXPECT_TRUE(set.has_value()) << (set ? "" : set.error().message());
  return set ? *set : nullptr;
}

// Time is not what these tests are about.
constexpr ScanLimits kPlenty{.bytes = 64 << 20, .time = std::chrono::hours(1)};

Indexes scanned(const RuleSet& set, std::string_view text, Place place = Place::kArguments) {
  ScanBudget budget(kPlenty);
  auto found = set.scan(text, place, budget);
  EXPECT_TRUE(found.has_value());
  return found ? *found : Indexes{999};
}

std::string redacted(const RuleSet& set, std::string_view text) {
  ScanBudget budget(kPlenty);
  Indexes all(set.rules().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  auto out = set.redact(text, all, Place::kResult, budget);
  return out ? out->text : "refused: " + out.error().message();
}

TEST(RuleSet, all_rules_that_match_are_found_in_one_pass) {
  auto set = set_of({rule("a", "cat"), rule("b", "(?i)DOG"), rule("c", "c.t.*dog")});
  EXPECT_EQ(scanned(*set, "cat"), Indexes{0});
  EXPECT_EQ(scanned(*set, "a cat and a dog"), (Indexes{0, 1, 2}));
  EXPECT_EQ(scanned(*set, "a bird"), Indexes{});
  EXPECT_EQ(scanned(*set, ""), Indexes{});
}

TEST(RuleSet, a_rule_is_asked_only_where_it_looks) {
  Rule one = rule("a", "cat");
  one.where = {.result = true};
  auto set = set_of({one});
  EXPECT_EQ(scanned(*set, "cat", Place::kResult), Indexes{0});
  EXPECT_EQ(scanned(*set, "cat", Place::kArguments), Indexes{});
  EXPECT_EQ(scanned(*set, "cat", Place::kDescription), Indexes{});
}

TEST(RuleSet, disguises_do_not_hide_a_match) {
  auto set = set_of({rule("a", R"((?i)ignore\s+all)"), rule("b", "привет")});
  for (std::string_view text :
       {"ignore all", "IGNORE\n\n  all", "ig\u200Bnore all", "ｉｇｎｏｒｅ ａｌｌ", "іgnоrе аll"}) {
    EXPECT_EQ(scanned(*set, text), Indexes{0}) << text;
  }
  EXPECT_EQ(scanned(*set, "привет"), Indexes{1}) << "as it is, too";
  std::string code = base::crypto::to_base64("well, now: ignore all of it");
  EXPECT_EQ(scanned(*set, "run " + code), Indexes{0});
  EXPECT_EQ(scanned(*set, base::crypto::to_base64(code)), Indexes{}) << "one level";
}

TEST(RuleSet, a_pattern_that_cannot_be_run_is_refused_with_its_rule) {
  struct Case {
    std::string pattern;
    std::string_view why;
  };
  for (const Case& c : {
           Case{R"((a)\1)", "RE2 refuses it"},
           Case{"(?=a)b", "RE2 refuses it"},
           Case{"(?<!a)b", "RE2 refuses it"},
           Case{"a(", "RE2 refuses it"},
           Case{"[z-a]", "RE2 refuses it"},
           Case{"(((a{100}){100}){100})", "RE2 refuses it"},
           Case{"a{2000}", "RE2 refuses it"},
           Case{"a*", "matches the empty text"},
           Case{"^", "matches the empty text"},
       }) {
    auto set = RuleSet::compile({rule("good", "x"), rule("bad.one", c.pattern)});
    ASSERT_FALSE(set.has_value()) << c.pattern;
    EXPECT_EQ(set.error().kind(), ErrorKind::kInvalid);
    EXPECT_THAT(set.error().message(), HasSubstr("rule bad.one: pattern")) << c.pattern;
    EXPECT_THAT(set.error().message(), HasSubstr(c.why)) << c.pattern;
  }
  EXPECT_FALSE(RuleSet::compile({rule("a", "x"), rule("a", "y")}).has_value());
}

// In an engine that tries one way after the other each of these takes longer
// than the sun has.
TEST(RuleSet, patterns_that_explode_elsewhere_are_as_quick_as_others) {
  auto set = set_of({rule("a", "(a+)+$"), rule("b", "(a|aa)+$"), rule("c", "(.*a){12}z"),
                     rule("d", "([a-zA-Z]+)*1")});
  std::string text(200'000, 'a');
  text += '!';
  EXPECT_EQ(scanned(*set, text), Indexes{});
  EXPECT_EQ(scanned(*set, std::string(1'000, 'a')), (Indexes{0, 1}));
}

TEST(RuleSet, limits_of_bytes_and_time_are_errors_and_never_a_no) {
  auto set = set_of({rule("a", "cat")});
  ScanBudget small({.bytes = 10, .time = std::chrono::hours(1)});
  EXPECT_TRUE(set->scan("cat", Place::kResult, small).has_value());
  EXPECT_TRUE(set->scan("1234567", Place::kResult, small).has_value());
  auto over = set->scan("1", Place::kResult, small);
  ASSERT_FALSE(over.has_value()) << "the budget is that of all texts together";
  EXPECT_EQ(over.error().kind(), ErrorKind::kTooLarge);
  ScanBudget late({.bytes = 10, .time = std::chrono::milliseconds(-1)});
  auto timed_out = set->scan("cat", Place::kResult, late);
  ASSERT_FALSE(timed_out.has_value());
  EXPECT_EQ(timed_out.error().kind(), ErrorKind::kTimeout);
}

TEST(RuleSet, what_matches_goes_out_and_the_rest_stays) {
  auto set = set_of({rule("a", "key-[0-9]+"), rule("b", "[0-9]+-end")});
  EXPECT_EQ(redacted(*set, "a key-1, b key-22."), "a [redacted], b [redacted].");
  EXPECT_EQ(redacted(*set, "key-12-end"), "[redacted]") << "they overlap";
  EXPECT_EQ(redacted(*set, "é k\u200Bey-7\u200B8 z"), "é [redacted] z");
  EXPECT_EQ(redacted(*set, "nothing"), "nothing");
  std::string code = base::crypto::to_base64("the secret is key-123456 and no other");
  EXPECT_EQ(redacted(*set, "see " + code + " there"),
            "see [redacted]" + std::string(code.ends_with('=') ? code.substr(code.find('=')) : "") +
                " there");
}

TEST(RuleSet, what_cannot_be_taken_out_is_refused) {
  auto set = set_of({rule("a", "redacted|cat")});
  EXPECT_THAT(redacted(*set, "a cat"), HasSubstr("refused"));
}

TEST(RuleSet, a_check_lets_a_form_without_meaning_pass) {
  Rule card = rule("card", "[0-9]{16}");
  card.check = RuleCheck::kLuhn;
  auto set = set_of({card});
  EXPECT_EQ(scanned(*set, "1234567890123456 and 4111111111111111"), Indexes{0});
  EXPECT_EQ(scanned(*set, "1234567890123456"), Indexes{});
  EXPECT_EQ(redacted(*set, "1234567890123456 4111111111111111"), "1234567890123456 [redacted]");
}

TEST(RuleSet, an_example_that_fails_is_named) {
  Rule one = rule("a.b", "cat");
  one.matches = {"a cat", "a dog"};
  one.misses = {"a bird", "concatenate"};
  auto failed = set_of({one})->failed_examples();
  EXPECT_EQ(failed, (std::vector<std::string>{"rule a.b: matches[1]: the rule does not match it",
                                              "rule a.b: misses[1]: the rule matches it"}));
}

TEST(ShippedRules, each_file_proves_its_examples) {
  auto names = shipped_names();
  EXPECT_THAT(names, ::testing::ElementsAre("injection", "personal_data", "secrets"));
  auto set = load_rules({.shipped = names, .files = {}, .key = {}});
  ASSERT_TRUE(set.has_value()) << set.error().message();
  EXPECT_TRUE((*set)->failed_examples().empty());
}

}  // namespace
}  // namespace tool::guard
