#include "toolserver/pipeline/pipeline.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using std::chrono::milliseconds;
using testing::alice;
using testing::call_of;
using testing::capability;
using testing::change_principal;
using ::testing::HasSubstr;
using testing::object;
using testing::PipelineTest;
using testing::text_result;

class FixedGuard final : public GuardStage {
 public:
  explicit FixedGuard(GuardDecision decision) : decision_(std::move(decision)) {}
  base::Task<GuardDecision> judge(const Invocation&, const Capability&) override {
    co_return decision_;
  }

 private:
  GuardDecision decision_;
};

class ThrowingGuard final : public GuardStage {
 public:
  base::Task<GuardDecision> judge(const Invocation&, const Capability&) override {
    throw std::runtime_error("a defect");
    co_return GuardDecision{};
  }
};

base::Task<Outcome<ToolResult>> throw_up(Approved<Invocation>, Progress) {
  throw std::runtime_error("secret of the inside");
  co_return text_result("never");
}

TEST_F(PipelineTest, a_call_that_breaks_no_rule_is_answered_and_recorded) {
  auto connector = add({capability("t.a")});
  auto reply = ask(call_of("t.a", R"({"n":1})"));
  ASSERT_TRUE(reply.has_value()) << reply.error().message << reply.error().detail;
  EXPECT_EQ(reply->result.content.at(0).data, "done");
  EXPECT_EQ(reply->usage.bytes, std::string_view("text/plaindone").size());
  EXPECT_EQ(reply->receipt.hash, audit_->head().hash);
  EXPECT_EQ(connector->invoked, 1);
  auto seal = last_seal();
  EXPECT_EQ(seal.at("open"), records("open").at(0).at("seq"));
  EXPECT_EQ(seal.at("decision"), object(R"({"stage":"output_schema","verdict":"allowed"})"));
  EXPECT_EQ(seal.at("result").at("status"), "ok");
  EXPECT_EQ(seal.at("guard"), "allowed: no guard");
  EXPECT_EQ(seal.at("consent"), "not needed");
  EXPECT_EQ(seal.at("principal"), object(R"({"iss":"node-a","method":"api_key","sub":"alice"})"));
  EXPECT_FALSE(seal.contains("args"));
  EXPECT_THAT(metrics_.text(), HasSubstr("securetool_calls_total{code=\"ok\"} 1\n"));
}

TEST_F(PipelineTest, shape_refuses_and_hides) {
  add({capability("t.a")});
  struct Case {
    const char* name;
    PipelineCall call;
    std::string_view code;
  };
  for (Case& c : std::vector<Case>{
           {"not a name", call_of("T.A"), "E_SHAPE"},
           {"unknown", call_of("t.b"), "E_TOOL"},
           {"not for this caller", call_of("t.a", "{}", "tool:invoke:t.b"), "E_TOOL"},
           {"no scopes", call_of("t.a", "{}", ""), "E_TOOL"},
           {"member of another type", call_of("t.a", R"({"n":"1"})"), "E_SHAPE"},
           {"unknown member", call_of("t.a", R"({"m":1})"), "E_SHAPE"},
           {"no canonical form", call_of("t.a", R"({"n":9007199254740992})"), "E_SHAPE"},
       }) {
    EXPECT_EQ(code_of(std::move(c.call)), c.code) << c.name;
    EXPECT_EQ(last_seal().at("decision").at("code").as_string(), c.code) << c.name;
    EXPECT_EQ(last_seal().at("decision").at("stage"), "shape") << c.name;
  }
  EXPECT_TRUE(records("open").empty());
}

// The digests of both are the same, and a tool must not tell them apart.
TEST_F(PipelineTest, a_whole_number_is_one_however_it_is_written) {
  auto one = capability("t.a");
  one.input_schema = object(R"({"type":"object"})");
  auto connector = add({one});
  std::vector<std::string> seen;
  connector->invoke_with = [&](Approved<Invocation> call,
                               Progress) -> base::Task<Outcome<ToolResult>> {
    seen.push_back(base::json::write(call->args));
    co_return text_result("done");
  };
  auto ask_with = [&](std::string_view args) {
    EXPECT_EQ(code_of(call_of("t.a", args)), "ok");
    return last_seal().at("args_mac");
  };
  EXPECT_EQ(ask_with(R"({"n":[5,{"m":-5}]})"), ask_with(R"({"n":[5.0,{"m":-5e0}]})"));
  EXPECT_EQ(seen.at(0), seen.at(1));
  ask_with(R"({"n":[-0.0,9007199254740991.0,-9007199254740991.0]})");
  EXPECT_EQ(seen.back(), R"({"n":[0,9007199254740991,-9007199254740991]})");
  ask_with(R"({"n":[5.5,9007199254740992.0,1e300]})");
  auto kept = object(seen.back()).at("n").get_array();
  EXPECT_TRUE(kept.at(0).is_double() && kept.at(1).is_double() && kept.at(2).is_double());
}

