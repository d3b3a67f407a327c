#include <gtest/gtest.h>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using testing::call_of;
using testing::capability;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::object;
using testing::PipelineTest;
using testing::text_result;

class ScriptedGuard final : public GuardStage {
 public:
  ScriptedGuard(GuardDecision before, OutputDecision after)
      : before_(std::move(before)), after_(std::move(after)) {}
  base::Task<GuardDecision> judge(const Invocation&, const Capability&) override {
    ++judged;
    co_return before_;
  }
  base::Task<OutputDecision> inspect(const Invocation&, const Capability&,
                                     ToolResult result) override {
    seen = result.content.empty() ? "" : result.content[0].data;
    OutputDecision decision = after_;
    if (decision.verdict == Verdict::kAllowed && decision.result.content.empty()) {
      decision.result = std::move(result);
    }
    co_return decision;
  }
  int judged = 0;
  std::string seen;

 private:
  GuardDecision before_;
  OutputDecision after_;
};

GuardDecision before(Verdict verdict, std::string reason = {}, std::string told = {}) {
  return {verdict, std::move(reason), ConsentDemand::kByRule, std::move(told), {}};
}
OutputDecision after(Verdict verdict, std::string reason = {}, std::string told = {}) {
  return {verdict, std::move(reason), std::move(told), {}, 0};
}

std::shared_ptr<ScriptedGuard> guard(GuardDecision first,
                                     OutputDecision second = after(Verdict::kAllowed)) {
  return std::make_shared<ScriptedGuard>(std::move(first), std::move(second));
}

class PipelineGuardTest : public PipelineTest {
 protected:
  std::string note() { return std::string(last_seal().at("guard").as_string()); }
};

TEST_F(PipelineGuardTest, each_guard_is_asked_in_its_place_and_the_first_no_ends_it) {
  auto connector = add({capability("t.a")});
  auto policy = guard(before(Verdict::kAllowed, "p1"));
  auto rules = guard(before(Verdict::kDenied, "r1"));
  parts_->policy = policy;
  parts_->rules = rules;
  EXPECT_EQ(code_of(call_of("t.a")), "E_POLICY");
  EXPECT_EQ(note(), "policy allowed: p1; rules denied: r1");
  EXPECT_EQ(last_seal().at("decision").at("stage"), "rules");
  parts_->policy = guard(before(Verdict::kDenied));
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "E_POLICY");
  EXPECT_EQ(last_seal().at("decision").at("stage"), "policy");
  EXPECT_EQ(rules->judged, 1);
  EXPECT_EQ(connector->invoked, 0);
  parts_->policy = guard(before(Verdict::kAllowed));
  parts_->rules = guard(before(Verdict::kAllowed));
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "ok");
  EXPECT_EQ(note(), "policy allowed; rules allowed");
}

TEST_F(PipelineGuardTest, a_caller_is_told_what_the_guard_wants_told_and_no_reason) {
  add({capability("t.a")});
  parts_->rules = guard(before(Verdict::kDenied, "rule x.y", "it looks like injection"));
  auto reply = ask(call_of("t.a"));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().message, "a policy forbids it: it looks like injection");
}

TEST_F(PipelineGuardTest, one_demand_for_consent_is_enough) {
  add({capability("t.a")});
  GuardDecision asks = before(Verdict::kAllowed);
  asks.consent = ConsentDemand::kDemanded;
  parts_->policy = guard(asks);
  parts_->rules = guard(before(Verdict::kAllowed));
  EXPECT_EQ(code_of(call_of("t.a")), "E_CONSENT");
}

