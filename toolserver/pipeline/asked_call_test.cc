// Calls of one who can be asked himself, and tools that ask.

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.

base::Task<Outcome<ConsentAnswer>> say(ConsentAnswer answer, int* asked) {
  ++*asked;
  co_return answer;
}

std::shared_ptr<ConsentHook> hook(ConsentDecision decision, int& asked) {
  return std::make_shared<ConsentFunction>(
      [decision, &asked](base::RequestContext, ConsentQuestion) {
        return say({decision, "somebody", ConsentScope::kOnce}, &asked);
      });
}

Capability needs_consent() {
  Capability one = capability("t.careful");
  one.consent = ConsentRule::kAlways;
  return one;
}

base::Task<Outcome<ToolResult>> ask_back(Approved<Invocation> call) {
  ToolResult result;
  if (call->inputs) {
    result = text_result(call->inputs->state + base::json::write(call->inputs->responses));
  } else {
    result.input_needed = InputNeeded{{{"q", {{"method", "roots/list"}}}}, "mine"};
  }
  co_return result;
}

class AskedCallTest : public PipelineTest {
 protected:
  static PipelineCall asked(std::shared_ptr<ConsentHook> asker) {
    PipelineCall call = call_of("t.careful");
    call.asker = std::move(asker);
    return call;
  }
  void let_tool_ask() {
    add({capability("t.asks")})->invoke_with = [](Approved<Invocation> call, Progress) {
      return ask_back(std::move(call));
    };
  }
};

TEST_F(AskedCallTest, runs_when_the_callers_side_says_yes) {
  auto connector = add({needs_consent()});
  int count = 0;
  EXPECT_EQ(code_of(call_of("t.careful")), "E_CONSENT");
  EXPECT_EQ(code_of(asked(hook(ConsentDecision::kDeny, count))), "E_CONSENT");
  EXPECT_EQ(connector->invoked, 0);
  EXPECT_EQ(code_of(asked(hook(ConsentDecision::kApprove, count))), "ok");
  EXPECT_EQ(connector->invoked, 1);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(last_seal().at("consent").as_string(), "approved for once by somebody");
}

TEST_F(AskedCallTest, does_not_run_while_the_question_is_on_its_way) {
  auto connector = add({needs_consent()});
  int count = 0;
  EXPECT_EQ(code_of(asked(hook(ConsentDecision::kAsked, count))), "E_CONSENT");
  EXPECT_EQ(connector->invoked, 0);
  EXPECT_EQ(last_seal().at("consent").as_string(), "asked somebody");
}

TEST_F(AskedCallTest, is_asked_by_the_services_own_hook_where_there_is_one) {
  auto connector = add({needs_consent()});
  int of_service = 0;
  int of_caller = 0;
  parts_->consent = hook(ConsentDecision::kDeny, of_service);
  EXPECT_EQ(code_of(asked(hook(ConsentDecision::kApprove, of_caller))), "E_CONSENT");
  EXPECT_EQ(of_service, 1);
  EXPECT_EQ(of_caller, 0);
  EXPECT_EQ(connector->invoked, 0);
}

TEST_F(AskedCallTest, brings_a_tool_the_answers_to_its_questions) {
  let_tool_ask();
  auto first = ask(call_of("t.asks"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->result.input_needed);
  EXPECT_EQ(first->result.input_needed->state, "mine");
  EXPECT_EQ(last_seal().at("result").at("status").as_string(), "input_needed");
  PipelineCall again = call_of("t.asks");
  again.inputs = Inputs{{{"q", {{"roots", base::json::Array()}}}}, "mine"};
  auto second = ask(std::move(again));
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->result.input_needed);
  EXPECT_EQ(second->result.content.at(0).data, R"(mine{"q":{"roots":[]}})");
}

class PassesAll final : public OutputFilter {
 public:
  base::Task<Outcome<Filtered>> filter(const Invocation&, ToolResult result) override {
    co_return Filtered{std::move(result), 0};
  }
};

TEST_F(AskedCallTest, may_not_ask_past_the_output_filters) {
  let_tool_ask();
  parts_->filters.push_back(std::make_shared<PassesAll>());
  EXPECT_EQ(code_of(call_of("t.asks")), "E_POLICY");
}

TEST_F(AskedCallTest, counts_questions_as_output) {
  let_tool_ask();
  options_.output_bytes = 20;
  EXPECT_EQ(code_of(call_of("t.asks")), "E_LIMIT");
}

}  // namespace
}  // namespace tool::pipeline
