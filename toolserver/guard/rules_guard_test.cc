#include "toolserver/guard/rules_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include "base/crypto/encoding.h"
#include "toolserver/pipeline/redact.h"

namespace tool::guard {
namespace {

using pipeline::ConsentDemand;
using pipeline::Verdict;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr ScanLimits kPlenty{.bytes = 1 << 20, .time = std::chrono::hours(1)};

template <class T>
T run(base::Task<T> task) {
  boost::asio::io_context loop;
  auto result = boost::asio::co_spawn(loop, std::move(task), boost::asio::use_future);
  loop.run();
  return result.get();
}

Rule rule(std::string id, std::string pattern, RuleAction action, RuleKind kind, Where where) {
  Rule one;
  one.id = std::move(id);
  one.pattern = std::move(pattern);
  one.action = action;
  one.kind = kind;
  one.where = where;
  return one;
}

std::shared_ptr<const RuleSet> rules() {
  constexpr Where kCall{.arguments = true, .result = true};
  auto set = RuleSet::compile({
      rule("n.note", "noteme", RuleAction::kNote, RuleKind::kInjection, kCall),
      rule("r.key", "key-[0-9]+", RuleAction::kRedact, RuleKind::kSecret, kCall),
      rule("c.ask", "askme", RuleAction::kConsent, RuleKind::kInjection, {.arguments = true}),
      rule("d.no", "(?i)denyme", RuleAction::kDeny, RuleKind::kInjection, kCall),
      rule("d.card", "4111111111111111", RuleAction::kDeny, RuleKind::kPersonalData,
           {.arguments = true}),
      rule("d.words", "poison", RuleAction::kDeny, RuleKind::kInjection, {.description = true}),
  });
  EXPECT_TRUE(set.has_value());
  return *set;
}

class RulesGuardTest : public ::testing::Test {
 protected:
  pipeline::GuardDecision judge(std::string_view args, ScanLimits limits = kPlenty) {
    call_.args = base::json::parse(args)->as_object();
    RulesGuard guard(rules(), limits);
    return run(guard.judge(call_, capability_));
  }
  pipeline::OutputDecision inspect(ToolResult result, ScanLimits limits = kPlenty) {
    RulesGuard guard(rules(), limits);
    return run(guard.inspect(call_, capability_, std::move(result)));
  }
  static ToolResult text(std::string data, std::string type = "text/plain") {
    return ToolResult{.content = {{std::move(type), std::move(data)}}};
  }