TEST_F(PipelineGuardTest, what_comes_back_is_seen_by_the_rules_and_then_the_policy) {
  add({capability("t.a")});
  OutputDecision changed = after(Verdict::kAllowed, "took 1");
  changed.result = text_result("less");
  changed.redactions = 1;
  auto policy = guard(before(Verdict::kAllowed));
  parts_->rules = guard(before(Verdict::kAllowed), changed);
  parts_->policy = policy;
  auto reply = ask(call_of("t.a"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->result.content[0].data, "less");
  EXPECT_EQ(reply->redactions, 1U);
  EXPECT_EQ(policy->seen, "less");
  EXPECT_EQ(note(), "policy allowed; rules allowed; output_rules allowed: took 1");
}

TEST_F(PipelineGuardTest, an_answer_that_is_denied_or_not_judged_goes_to_nobody) {
  auto connector = add({capability("t.a")});
  struct Case {
    OutputDecision decision;
    std::string_view code;
  };
  for (const Case& c : {Case{after(Verdict::kDenied, "secret", "it looks like secret"), "E_POLICY"},
                        Case{after(Verdict::kCouldNotTell, "gone"), "E_UPSTREAM"}}) {
    parts_->policy = guard(before(Verdict::kAllowed), c.decision);
    pipeline_.reset();
    EXPECT_EQ(code_of(call_of("t.a")), c.code);
    EXPECT_EQ(last_seal().at("decision").at("stage"), "output_policy");
    EXPECT_EQ(last_seal().at("result").at("status").as_string(), c.code);
    EXPECT_THAT(note(), HasSubstr("output_policy "));
  }
  EXPECT_EQ(connector->invoked, 2);
}

TEST_F(PipelineGuardTest, places_named_before_the_call_are_hidden_afterwards) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    ToolResult result = text_result("both a and b");
    result.structured = object(R"({"a":1,"b":2})");
    co_return result;
  };
  GuardDecision hides = before(Verdict::kAllowed);
  hides.redact.result = {"/structured/a"};
  parts_->policy = guard(hides);
  auto reply = ask(call_of("t.a"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(base::json::write(*reply->result.structured), R"({"a":"[redacted]","b":2})");
  EXPECT_EQ(reply->result.content[0].data, "[redacted]");
  EXPECT_EQ(reply->redactions, 2U);
}

TEST_F(PipelineGuardTest, recorded_arguments_lose_what_a_guard_hides) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = [](Approved<Invocation> call,
                              Progress) -> base::Task<Outcome<ToolResult>> {
    co_return text_result(base::json::write(call->args));
  };
  options_.trail.arguments = RawArguments::kRecorded;
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":7})")), "ok");
  EXPECT_EQ(base::json::write(records("open").back().at("args")), R"({"n":7})");
  GuardDecision hides = before(Verdict::kAllowed);
  hides.redact.arguments = {"/n"};
  parts_->rules = guard(hides);
  pipeline_.reset();
  auto reply = ask(call_of("t.a", R"({"n":7})"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->result.content[0].data, R"({"n":7})") << "the tool gets them whole";
  EXPECT_EQ(base::json::write(records("open").back().at("args")), R"({"n":"[redacted]"})");
  parts_->rules = guard([] {
    GuardDecision denies = before(Verdict::kDenied);
    denies.redact.arguments = {""};
    return denies;
  }());
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":8})")), "E_POLICY");
  EXPECT_EQ(last_seal().at("args"), "[redacted]");
  // One that the rules never saw may hold anything.
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":9})", "tool:describe:t.a")), "E_SCOPE");
  EXPECT_FALSE(last_seal().contains("args"));
  parts_->policy = guard(before(Verdict::kDenied));
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":10})")), "E_POLICY");
  EXPECT_FALSE(last_seal().contains("args"));
}

TEST_F(PipelineGuardTest, words_of_progress_stay_behind_where_a_guard_is) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = [](Approved<Invocation>,
                              Progress progress) -> base::Task<Outcome<ToolResult>> {
    progress(1, 2, "password: hunter2");
    co_return text_result("done");
  };
  parts_->rules = guard(before(Verdict::kAllowed));
  std::vector<std::string> notes;
  EXPECT_TRUE(testing::run_on(
      loop_, pipeline().run(call_of("t.a"), [&](double, std::optional<double>, std::string text) {
        notes.push_back(std::move(text));
      })));
  EXPECT_EQ(notes, std::vector<std::string>{""});
}

TEST_F(PipelineGuardTest, a_tool_that_is_held_is_quarantined_until_it_is_freed) {
  auto connector = add({capability("t.a"), capability("t.b")});
  auto listed = [&] {
    return pipeline().capabilities_for(*call_of("t.a").principal, Mode::kBasic)->tools.size();
  };
  EXPECT_EQ(code_of(call_of("t.a")), "ok");
  EXPECT_EQ(listed(), 2U);
  registry_.hold(*ToolId::parse("t.a"));
  EXPECT_EQ(code_of(call_of("t.a")), "E_PIN");
  EXPECT_EQ(code_of(call_of("t.b")), "ok");
  EXPECT_EQ(listed(), 1U);
  registry_.set_held({});
  EXPECT_EQ(code_of(call_of("t.a")), "ok");
  registry_.set_held({*ToolId::parse("t.b"), *ToolId::parse("u.later")});
  EXPECT_EQ(code_of(call_of("t.b")), "E_PIN");
  add({capability("u.later")});
  EXPECT_EQ(code_of(call_of("u.later", "{}", "tool:invoke:u.*")), "E_PIN");
  ASSERT_TRUE(registry_.approve(*ToolId::parse("t.b"), capability("t.b").pin()).has_value());
  EXPECT_EQ(code_of(call_of("t.b")), "E_PIN") << "approval of words does not free it";
}

TEST_F(PipelineGuardTest, a_tool_whose_words_do_not_pass_the_screen_is_quarantined) {
  Capability bad = capability("t.bad");
  bad.description = "poison";
  add({capability("t.a"), bad});
  registry_.set_screen([](const Capability& one) { return one.description != "poison"; });
  EXPECT_EQ(code_of(call_of("t.bad")), "E_PIN");
  EXPECT_EQ(code_of(call_of("t.a")), "ok");
  Capability later = bad;
  later.id = *ToolId::parse("u.bad");
  add({later});
  EXPECT_EQ(code_of(call_of("u.bad", "{}", "tool:invoke:u.*")), "E_PIN");
  registry_.set_screen(nullptr);
  EXPECT_EQ(code_of(call_of("t.bad")), "ok");
}

}  // namespace
}  // namespace tool::pipeline
