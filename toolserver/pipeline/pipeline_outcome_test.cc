// Calls that are sent twice, and what is told of those that ran.

#include <filesystem>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using outcomes::State;

PipelineCall keyed(std::string id, std::string key = "pay-1", std::string_view args = "{}") {
  PipelineCall call = call_of("t.one", args);
  call.request_id = std::move(id);
  call.idem.key = std::move(key);
  return call;
}

base::Task<Outcome<ToolResult>> refuse_with(Code code) {
  co_return refuse(code, "as the test says");
}

class PipelineOutcomeTest : public PipelineTest {
 protected:
  void restart() {
    pipeline_.reset();
    parts_->outcomes = &open_outcomes();
  }
  [[nodiscard]] State state(const std::string& id, std::string_view subject = "alice") {
    Principal who = alice("tool:invoke:t.*");
    who.subject = subject;
    return pipeline().outcome(who, id).state;
  }
};

TEST_F(PipelineOutcomeTest, a_call_with_a_key_runs_once) {
  auto connector = add({capability("t.one")});
  auto first = ask(keyed("id-1"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->repeats, "");
  auto second = ask(keyed("id-2"));
  ASSERT_TRUE(second);
  EXPECT_EQ(connector->invoked, 1);
  EXPECT_EQ(second->repeats, "id-1");
  EXPECT_EQ(second->result.content.at(0).data, first->result.content.at(0).data);
  EXPECT_EQ(second->receipt, first->receipt);
  EXPECT_EQ(second->usage.bytes, first->usage.bytes);
  // The trail says of which call the answer is, and that no tool ran.
  auto seal = last_seal();
  EXPECT_EQ(seal.at("repeats").as_string(), "id-1");
  EXPECT_EQ(seal.at("decision").at("stage").as_string(), "idempotency");
  EXPECT_FALSE(seal.contains("result"));
  EXPECT_FALSE(seal.contains("open"));
  EXPECT_EQ(records("open").size(), 1U);
  // Without a key, or with another, it is another call.
  EXPECT_TRUE(ask(keyed("id-3", "")));
  EXPECT_TRUE(ask(keyed("id-4", "pay-2")));
  EXPECT_EQ(connector->invoked, 3);
}

TEST_F(PipelineOutcomeTest, a_key_holds_over_a_restart) {
  auto connector = add({capability("t.one")});
  auto first = ask(keyed("id-1"));
  ASSERT_TRUE(first);
  restart();
  auto second = ask(keyed("id-2"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->repeats, "id-1");
  EXPECT_EQ(second->receipt, first->receipt);
  EXPECT_EQ(connector->invoked, 1);
}

TEST_F(PipelineOutcomeTest, other_arguments_under_a_key_are_refused) {
  auto connector = add({capability("t.one")});
  EXPECT_EQ(code_of(keyed("id-1", "k", R"({"n":1})")), "ok");
  auto other = ask(keyed("id-2", "k", R"({"n":2})"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kShape);
  EXPECT_TRUE(other.error().message.starts_with("p.idem"));
  EXPECT_EQ(code_of(keyed("id-3", "k", R"({ "n" : 1 })")), "ok");
  EXPECT_EQ(connector->invoked, 1);
}

TEST_F(PipelineOutcomeTest, a_key_is_of_its_principal) {
  auto connector = add({capability("t.one")});
  EXPECT_EQ(code_of(keyed("id-1")), "ok");
  auto bob = keyed("id-2");
  change_principal(bob, [](Principal& one) { one.subject = "bob"; });
  EXPECT_EQ(code_of(std::move(bob)), "ok");
  EXPECT_EQ(connector->invoked, 2);
  EXPECT_EQ(state("id-1"), State::kFinished);
  EXPECT_EQ(state("id-1", "bob"), State::kNever);
  EXPECT_EQ(state("id-2"), State::kNever);
  EXPECT_EQ(state("id-2", "bob"), State::kFinished);
}

TEST_F(PipelineOutcomeTest, who_may_not_call_gets_no_outcome_either) {
  add({capability("t.one")});
  EXPECT_EQ(code_of(keyed("id-1")), "ok");
  auto without = keyed("id-2");
  change_principal(without,
                   [](Principal& one) { one.scopes = *Scopes::parse("tool:describe:t.one"); });
  EXPECT_EQ(code_of(std::move(without)), "E_SCOPE");
  EXPECT_TRUE(pipeline().outcome(alice("tool:invoke:t.*"), "id-1").ended->answer);
  auto told = pipeline().outcome(alice("tool:describe:t.one"), "id-1");
  EXPECT_EQ(told.state, State::kFinished);
  EXPECT_FALSE(told.ended->answer);
}

TEST_F(PipelineOutcomeTest, a_refusal_of_the_tool_is_an_outcome_and_one_before_it_is_none) {
  auto connector = add({capability("t.one")});
  connector->invoke_with = [](Approved<Invocation>, Progress) {
    return refuse_with(Code::kUpstream);
  };
  EXPECT_EQ(code_of(keyed("id-1", "k", R"({"wrong":1})")), "E_SHAPE");
  EXPECT_EQ(state("id-1"), State::kNever);
  EXPECT_EQ(code_of(keyed("id-2", "k")), "E_UPSTREAM");
  EXPECT_EQ(code_of(keyed("id-3", "k")), "E_UPSTREAM");
  EXPECT_EQ(connector->invoked, 1);
  auto told = pipeline().outcome(alice("tool:invoke:t.*"), "id-2");
  EXPECT_EQ(told.ended->status, "E_UPSTREAM");
  EXPECT_GT(told.ended->receipt.seq, 0U);
}

TEST_F(PipelineOutcomeTest, a_call_without_consent_leaves_its_key_free) {
  Capability careful = capability("t.one");
  careful.consent = ConsentRule::kAlways;
  auto connector = add({careful});
  EXPECT_EQ(code_of(keyed("id-1")), "E_CONSENT");
  EXPECT_EQ(code_of(keyed("id-2")), "E_CONSENT");
  EXPECT_EQ(state("id-1"), State::kNever);
  // Once it happened nobody is asked again.
  int asked = 0;
  parts_->consent = std::make_shared<ConsentFunction>(
      [&asked](base::RequestContext, ConsentQuestion) -> base::Task<Outcome<ConsentAnswer>> {
        ++asked;
        co_return ConsentAnswer{ConsentDecision::kApprove, "somebody", ConsentScope::kOnce};
      });
  pipeline_.reset();
  EXPECT_EQ(code_of(keyed("id-3")), "ok");
  EXPECT_EQ(code_of(keyed("id-4")), "ok");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(connector->invoked, 1);
}

TEST_F(PipelineOutcomeTest, a_second_call_while_the_first_runs_is_told_to_come_back) {
  auto connector = add({capability("t.one")});
  std::optional<Outcome<PipelineReply>> meanwhile;
  State seen = State::kNever;
  connector->invoke_with = [&](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    seen = state("id-1");
    meanwhile = co_await pipeline().run(keyed("id-2"), Progress());
    co_return text_result("done");
  };
  EXPECT_EQ(code_of(keyed("id-1")), "ok");
  ASSERT_TRUE(meanwhile && !*meanwhile);
  EXPECT_EQ(meanwhile->error().code, Code::kBusy);
  EXPECT_TRUE(meanwhile->error().retry_after);
  EXPECT_EQ(seen, State::kRunning);
  EXPECT_EQ(connector->invoked, 1);
}

TEST_F(PipelineOutcomeTest, what_the_end_of_the_service_cut_off_is_not_made_again) {
  auto connector = add({capability("t.one")});
  std::filesystem::path folder = folder_.path() + "/outcomes";
  connector->invoke_with = [&](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    // As the files are when the process ends here.
    std::filesystem::copy(folder, folder_.path() + "/kept");
    co_return text_result("done");
  };
  EXPECT_EQ(code_of(keyed("id-1")), "ok");
  pipeline_.reset();
  outcomes_.reset();
  std::filesystem::remove_all(folder);
  std::filesystem::rename(folder_.path() + "/kept", folder);
  restart();
  auto second = ask(keyed("id-2"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInternal);
  EXPECT_EQ(connector->invoked, 1);
  EXPECT_EQ(state("id-1"), State::kUnknown);
}

TEST_F(PipelineOutcomeTest, a_tool_without_room_leaves_the_key_free) {
  auto connector = add({capability("t.one")});
  connector->invoke_with = [&](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    return connector->invoked == 1 ? refuse_with(Code::kBusy) : refuse_with(Code::kUpstream);
  };
  EXPECT_EQ(code_of(keyed("id-1")), "E_BUSY");
  EXPECT_EQ(state("id-1"), State::kNever);
  EXPECT_EQ(code_of(keyed("id-2")), "E_UPSTREAM");
}

TEST_F(PipelineOutcomeTest, what_a_node_that_keeps_keys_may_know_is_asked_there_again) {
  auto connector = add({capability("t.one")});
  connector->has_keys = true;
  std::vector<Idempotency> seen;
  Code code = Code::kInternal;
  connector->invoke_with = [&](Approved<Invocation> call,
                               Progress) -> base::Task<Outcome<ToolResult>> {
    seen.push_back(call->idem);
    if (connector->invoked < 4) co_return refuse(code, "nobody can tell");
    co_return text_result("it did");
  };
  EXPECT_EQ(code_of(keyed("id-1")), "E_INTERNAL");
  EXPECT_EQ(state("id-1"), State::kUnknown);
  clock_.micros += 2'000'000;
  code = Code::kCancelled;
  EXPECT_EQ(code_of(keyed("id-2")), "E_CANCELLED");
  EXPECT_EQ(state("id-2"), State::kUnknown);
  code = Code::kBusy;
  EXPECT_EQ(code_of(keyed("id-3")), "E_BUSY");
  restart();
  auto last = ask(keyed("id-4"));
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(ask(keyed("id-5"))->repeats, "id-1");
  EXPECT_EQ(connector->invoked, 4);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[0].age.count(), 0);
  EXPECT_GE(seen[3].age, std::chrono::seconds(2));
  for (const auto& one : seen) EXPECT_EQ(one.key, "pay-1");
  // What such a node says for certain is an outcome like any other.
  connector->invoke_with = [](Approved<Invocation>, Progress) {
    return refuse_with(Code::kUpstream);
  };
  EXPECT_EQ(code_of(keyed("id-6", "k")), "E_UPSTREAM");
  EXPECT_EQ(state("id-6"), State::kFinished);
}

TEST_F(PipelineOutcomeTest, tools_that_are_still_to_come_are_no_tools_that_there_are_not) {
  parts_->registry.expect("far");
  Principal who = alice("tool:invoke:far.*");
  auto far = [] { return call_of("far.one", "{}", "tool:invoke:far.*"); };
  EXPECT_TRUE(pipeline().keeps_keys(*ToolId::parse("far.one")));
  EXPECT_EQ(code_of(far()), "E_BUSY");
  EXPECT_EQ(pipeline().capability(who, Mode::kBasic, "far.one").error().code, Code::kBusy);
  // Who may not know of it is not told that anything is to come.
  EXPECT_EQ(code_of(call_of("far.one")), "E_TOOL");
  EXPECT_EQ(pipeline().capability(alice("tool:invoke:t.*"), Mode::kBasic, "far.one").error().code,
            Code::kTool);
  parts_->registry.expect_no_more("far");
  EXPECT_EQ(code_of(far()), "E_TOOL");
  EXPECT_FALSE(pipeline().keeps_keys(*ToolId::parse("far.one")));
}

TEST_F(PipelineOutcomeTest, a_key_that_cannot_be_recorded_does_not_run) {
  auto connector = add({capability("t.one")});
  std::filesystem::path folder = folder_.path() + "/outcomes";
  std::filesystem::rename(folder, folder_.path() + "/away");
  EXPECT_EQ(code_of(keyed("id-1")), "E_BUSY");
  EXPECT_EQ(code_of(keyed("id-2", "")), "ok");
  EXPECT_EQ(connector->invoked, 1);
  std::filesystem::rename(folder_.path() + "/away", folder);
  EXPECT_EQ(code_of(keyed("id-3")), "ok");
}

TEST_F(PipelineOutcomeTest, a_tool_that_asks_has_not_ended) {
  auto connector = add({capability("t.one")});
  connector->invoke_with = [](Approved<Invocation> call,
                              Progress) -> base::Task<Outcome<ToolResult>> {
    if (call->inputs) co_return text_result("answered");
    ToolResult result;
    result.input_needed = InputNeeded{{{"q", {{"method", "roots/list"}}}}, "mine"};
    co_return result;
  };
  auto first = ask(keyed("id-1"));
  ASSERT_TRUE(first && first->result.input_needed);
  auto second = keyed("id-2");
  second.inputs = Inputs{{}, "mine"};
  EXPECT_EQ(code_of(std::move(second)), "ok");
  EXPECT_EQ(connector->invoked, 2);
  EXPECT_EQ(ask(keyed("id-3"))->result.content.at(0).data, "answered");
  EXPECT_EQ(connector->invoked, 2);
}

TEST_F(PipelineOutcomeTest, a_dry_run_is_no_call) {
  add({capability("t.one")});
  auto call = keyed("id-1", "");
  call.dry_run = true;
  EXPECT_EQ(code_of(std::move(call)), "ok");
  EXPECT_EQ(state("id-1"), State::kNever);
}

TEST_F(PipelineOutcomeTest, without_a_store_a_key_is_refused) {
  auto connector = add({capability("t.one")});
  parts_->outcomes = nullptr;
  EXPECT_EQ(code_of(keyed("id-1")), "E_SHAPE");
  EXPECT_EQ(code_of(keyed("id-2", "")), "ok");
  EXPECT_EQ(connector->invoked, 1);
}

}  // namespace
}  // namespace tool::pipeline
