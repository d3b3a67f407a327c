#include "toolserver/pipeline/pipeline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using std::chrono::milliseconds;
using testing::alice;
using testing::call_of;
using testing::capability;
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

using FilterCall = std::function<Outcome<Filtered>(ToolResult)>;
class FixedFilter final : public OutputFilter {
 public:
  explicit FixedFilter(FilterCall call) : call_(std::move(call)) {}
  base::Task<Outcome<Filtered>> filter(const Invocation&, ToolResult result) override {
    co_return call_(std::move(result));
  }

 private:
  FilterCall call_;
};

base::Task<Outcome<ToolResult>> wait_for_ever(Approved<Invocation>, Progress) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor,
                                  std::chrono::steady_clock::time_point::max());
  co_await timer.async_wait(boost::asio::use_awaitable);
  co_return text_result("never");
}

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
  EXPECT_EQ(reply->receipt, audit_->head());
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

TEST_F(PipelineTest, the_caller_needs_the_scope_and_the_time) {
  auto connector = add({capability("t.a")});
  EXPECT_EQ(code_of(call_of("t.a", "{}", "tool:describe:t.a")), "E_SCOPE");
  EXPECT_EQ(code_of(call_of("t.a", "{}", "tool:invoke:t.a")), "ok");
  auto late = call_of("t.a");
  late.principal.expires_at = clock_.now();
  EXPECT_EQ(code_of(late), "E_EXPIRED");
  auto never_set = call_of("t.a");
  never_set.principal.expires_at = {};
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
  call.principal = alice("tool:invoke:w.a");
  expect("E_POLICY", "min_mode");
  call.mode = Mode::kEnterprise;
  expect("E_POLICY", "guard");
  parts_->guard = nullptr;
  pipeline_.reset();
  expect("E_CONSENT", "consent");
  EXPECT_EQ(connector->invoked, 0);
  EXPECT_TRUE(records("open").empty());
}

TEST_F(PipelineTest, a_tool_ends_with_its_deadline) {
  Capability tool = capability("t.a");
  auto connector = add({tool});
  connector->invoke_with = wait_for_ever;
  auto call = call_of("t.a");
  call.deadline = milliseconds(20);
  EXPECT_EQ(code_of(call), "E_TIMEOUT");
  EXPECT_EQ(last_seal().at("result").at("status"), "E_TIMEOUT");
  options_.deadline = milliseconds(20);
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "E_TIMEOUT");
  options_.deadline = milliseconds(60'000);
  options_.max_deadline = milliseconds(20);
  pipeline_.reset();
  call.deadline = milliseconds(60'000);
  EXPECT_EQ(code_of(call), "E_TIMEOUT");
}

TEST_F(PipelineTest, a_cancelled_caller_gets_a_value_and_leaves_a_record) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = wait_for_ever;
  boost::asio::io_context loop;
  boost::asio::cancellation_signal cancel;
  std::optional<Outcome<PipelineReply>> reply;
  boost::asio::co_spawn(
      loop, pipeline().run(call_of("t.a"), Progress()),
      boost::asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr error, Outcome<PipelineReply> value) {
            EXPECT_FALSE(error);
            reply.emplace(std::move(value));
          }));
  while (connector->invoked == 0) loop.run_one();
  cancel.emit(boost::asio::cancellation_type::terminal);
  loop.run();
  ASSERT_TRUE(reply.has_value());
  ASSERT_FALSE(reply->has_value());
  EXPECT_EQ(reply->error().code, Code::kCancelled);
  EXPECT_EQ(last_seal().at("result").at("status"), "E_CANCELLED");
}

TEST_F(PipelineTest, what_a_tool_throws_stays_inside) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = throw_up;
  auto reply = ask(call_of("t.a"));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kInternal);
  EXPECT_THAT(reply.error().message, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(last_seal().at("result").at("status"), "E_INTERNAL");
}

TEST_F(PipelineTest, a_tool_that_refuses_is_recorded_with_its_code) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    co_return refuse(Code::kUpstream, "away");
  };
  EXPECT_EQ(code_of(call_of("t.a")), "E_UPSTREAM");
  connector->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    ToolResult failed = text_result("no such table");
    failed.is_error = true;
    co_return failed;
  };
  EXPECT_EQ(code_of(call_of("t.a")), "ok");
  EXPECT_EQ(last_seal().at("result").at("status"), "tool_error");
}