TEST_F(PipelineTest, an_unknown_and_a_hidden_tool_answer_alike) {
  add({capability("t.a")});
  auto hidden = ask(call_of("t.a", R"({"wrong":1})", "cap:list"));
  auto unknown = ask(call_of("t.z", R"({"wrong":1})", "cap:list"));
  ASSERT_FALSE(hidden.has_value());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(hidden.error().code, unknown.error().code);
  EXPECT_EQ(hidden.error().message, unknown.error().message);
  EXPECT_EQ(hidden.error().retry_after, unknown.error().retry_after);
  auto gotten = pipeline().capability(alice("cap:list"), Mode::kBasic, "t.a");
  EXPECT_EQ(gotten.error().message, hidden.error().message);
  EXPECT_TRUE(pipeline().capability(alice("tool:describe:t.a"), Mode::kBasic, "t.a").has_value());
}

TEST_F(PipelineTest, a_call_reaches_only_what_is_of_its_kind) {
  Capability prompt = capability("t.a");
  prompt.id = *ToolId::parse_any("prompt:t.a");
  auto connector = add({capability("t.a"), prompt});
  constexpr std::string_view kBoth = "tool:invoke:t.a prompt:get:t.a";
  auto as = [&](Offer offer, std::string_view name, std::string_view scopes) {
    auto call = call_of(std::string(name), "{}", scopes);
    call.offer = offer;
    return code_of(call);
  };
  EXPECT_EQ(as(Offer::kPrompt, "prompt:t.a", kBoth), "ok");
  EXPECT_EQ(as(Offer::kTool, "t.a", kBoth), "ok");
  EXPECT_EQ(connector->invoked, 2);
  // Whoever writes the name of a prompt where tools are called names no tool.
  EXPECT_EQ(as(Offer::kTool, "prompt:t.a", kBoth), "E_SHAPE");
  EXPECT_EQ(as(Offer::kPrompt, "t.a", kBoth), "E_SHAPE");
  EXPECT_EQ(as(Offer::kResource, "prompt:t.a", kBoth), "E_SHAPE");
  EXPECT_EQ(as(Offer::kPrompt, "prompt:t.a", "tool:invoke:t.*"), "E_TOOL");
  EXPECT_EQ(as(Offer::kTool, "t.a", "prompt:get:t.*"), "E_TOOL");
  EXPECT_EQ(connector->invoked, 2);
}

TEST_F(PipelineTest, the_caller_needs_the_scope_and_the_time) {
  auto connector = add({capability("t.a")});
  EXPECT_EQ(code_of(call_of("t.a", "{}", "tool:describe:t.a")), "E_SCOPE");
  EXPECT_EQ(code_of(call_of("t.a", "{}", "tool:invoke:t.a")), "ok");
  auto late = call_of("t.a");
  change_principal(late, [&](Principal& caller) { caller.expires_at = clock_.now(); });
  EXPECT_EQ(code_of(late), "E_EXPIRED");
  auto never_set = call_of("t.a");
  change_principal(never_set, [](Principal& caller) { caller.expires_at = {}; });
  EXPECT_EQ(code_of(never_set), "E_EXPIRED");
  EXPECT_EQ(connector->invoked, 1);
}

TEST_F(PipelineTest, a_tool_may_ask_for_a_stronger_mode) {
  Capability strong = capability("t.a");
  strong.min_mode = Mode::kEncrypted;
  add({strong});
  for (auto [mode, code] :
       std::initializer_list<std::pair<Mode, std::string_view>>{{Mode::kSimple, "E_POLICY"},
                                                                {Mode::kBasic, "E_POLICY"},
                                                                {Mode::kEncrypted, "ok"},
                                                                {Mode::kEnterprise, "ok"}}) {
    auto call = call_of("t.a");
    call.mode = mode;
    EXPECT_EQ(code_of(call), code) << name(mode);
  }
}

TEST_F(PipelineTest, a_foreign_tool_runs_only_as_it_was_approved) {
  Capability tool = capability("w.a");
  tool.origin = OriginKind::kBridge;
  auto connector = add({tool}, {.approved = {{"w.a", "sha256:00"}}});
  EXPECT_EQ(code_of(call_of("w.a", "{}", "tool:invoke:w.a")), "E_PIN");
  EXPECT_EQ(connector->invoked, 0);
  ASSERT_TRUE(registry_.approve(tool.id, tool.pin()).has_value());
  EXPECT_EQ(code_of(call_of("w.a", "{}", "tool:invoke:w.a")), "ok");
  EXPECT_EQ(last_seal().at("origin"), "bridge");
}