  Capability capability_{.id = *ToolId::parse("t.a")};
  Invocation call_{.tool = *ToolId::parse("t.a")};
};

TEST_F(RulesGuardTest, the_hardest_action_decides_about_a_call) {
  struct Case {
    std::string_view args;
    Verdict verdict;
    ConsentDemand consent;
    std::string_view reason;
  };
  for (const Case& c : {
           Case{R"({"a":"fine"})", Verdict::kAllowed, ConsentDemand::kByRule, ""},
           Case{R"({"a":"noteme"})", Verdict::kAllowed, ConsentDemand::kByRule, "n.note in /a"},
           Case{R"({"a":["x",{"b/c":"askme"}]})", Verdict::kAllowed, ConsentDemand::kDemanded,
                "c.ask in /a/1/b~1c"},
           Case{R"({"a":"DenyMe"})", Verdict::kDenied, ConsentDemand::kByRule, "d.no in /a"},
           Case{R"({"denyme":1})", Verdict::kDenied, ConsentDemand::kByRule, "d.no in /..."},
           Case{R"({"a":4111111111111111})", Verdict::kDenied, ConsentDemand::kByRule,
                "d.card in /a"},
           Case{R"({"a":"askme","b":"denyme"})", Verdict::kDenied, ConsentDemand::kByRule,
                "c.ask in /a, d.no in /b"},
       }) {
    auto decision = judge(c.args);
    EXPECT_EQ(decision.verdict, c.verdict) << c.args;
    EXPECT_EQ(decision.consent, c.consent) << c.args;
    EXPECT_EQ(decision.reason, c.reason) << c.args;
  }
}

TEST_F(RulesGuardTest, a_name_that_a_rule_matches_is_not_shown_with_what_lies_below) {
  auto decision = judge(R"({"a":{"key-1":{"b":"noteme","c":["noteme"]},"d":"noteme"}})");
  EXPECT_EQ(decision.reason, "r.key in /a/..., n.note in /a/..., n.note in /a/..., n.note in /a/d");
}

TEST_F(RulesGuardTest, a_caller_is_told_the_kind_and_not_the_rule) {
  auto decision = judge(R"({"a":"denyme","b":4111111111111111})");
  EXPECT_EQ(decision.told, "it looks like injection and personal data");
  EXPECT_THAT(decision.told, Not(HasSubstr("d.no")));
  EXPECT_EQ(judge(R"({"a":"noteme"})").told, "");
}

TEST_F(RulesGuardTest, secrets_in_arguments_stay_out_of_the_audit) {
  EXPECT_THAT(judge(R"({"a":{"b":"key-1"},"c":"noteme"})").redact.arguments,
              ::testing::ElementsAre("/a/b"));
  EXPECT_THAT(judge(R"({"a":{"key-1":"x"}})").redact.arguments, ::testing::ElementsAre("/a"));
  EXPECT_THAT(judge(R"({"a":4111111111111111})").redact.arguments, ::testing::ElementsAre("/a"));
  EXPECT_TRUE(judge(R"({"a":"denyme"})").redact.arguments.empty());
}

TEST_F(RulesGuardTest, what_is_too_long_or_too_slow_is_denied) {
  std::string args = R"({"a":"0123456789"})";
  EXPECT_EQ(judge(args, {.bytes = 11, .time = kPlenty.time}).verdict, Verdict::kAllowed);
  auto decision = judge(args, {.bytes = 10, .time = kPlenty.time});
  EXPECT_EQ(decision.verdict, Verdict::kDenied);
  EXPECT_THAT(decision.redact.arguments, ::testing::ElementsAre(""));
  EXPECT_EQ(judge(args, {.bytes = 100, .time = std::chrono::milliseconds(-1)}).verdict,
            Verdict::kDenied);
  EXPECT_EQ(inspect(text("0123456789"), {.bytes = 10, .time = kPlenty.time}).verdict,
            Verdict::kAllowed);
  EXPECT_EQ(inspect(text("0123456789"), {.bytes = 9, .time = kPlenty.time}).verdict,
            Verdict::kDenied);
}

TEST_F(RulesGuardTest, an_answer_goes_on_without_what_was_found) {
  ToolResult result = text("a key-12 b");
  result.structured = *base::json::parse(R"({"rows":[["key-1",7]]})");
  auto decision = inspect(std::move(result));
  EXPECT_EQ(decision.verdict, Verdict::kAllowed);
  EXPECT_EQ(decision.redactions, 2U);
  EXPECT_EQ(decision.result.content[0].data, "a [redacted] b");
  EXPECT_EQ(base::json::write(*decision.result.structured), R"({"rows":[["[redacted]",7]]})");
  EXPECT_EQ(decision.reason, "r.key in /content/0, r.key in /structured/rows/0/0");
}

TEST_F(RulesGuardTest, an_answer_without_a_finding_is_as_it_was) {
  auto decision = inspect(text("fine"));
  EXPECT_EQ(decision.verdict, Verdict::kAllowed);
  EXPECT_EQ(decision.reason, "");
  EXPECT_EQ(decision.redactions, 0U);
  EXPECT_EQ(decision.result.content[0].data, "fine");
  EXPECT_EQ(inspect(text("denyme")).verdict, Verdict::kDenied);
}

TEST_F(RulesGuardTest, what_a_resource_is_called_is_read_like_its_text) {
  for (auto member : {&Content::uri, &Content::name}) {
    ToolResult result = text("fine");
    result.content[0].*member = "file:///fine";
    EXPECT_EQ(inspect(result).verdict, Verdict::kAllowed);
    result.content[0].*member = "file:///denyme";
    EXPECT_EQ(inspect(result).verdict, Verdict::kDenied);
    result.content[0].*member = "file:///key-1";
    EXPECT_EQ(inspect(result).verdict, Verdict::kDenied) << "a part of it cannot be taken out";
  }
}

TEST_F(RulesGuardTest, bytes_are_read_and_withheld_where_nothing_can_be_taken_out) {
  std::string bytes("\x00\xff key-1 \xfe", 10);
  EXPECT_EQ(inspect(text(bytes, "application/octet-stream")).verdict, Verdict::kDenied);
  EXPECT_EQ(inspect(text("\xff\xfe", "image/png")).verdict, Verdict::kAllowed);
  ToolResult named = text("fine");
  named.structured = *base::json::parse(R"({"key-1":1})");
  EXPECT_EQ(inspect(std::move(named)).verdict, Verdict::kDenied);
}

TEST_F(RulesGuardTest, base64_hides_nothing) {
  auto decision = inspect(text(base::crypto::to_base64("the file says: key-123456, and no more")));
  EXPECT_EQ(decision.verdict, Verdict::kAllowed);
  EXPECT_THAT(decision.result.content[0].data, HasSubstr("[redacted]"));
  EXPECT_EQ(
      judge(R"({"a":")" + base::crypto::to_base64("would you denyme, please, now") + "\"}").verdict,
      Verdict::kDenied);
}

TEST_F(RulesGuardTest, a_tool_whose_words_give_orders_does_not_pass_the_screen) {
  auto set = rules();
  EXPECT_TRUE(passes_screen(*set, capability_, kPlenty));
  Capability poisoned = capability_;
  poisoned.description = "a poison";
  EXPECT_FALSE(passes_screen(*set, poisoned, kPlenty));
  Capability inside = capability_;
  inside.input_schema =
      base::json::parse(R"({"properties":{"a":{"description":"poison"}}})")->as_object();
  EXPECT_FALSE(passes_screen(*set, inside, kPlenty));
  Capability shown = capability_;
  shown.listed = base::json::parse(R"({"resources":[{"uri":"a:b","name":"poison"}]})")->as_object();
  EXPECT_FALSE(passes_screen(*set, shown, kPlenty));
  Capability denied_elsewhere = capability_;
  denied_elsewhere.description = "denyme";
  EXPECT_TRUE(passes_screen(*set, denied_elsewhere, kPlenty)) << "rules about calls do not count";
  EXPECT_FALSE(passes_screen(*set, capability_, {.bytes = 3, .time = kPlenty.time}));
}

}  // namespace
}  // namespace tool::guard