TEST_F(PipelineTest, answers_have_a_size) {
  Capability tool = capability("t.a");
  tool.limits.output_bytes = 100;
  auto connector = add({tool});
  auto answer = [&](std::size_t bytes, bool is_structured) {
    connector->invoke_with = [=](Approved<Invocation>,
                                 Progress) -> base::Task<Outcome<ToolResult>> {
      ToolResult result;
      if (is_structured) {
        result.structured = boost::json::string(bytes - 2, 'x');
      } else {
        result.content.push_back({"", std::string(bytes, 'x')});
      }
      co_return result;
    };
    return code_of(call_of("t.a"));
  };
  for (bool is_structured : {false, true}) {
    EXPECT_EQ(answer(100, is_structured), "ok");
    EXPECT_EQ(answer(101, is_structured), "E_LIMIT");
  }
  options_.output_bytes = 50;
  pipeline_.reset();
  EXPECT_EQ(answer(51, false), "E_LIMIT");
}

TEST_F(PipelineTest, filters_see_every_answer_in_their_order) {
  add({capability("t.a")});
  auto appends = [](std::string text) {
    return std::make_shared<FixedFilter>([text](ToolResult result) {
      result.content.at(0).data += text;
      return Outcome<Filtered>(Filtered{std::move(result), 2});
    });
  };
  parts_->filters = {appends("1"), appends("2")};
  auto reply = ask(call_of("t.a"));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->result.content.at(0).data, "done12");
  EXPECT_EQ(reply->redactions, 4u);
  EXPECT_EQ(last_seal().at("result").at("redactions"), 4);
  parts_->filters.push_back(std::make_shared<FixedFilter>(
      [](ToolResult) { return Outcome<Filtered>(refuse(Code::kPolicy, "blocked")); }));
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "E_POLICY");
  EXPECT_EQ(last_seal().at("decision").at("stage"), "output_filter");
  parts_->filters = {std::make_shared<FixedFilter>(
      [](ToolResult) -> Outcome<Filtered> { throw std::runtime_error("a defect"); })};
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "E_INTERNAL");
  parts_->filters = {std::make_shared<FixedFilter>([](ToolResult) {
    return Outcome<Filtered>(Filtered{text_result(std::string(5 << 20, 'x')), 1});
  })};
  pipeline_.reset();
  EXPECT_EQ(code_of(call_of("t.a")), "E_LIMIT");
}

TEST_F(PipelineTest, an_answer_keeps_the_promise_of_its_tool) {
  Capability tool = capability("t.a");
  tool.output_schema = object(R"({"type":"object","required":["rows"]})");
  Capability foreign = tool;
  foreign.id = *ToolId::parse("w.a");
  foreign.origin = OriginKind::kBridge;
  auto ours = add({tool});
  auto theirs = add({foreign}, {.first_seen = FirstSeen::kTrust});
  auto answer = [&](std::optional<base::json::Value> structured, bool is_error, std::string id) {
    auto invoke = [=](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
      ToolResult result;
      result.structured = structured;
      result.is_error = is_error;
      co_return result;
    };
    ours->invoke_with = invoke;
    theirs->invoke_with = invoke;
    return code_of(call_of(std::move(id), "{}", "tool:invoke:t.a tool:invoke:w.a"));
  };
  EXPECT_EQ(answer(object(R"({"rows":[]})"), false, "t.a"), "ok");
  EXPECT_EQ(answer(object("{}"), false, "t.a"), "E_INTERNAL");
  EXPECT_EQ(answer(object("{}"), false, "w.a"), "E_UPSTREAM");
  EXPECT_EQ(answer(std::nullopt, false, "w.a"), "E_UPSTREAM");
  EXPECT_EQ(answer(std::nullopt, true, "w.a"), "ok");
}