TEST_F(PipelineTest, the_guard_has_three_answers) {
  auto connector = add({capability("t.a")});
  struct Case {
    const char* name;
    std::shared_ptr<GuardStage> guard;
    std::string_view code;
    std::string_view note;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"yes", std::make_shared<FixedGuard>(GuardDecision{Verdict::kAllowed, "rule 1"}), "ok",
            "allowed: rule 1"},
           {"no", std::make_shared<FixedGuard>(GuardDecision{Verdict::kDenied, "rule 2"}),
            "E_POLICY", "denied: rule 2"},
           {"no word", std::make_shared<FixedGuard>(GuardDecision{}), "E_BUSY", "could not tell"},
           {"a defect", std::make_shared<ThrowingGuard>(), "E_BUSY",
            "could not tell: internal error a defect"},
           {"asks a person",
            std::make_shared<FixedGuard>(
                GuardDecision{Verdict::kAllowed, "", ConsentDemand::kDemanded}),
            "E_CONSENT", "allowed"},
       }) {
    parts_->guard = c.guard;
    pipeline_.reset();
    auto reply = ask(call_of("t.a"));
    EXPECT_EQ(reply ? "ok" : tool::name(reply.error().code), c.code) << c.name;
    if (!reply) EXPECT_THAT(reply.error().message, ::testing::Not(HasSubstr("rule"))) << c.name;
    EXPECT_EQ(last_seal().at("guard").as_string(), c.note) << c.name;
  }
  EXPECT_EQ(connector->invoked, 1);
}

// Each call breaks the rules of every stage from some point on; the first of
// them gives the answer.
// One principal has half of the places; what does not get one until its deadline
// never runs.
TEST_F(PipelineTest, calls_wait_for_a_fair_place_and_are_busy_at_their_deadline) {
  auto connector = std::make_shared<testing::TestConnector>(std::vector{capability("t.a")});
  connector->at_once = 4;
  connector->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    boost::asio::steady_timer work(co_await boost::asio::this_coro::executor, milliseconds(200));
    co_await work.async_wait(boost::asio::use_awaitable);
    co_return text_result("done");
  };
  ASSERT_TRUE(registry_.add(connector, {}));
  struct Row {
    const char* subject;
    milliseconds deadline;
    const char* answer;
  };
  const std::vector<Row> rows = {
      {"alice", milliseconds(5'000), "ok"},  {"alice", milliseconds(5'000), "ok"},
      {"alice", milliseconds(50), "E_BUSY"}, {"alice", milliseconds(5'000), "ok"},
      {"bob", milliseconds(1'000), "ok"},    {"bob", milliseconds(1'000), "ok"}};
  std::vector<std::string> answers;
  for (const auto& row : rows) {
    PipelineCall call = call_of("t.a");
    change_principal(call, [&](Principal& caller) { caller.subject = row.subject; });
    call.deadline = row.deadline;
    answers.emplace_back();
    boost::asio::co_spawn(loop_, pipeline().run(std::move(call), Progress()),
                          [&, at = answers.size() - 1](std::exception_ptr, auto reply) {
                            answers[at] = reply ? "ok" : tool::name(reply.error().code);
                          });
  }
  loop_.run_for(milliseconds(100));
  EXPECT_EQ(connector->invoked, 4) << "two of each principal, and no more";
  loop_.run();
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(answers[i], rows[i].answer) << i;
  EXPECT_EQ(connector->invoked, 5);
}

TEST_F(PipelineTest, the_earliest_stage_refuses) {
  Capability foreign = capability("w.a");
  foreign.origin = OriginKind::kBridge;
  foreign.min_mode = Mode::kEnterprise;
  foreign.consent = ConsentRule::kAlways;
  auto connector = add({foreign});
  connector->invoke_with = throw_up;
  parts_->guard = std::make_shared<FixedGuard>(GuardDecision{Verdict::kDenied, ""});
  options_.rate.burst = 1;
  options_.rate.calls_per_second = 0.000001;

  PipelineCall call = call_of("w.a", R"({"m":1})", "tool:describe:w.a");
  auto expect = [&](std::string_view code, std::string_view stage) {
    EXPECT_EQ(code_of(call), code);
    EXPECT_EQ(last_seal().at("decision").at("stage").as_string(), stage);
  };
  expect("E_SHAPE", "shape");
  expect("E_RATE", "rate");
  options_.rate.burst = 100;
  pipeline_.reset();
  call.args = object("{}");
  expect("E_PIN", "pin");
  ASSERT_TRUE(registry_.approve(foreign.id, foreign.pin()).has_value());
  expect("E_SCOPE", "authorise");
  call.principal = std::make_shared<const Principal>(alice("tool:invoke:w.a"));
  expect("E_POLICY", "min_mode");
  call.mode = Mode::kEnterprise;
  expect("E_POLICY", "guard");
  parts_->guard = nullptr;
  pipeline_.reset();
  expect("E_CONSENT", "consent");
  EXPECT_EQ(connector->invoked, 0);
  EXPECT_TRUE(records("open").empty());
}

}  // namespace
}  // namespace tool::pipeline
