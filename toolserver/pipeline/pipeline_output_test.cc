#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

using std::chrono::milliseconds;
using testing::call_of;
using testing::capability;
using ::testing::HasSubstr;
using testing::object;
using testing::PipelineTest;
using testing::text_result;

class PipelineOutputTest : public PipelineTest {};

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

TEST_F(PipelineOutputTest, words_of_progress_stay_behind_where_a_filter_is) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = [](Approved<Invocation>,
                              Progress progress) -> base::Task<Outcome<ToolResult>> {
    progress(1, 2, "password: hunter2");
    co_return text_result("done");
  };
  std::vector<std::string> notes;
  auto note = [&](double done, std::optional<double> total, std::string text) {
    EXPECT_EQ(done, 1);
    EXPECT_EQ(total, 2);
    notes.push_back(std::move(text));
  };
  EXPECT_TRUE(testing::run_on(loop_, pipeline().run(call_of("t.a"), note)));
  parts_->filters = {std::make_shared<FixedFilter>(
      [](ToolResult result) -> Outcome<Filtered> { return Filtered{std::move(result), 0}; })};
  pipeline_.reset();
  EXPECT_TRUE(testing::run_on(loop_, pipeline().run(call_of("t.a"), note)));
  EXPECT_EQ(notes, (std::vector<std::string>{"password: hunter2", ""}));
}

TEST_F(PipelineOutputTest, a_tool_ends_with_its_deadline) {
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

TEST_F(PipelineOutputTest, who_waits_on_no_connection_may_have_more_than_the_longest_time) {
  Capability tool = capability("t.a");
  tool.limits.time = milliseconds(60'000);
  Capability short_one = capability("t.b");
  short_one.limits.time = milliseconds(20);
  auto connector = add({tool, short_one});
  connector->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, milliseconds(60));
    boost::system::error_code woken;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    if (woken) co_return refuse(Code::kCancelled, "cancelled");
    co_return text_result("done");
  };
  options_.max_deadline = milliseconds(20);
  auto call = call_of("t.a");
  call.deadline = milliseconds(30'000);
  EXPECT_EQ(code_of(call), "E_TIMEOUT");
  call.most = milliseconds(30'000);
  EXPECT_EQ(code_of(call), "ok");
  // The tool's own bound holds for it, too.
  call.tool = "t.b";
  EXPECT_EQ(code_of(call), "E_TIMEOUT");
}

TEST_F(PipelineOutputTest, a_cancelled_caller_gets_a_value_and_leaves_a_record) {
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

TEST_F(PipelineOutputTest, what_a_tool_throws_stays_inside) {
  auto connector = add({capability("t.a")});
  connector->invoke_with = throw_up;
  auto reply = ask(call_of("t.a"));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kInternal);
  EXPECT_THAT(reply.error().message, ::testing::Not(HasSubstr("secret")));
  EXPECT_EQ(last_seal().at("result").at("status"), "E_INTERNAL");
}

TEST_F(PipelineOutputTest, a_tool_that_refuses_is_recorded_with_its_code) {
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

TEST_F(PipelineOutputTest, answers_have_a_size) {
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

TEST_F(PipelineOutputTest, filters_see_every_answer_in_their_order) {
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

TEST_F(PipelineOutputTest, an_answer_keeps_the_promise_of_its_tool) {
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

TEST_F(PipelineOutputTest, a_dry_run_tells_nothing_that_nobody_agreed_to) {
  Capability tool = capability("t.a");
  tool.consent = ConsentRule::kAlways;
  tool.output_schema = object(R"({"type":"object","required":["row"]})");
  bool fails = false;
  add({tool})->invoke_with = [&](Approved<Invocation>,
                                 Progress) -> base::Task<Outcome<ToolResult>> {
    auto result = text_result("a secret row");
    result.structured = object(R"({"row":"secret"})");
    result.is_error = fails;
    co_return result;
  };
  auto call = call_of("t.a");
  call.dry_run = true;
  for (bool expected : {false, true}) {
    fails = expected;
    auto reply = ask(call);
    ASSERT_TRUE(reply.has_value()) << reply.error().detail;
    EXPECT_TRUE(reply->result.content.empty());
    EXPECT_FALSE(reply->result.structured.has_value());
    EXPECT_EQ(reply->result.is_error, expected);
    EXPECT_EQ(reply->usage.bytes, 0u);
  }
}

TEST_F(PipelineOutputTest, a_dry_run_reaches_only_tools_that_know_of_it) {
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

}  // namespace
}  // namespace tool::pipeline