TEST_F(PipelineTest, a_dry_run_reaches_only_tools_that_know_of_it) {
  Capability tool = capability("t.a");
  tool.consent = ConsentRule::kAlways;
  Capability foreign = capability("w.a");
  foreign.origin = OriginKind::kBridge;
  auto ours = add({tool});
  auto theirs = add({foreign}, {.first_seen = FirstSeen::kTrust});
  bool was_dry = false;
  ours->invoke_with = [&](Approved<Invocation> call, Progress) -> base::Task<Outcome<ToolResult>> {
    was_dry = call->dry_run;
    co_return text_result("would");
  };
  auto call = call_of("t.a", "{}", "tool:invoke:t.a tool:invoke:w.a");
  EXPECT_EQ(code_of(call), "E_CONSENT");
  call.dry_run = true;
  EXPECT_EQ(code_of(call), "ok");
  EXPECT_TRUE(was_dry);
  EXPECT_EQ(last_seal().at("result").at("status"), "dry_run");
  call.tool = "w.a";
  EXPECT_EQ(code_of(call), "E_SHAPE");
  EXPECT_EQ(theirs->invoked, 0);
}

TEST_F(PipelineTest, raw_arguments_are_recorded_only_when_asked_for) {
  add({capability("t.a")});
  options_.trail.arguments = RawArguments::kRecorded;
  EXPECT_EQ(code_of(call_of("t.a", R"({"n":7})")), "ok");
  EXPECT_EQ(records("open").at(0).at("args"), object(R"({"n":7})"));
}

TEST_F(PipelineTest, words_of_a_caller_cannot_forge_a_record) {
  auto call = call_of("t.a\n{\"kind\":\"seal\"}");
  call.session_id = "s\",\"hash\":\"0";
  call.request_id = "\r\n";
  call.traceparent = std::string("\0\xff", 2);
  EXPECT_EQ(code_of(call), "E_SHAPE");
  EXPECT_EQ(records("seal").size(), 1u);
  EXPECT_TRUE(audit::verify(trail_folder(), {})->is_intact());
}

TEST_F(PipelineTest, many_loops_share_one_pipeline) {
  auto connector = add({capability("t.a")});
  options_.rate.burst = 10'000;
  Pipeline& shared = pipeline();
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        auto reply = testing::run(shared.run(call_of("t.a"), Progress()));
        if (reply) ++answered;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(answered, 400);
  EXPECT_EQ(connector->invoked, 400);
  auto report = audit::verify(trail_folder(), {});
  EXPECT_TRUE(report->is_intact());
  EXPECT_EQ(report->calls, 400u);
}

// A process of its own, since the limit on file sizes is the process's.
class FullDiskTest : public PipelineTest {
 protected:
  struct Codes {
    std::string_view full;
    std::string_view after;
    int invoked = 0;
  };
  // Exit code 0 when a full disk and an emptied one answer as `expected`.
  int run_child(AuditFailure on_failure, const Codes& expected) {
    audit_.reset();
    pid_t pid = ::fork();
    if (pid == 0) ::_exit(child(on_failure, expected));
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  int child(AuditFailure on_failure, const Codes& expected) {
    ::signal(SIGXFSZ, SIG_IGN);
    base::log::LogOutput output({.level = base::log::Level::kError}, clock_);
    PipelineParts own{.registry = registry_,
                      .audit = open_audit(),
                      .clock = clock_,
                      .metrics = metrics_,
                      .log = base::log::Logger(output),
                      .guard = nullptr,
                      .consent = nullptr,
                      .filters = {}};
    options_.trail.on_failure = on_failure;
    Pipeline mine(options_, own);
    auto connector = add({capability("t.a")});
    auto code = [&] {
      auto reply = testing::run(mine.run(call_of("t.a"), Progress()));
      return reply ? "ok" : tool::name(reply.error().code);
    };
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    rlimit tight = limit;
    tight.rlim_cur = 10;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    if (code() != expected.full) return 10;
    if (connector->invoked != expected.invoked) return 11;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (code() != expected.after) return 12;
    bool is_counted = metrics_.text().find("securetool_audit_lost_total 0\n") == std::string::npos;
    audit_.reset();
    return is_counted ? 0 : 13;
  }
};

TEST_F(FullDiskTest, what_cannot_be_recorded_does_not_happen) {
  EXPECT_EQ(run_child(AuditFailure::kBlock, {"E_BUSY", "ok", 0}), 0);
}

TEST_F(FullDiskTest, or_happens_and_is_counted) {
  EXPECT_EQ(run_child(AuditFailure::kContinue, {"ok", "ok", 1}), 0);
}

}  // namespace
}  // namespace tool::pipeline
