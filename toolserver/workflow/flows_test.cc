#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>

#include "toolserver/workflow/fixture_test.h"

namespace tool::workflow {
namespace {

using testing::flow;
using testing::FlowTest;
using testing::object;
namespace asio = boost::asio;
namespace json = base::json;
using std::chrono::milliseconds;

constexpr std::string_view kThree = R"(
  {"name":"first","tool":"t.a","args":{"n":{"$from":"/input/n"}}},
  {"name":"second","tool":"t.b","args":{"m":{"$from":"/steps/first/structured/n"},"deep":[{"x":{"$from":"/steps/first/content/0/text"}}]}},
  {"name":"third","tool":"t.c","after":["second"]})";
constexpr std::string_view kInput =
    R"(,"input":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"output":{"was":{"$from":"/steps/second/structured/m"}})";

TEST_F(FlowTest, steps_take_what_others_answered_and_each_leaves_its_record) {
  auto answer = ask(request(flow(kThree, kInput), object(R"({"n":7})")));
  EXPECT_EQ(states(answer), "done, first done, second done, third done");
  EXPECT_EQ(called_, (std::vector<std::string>{
                         R"(t.a{"n":7})", R"(t.b{"m":7,"deep":[{"x":"{\"n\":7}"}]})", "t.c{}"}));
  EXPECT_EQ(json::write(answer->at("output")), R"({"was":7})");
  EXPECT_EQ(notes_, (std::vector<std::string>{"first: done", "second: done", "third: done"}));
  auto seals = records("seal");
  ASSERT_EQ(seals.size(), 3U);
  EXPECT_EQ(seals[1].at("flow"), json::Value(std::string(testing::kRun) + "/second"));
  EXPECT_EQ(seals[1].at("rid"), answer->at("steps").at(1).at("rid"));
}

TEST_F(FlowTest, a_run_that_ended_is_answered_from_its_record_and_only_as_itself) {
  auto first = ask(request(flow(kThree, kInput), object(R"({"n":7})")));
  start_again();
  EXPECT_EQ(*ask(request(flow(kThree, kInput), object(R"({"n":7})"))), *first);
  EXPECT_EQ(*ask(request({})), *first);
  EXPECT_EQ(states(get(caller())), states(first));
  EXPECT_EQ(connector_->invoked, 3);
  EXPECT_TRUE(states(ask(request(flow(kThree, kInput), object(R"({"n":8})"))))
                  .starts_with("E_SHAPE p.run: is the id of a run of another workflow"));
}

TEST_F(FlowTest, a_run_is_seen_resumed_and_taken_back_by_its_own_principal_alone) {
  expires_ = clock_.now();
  EXPECT_EQ(states(ask(request(flow(kThree, kInput), object(R"({"n":7})")))),
            "E_EXPIRED the credential is out of its time");
  expires_ += std::chrono::hours(1);
  auto mallory = [this] { return caller("mallory"); };
  EXPECT_EQ(states(get(mallory())), "E_SHAPE p.run: there is no such run");
  EXPECT_EQ(states(ask(mallory(), request({}))), "E_SHAPE p.run: there is no such run");
  EXPECT_EQ(states(cancel(mallory())), "E_SHAPE p.run: there is no such run");
  // Her run of the same id is hers.
  EXPECT_EQ(states(ask(mallory(), request(flow(R"({"name":"own","tool":"t.a"})")))),
            "done, own done");
  EXPECT_EQ(states(get(caller())), "open, first waiting, second waiting, third waiting");
  EXPECT_EQ(states(ask(request({}))), "done, first done, second done, third done");
}

TEST_F(FlowTest, a_step_that_is_forbidden_stops_the_run_before_it_begins) {
  auto both = flow(R"({"name":"a","tool":"t.a"},{"name":"b","tool":"t.b","after":["a"]})");
  EXPECT_EQ(states(ask(caller("alice", "tool:invoke:t.a tool:describe:t.b"), request(both))),
            "E_SCOPE steps.b.tool: needs the scope tool:invoke:t.b");
  EXPECT_EQ(states(ask(caller("alice", "tool:invoke:t.a"), request(both))),
            "E_TOOL steps.b.tool: t.b: no such tool");
  EXPECT_EQ(connector_->invoked, 0);
  EXPECT_EQ(states(get(caller())), "E_SHAPE p.run: there is no such run");
}

TEST_F(FlowTest, who_resumes_with_fewer_rights_gains_none_by_the_run) {
  does_["a"] = [this](json::Object args) {
    expires_ = clock_.now() + std::chrono::seconds(1);
    clock_.micros += 2'000'000;
    return answer(std::move(args));
  };
  expires_ = clock_.now() + std::chrono::seconds(1);
  auto both = flow(R"({"name":"a","tool":"t.a"},{"name":"b","tool":"t.b","after":["a"]})");
  EXPECT_TRUE(states(ask(request(both))).starts_with("E_EXPIRED"));
  expires_ = clock_.now() + std::chrono::hours(1);
  EXPECT_EQ(states(ask(caller("alice", "tool:invoke:t.a"), request({}))),
            "failed, a done, b failed");
  EXPECT_EQ(connector_->invoked, 1);
}

// Holds every call until `width` of them run, so that it ends only where they do.
struct Gate {
  base::Task<Outcome<ToolResult>> pass(json::Object args) {
    most = std::max(most, ++running);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (running < width && !open) {
      timer.expires_after(milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    open = true;
    // Each stays a while, so that one too many would be seen.
    timer.expires_after(milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    --running;
    co_return connectors::json_result(json::Value(std::move(args)));
  }
  int width = 1, running = 0, most = 0;
  bool open = false;
};

TEST_F(FlowTest, steps_that_do_not_wait_for_each_other_run_side_by_side_up_to_the_bound) {
  Gate gate{.width = 4};
  does_["a"] = [&](json::Object args) { return gate.pass(std::move(args)); };
  std::string steps;
  for (int i = 0; i < 12; ++i) {
    steps +=
        std::string(i > 0 ? "," : "") + R"({"name":"s)" + std::to_string(i) + R"(","tool":"t.a"})";
  }
  auto answer = ask(request(flow(steps, R"(,"parallel":4)")));
  EXPECT_TRUE(states(answer).starts_with("done"));
  EXPECT_EQ(gate.most, 4);
  EXPECT_EQ(connector_->invoked, 12);
}

TEST_F(FlowTest, a_step_whose_condition_does_not_hold_is_skipped_with_those_that_need_it) {
  auto answer = ask(request(flow(R"(
      {"name":"a","tool":"t.a","args":{"n":3}},
      {"name":"b","tool":"t.b","if":[{"from":"/steps/a/structured/n","greater":2},{"from":"/steps/a/status","equals":"failed"}]},
      {"name":"c","tool":"t.c","args":{"x":{"$from":"/steps/b/structured"}}},
      {"name":"d","tool":"t.a","after":["c"],"if":{"from":"/steps/b/status","equals":"skipped"}},
      {"name":"e","tool":"t.a","if":{"from":"/steps/b/structured","exists":true}})")));
  EXPECT_EQ(states(answer), "done, a done, b skipped, c skipped, d done, e skipped");
}

TEST_F(FlowTest, a_condition_that_cannot_be_told_fails_its_step) {
  auto answer = ask(request(flow(R"({"name":"a","tool":"t.a"},
      {"name":"b","tool":"t.b","if":{"from":"/steps/a/structured/n","greater":2}})")));
  EXPECT_EQ(states(answer), "failed, a done, b failed");
  EXPECT_EQ(answer->at("error").at("msg"), "step b: if: /steps/a/structured/n leads to nothing");
}

TEST_F(FlowTest, a_pointer_that_leads_to_nothing_fails_its_step_before_the_call) {
  auto answer = ask(request(flow(R"({"name":"a","tool":"t.a"},
      {"name":"b","tool":"t.b","args":{"x":{"$from":"/steps/a/structured/n"}}})")));
  EXPECT_EQ(states(answer), "failed, a done, b failed");
  EXPECT_EQ(answer->at("error").at("code"), "E_SHAPE");
  EXPECT_EQ(connector_->invoked, 1);
}

constexpr std::string_view kUndone = R"(
  {"name":"a","tool":"t.a","undo":{"tool":"t.undo","args":{"of":"a"}}},
  {"name":"b","tool":"t.b","after":["a"],"undo":{"tool":"t.undo","args":{"of":{"$from":"/steps/b/structured"}}},"args":{"n":1}},
  {"name":"c","tool":"t.c","after":["b"],"undo":{"tool":"t.undo","args":{"of":"c"}}},
  {"name":"d","tool":"t.a","after":["c"]})";

TEST_F(FlowTest, what_is_done_is_undone_in_reverse_when_a_step_fails) {
  does_["c"] = fails;
  auto answer = ask(request(flow(kUndone)));
  EXPECT_EQ(states(answer), "failed, a done undo done, b done undo done, c failed, d waiting");
  EXPECT_EQ(answer->at("error").at("code"), "tool_error");
  EXPECT_EQ(called_[3], R"(t.undo{"of":{"n":1}})");
  EXPECT_EQ(called_[4], R"(t.undo{"of":"a"})");
  EXPECT_EQ(records("seal").back().at("flow"), json::Value(std::string(testing::kRun) + "/a/undo"));
}

TEST_F(FlowTest, an_undo_that_fails_does_not_keep_the_others_from_being_done) {
  does_["c"] = fails;
  bool first = true;
  does_["undo"] = [&](json::Object args) {
    return std::exchange(first, false) ? away(std::move(args)) : answer(std::move(args));
  };
  EXPECT_EQ(states(ask(request(flow(kUndone)))),
            "failed, a done undo done, b done undo failed, c failed, d waiting");
}

TEST_F(FlowTest, a_step_that_may_fail_does_not_end_the_run) {
  does_["a"] = away;
  auto answer = ask(request(
      flow(R"({"name":"a","tool":"t.a","may_fail":true},{"name":"b","tool":"t.b","after":["a"]},
      {"name":"c","tool":"t.c","args":{"x":{"$from":"/steps/a/content"}}},
      {"name":"d","tool":"t.c","if":{"from":"/steps/a/status","equals":"failed"}})")));
  EXPECT_EQ(states(answer), "done, a failed, b done, c skipped, d done");
}

TEST_F(FlowTest, a_tool_that_can_be_called_twice_is_tried_again_and_no_other) {
  int left = 2;
  does_["same"] = [&](json::Object args) { return left-- > 0 ? away(args) : answer(args); };
  auto answer =
      ask(request(flow(R"({"name":"a","tool":"t.same","retry":{"attempts":3,"pause_ms":0}})")));
  EXPECT_EQ(states(answer), "done, a done");
  EXPECT_EQ(answer->at("steps").at(0).at("attempts"), 3);
  EXPECT_EQ(notes_[0], "a: again after E_UPSTREAM");
  FlowRequest other = request(flow(R"({"name":"a","tool":"t.a","retry":{"attempts":3}})"));
  other.run = *Ulid::parse("01JD0000000000000000000002");
  EXPECT_TRUE(states(ask(std::move(other))).starts_with("E_SHAPE steps.a.retry: t.a does not say"));
}

TEST_F(FlowTest, attempts_end_and_what_a_rule_refuses_is_not_tried_again) {
  does_["same"] = away;
  auto retried = R"({"name":"a","tool":"t.same","retry":{"attempts":3,"pause_ms":0}})";
  EXPECT_EQ(states(ask(request(flow(retried)))), "failed, a failed");
  EXPECT_EQ(connector_->invoked, 3);
  does_["same"] = [](json::Object) -> base::Task<Outcome<ToolResult>> {
    co_return refuse(Code::kPolicy, "no");
  };
  FlowRequest other = request(flow(retried));
  other.run = *Ulid::parse("01JD0000000000000000000002");
  EXPECT_EQ(states(ask(std::move(other))), "failed, a failed");
  EXPECT_EQ(connector_->invoked, 4);
}

TEST_F(FlowTest, there_is_no_room_now_is_asked_again_and_not_an_end) {
  options_.rate = {.calls_per_second = 200, .burst = 1};
  auto answer = ask(request(flow(R"({"name":"a","tool":"t.a"},{"name":"b","tool":"t.b"})")));
  EXPECT_EQ(states(answer), "done, a done, b done");
  EXPECT_EQ(answer->at("steps").at(1).at("attempts"), 1);
}

TEST_F(FlowTest, when_its_time_is_over_no_step_begins_and_what_is_done_is_undone) {
  does_["b"] = [this](json::Object args) {
    clock_.micros += 11'000'000;
    return answer(std::move(args));
  };
  auto answer = ask(request(flow(kUndone, R"(,"time_ms":10000)")));
  EXPECT_EQ(states(answer), "failed, a done undo done, b done undo done, c waiting, d waiting");
  EXPECT_EQ(answer->at("error").at("code"), "E_TIMEOUT");
}

// Each step answers twice what it was given.
TEST_F(FlowTest, outputs_that_grow_from_step_to_step_end_at_the_bound) {
  std::string steps = R"({"name":"s0","tool":"t.a","args":{"x":"xxxxxxxxxxxxxxxx"}})";
  for (int i = 1; i < 60; ++i) {
    std::string before = R"({"$from":"/steps/s)" + std::to_string(i - 1) + R"(/structured"})";
    steps += R"(,{"name":"s)" + std::to_string(i) + R"(","tool":"t.a","args":{"x":)" + before +
             R"(,"y":)" + before + "}}";
  }
  flow_options_.bounds.arguments = 64 << 10;
  auto answer = ask(request(flow(steps)));
  EXPECT_TRUE(states(answer).starts_with("failed"));
  EXPECT_EQ(answer->at("error").at("code"), "E_LIMIT");
  EXPECT_LT(connector_->invoked, 16);
  std::uintmax_t bytes = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(folder_.path() + "/flows")) {
    if (file.is_regular_file()) bytes += file.file_size();
  }
  EXPECT_LT(bytes, 1U << 20);
}

TEST_F(FlowTest, outputs_that_nest_from_step_to_step_end_at_the_bound) {
  std::string steps = R"({"name":"s0","tool":"t.a","args":{"x":1}})";
  for (int i = 1; i < 64; ++i) {
    steps += R"(,{"name":"s)" + std::to_string(i) +
             R"(","tool":"t.a","args":{"x":{"$from":"/steps/s)" + std::to_string(i - 1) +
             R"(/structured"}}})";
  }
  auto answer = ask(request(flow(steps)));
  EXPECT_EQ(answer->at("error").at("code"), "E_LIMIT");
  EXPECT_EQ(answer->at("error").at("msg"), "step s60: args: deeper than 60 levels");
}

TEST_F(FlowTest, the_record_of_a_run_has_a_bound_and_what_passed_it_is_undone) {
  flow_options_.bounds.bytes = 2'000;
  does_["b"] = [](json::Object) { return answer({{"x", std::string(3'000, 'x')}}); };
  auto result = ask(request(flow(kUndone)));
  EXPECT_EQ(states(result), "failed, a done undo done, b done undo failed, c waiting, d waiting");
  EXPECT_EQ(result->at("error").at("code"), "E_LIMIT");
}

TEST_F(FlowTest, what_one_tool_answered_is_in_no_record_of_another) {
  options_.trail.arguments = pipeline::RawArguments::kRecorded;
  does_["a"] = [](json::Object) { return answer({{"key", "s3cr3t"}, {"n", 1}}); };
  auto secret = R"({"name":"a","tool":"t.a"},
      {"name":"b","tool":"t.b","args":{"plain":"seen","key":{"$from":"/steps/a/structured/key"},"all":[{"$from":"/steps/a/structured"}]}})";
  EXPECT_EQ(states(ask(request(flow(secret)))), "done, a done, b done");
  EXPECT_TRUE(called_[1].contains("s3cr3t"));
  auto opened = records("open");
  EXPECT_EQ(json::write(opened.at(1).at("args")),
            R"({"all":["[redacted]"],"key":"[redacted]","plain":"seen"})");
  for (const auto& kind : {"open", "seal"}) {
    for (const auto& one : records(kind)) EXPECT_FALSE(json::write(one).contains("s3cr3t"));
  }
}

// As it would be of a call without a workflow.
TEST_F(FlowTest, what_the_caller_gave_is_in_the_record) {
  options_.trail.arguments = pipeline::RawArguments::kRecorded;
  EXPECT_TRUE(states(ask(request(flow(kThree, kInput), object(R"({"n":7})")))).starts_with("done"));
  EXPECT_EQ(json::write(records("open").at(0).at("args")), R"({"n":7})");
}

// A tool that runs until it is cancelled.
base::Task<Outcome<ToolResult>> endless(json::Object) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
  co_await timer.async_wait(asio::use_awaitable);
  co_return ToolResult{};
}

TEST_F(FlowTest, a_run_that_is_cancelled_ends_its_step_and_undoes_what_is_done) {
  does_["c"] = [this](json::Object args) {
    // Here the run is under way.
    asio::co_spawn(loop_, flows().cancel(caller(), *Ulid::parse(testing::kRun), {}),
                   [this](const std::exception_ptr&, Outcome<json::Object> told) {
                     called_.push_back("cancel: " + states(told));
                   });
    return endless(std::move(args));
  };
  auto answer = ask(request(flow(kUndone)));
  EXPECT_EQ(states(answer), "cancelled, a done undo done, b done undo done, c unknown, d waiting");
  EXPECT_EQ(states(cancel(caller())), states(answer)) << "and a second time nothing happens";
}

TEST_F(FlowTest, nobody_else_drives_a_run_that_is_under_way) {
  std::string told;
  does_["b"] = [&](json::Object args) -> base::Task<Outcome<ToolResult>> {
    auto second = co_await flows().run(caller(), request({}), {});
    told = states(second);
    co_return connectors::json_result(json::Value(std::move(args)));
  };
  EXPECT_TRUE(states(ask(request(flow(kUndone)))).starts_with("done"));
  EXPECT_EQ(told, "E_BUSY the run is under way");
}

TEST_F(FlowTest, a_service_that_stops_begins_no_step_and_the_run_goes_on_later) {
  bool stops = false;
  draining_ = [&] { return stops; };
  does_["b"] = [&](json::Object args) {
    stops = true;
    return answer(std::move(args));
  };
  EXPECT_TRUE(states(ask(request(flow(kUndone)))).starts_with("E_BUSY the service stops"));
  EXPECT_EQ(states(get(caller())), "open, a done, b done, c waiting, d waiting");
  stops = false;
  start_again();
  EXPECT_EQ(states(ask(request({}))), "done, a done, b done, c done, d done");
  EXPECT_EQ(connector_->invoked, 4);
}

TEST_F(FlowTest, a_record_that_cannot_be_read_is_no_run_that_begins_anew) {
  EXPECT_TRUE(states(ask(request(flow(kUndone)))).starts_with("done"));
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(folder_.path() + "/flows")) {
    if (!file.is_regular_file() || file.path().extension() != ".jsonl") continue;
    std::ofstream(file.path(), std::ios::app) << R"({"line":"begin","step":99})" << "\n";
  }
  EXPECT_EQ(states(ask(request(flow(kUndone)))), "E_INTERNAL the record of the run cannot be read");
  EXPECT_EQ(connector_->invoked, 4);
}

// t.a is a tool of another node, whose link is lost once the call was sent.
TEST_F(FlowTest, a_step_of_another_node_is_asked_for_by_its_key_when_the_run_goes_on) {
  connector_->has_keys = true;
  bool is_back = false;
  std::vector<std::string> keys;
  connector_->invoke_with = [&](Approved<Invocation> call, Progress) {
    keys.push_back(call->idem.key);
    auto lost = [](json::Object) -> base::Task<Outcome<ToolResult>> {
      co_return refuse(Code::kInternal, "node b: whether the call did its work is not known");
    };
    bool is_lost = call->tool.name() == "a" && !is_back;
    return is_lost ? lost({}) : answer(call->args);
  };
  auto steps = flow(R"({"name":"far","tool":"t.a","undo":{"tool":"t.undo"}},)"
                    R"({"name":"next","tool":"t.b","after":["far"]})");
  EXPECT_EQ(states(ask(request(steps))), "unknown, far unknown, next waiting");
  start_again();
  EXPECT_EQ(states(ask(request({}))), "unknown, far unknown, next waiting");
  is_back = true;
  start_again();
  EXPECT_EQ(states(ask(request({}))), "done, far done, next done");
  ASSERT_EQ(keys.size(), 4U);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(keys[0], keys[2]);
  EXPECT_NE(keys[0], keys[3]);
}

TEST_F(FlowTest, a_step_of_another_node_is_not_asked_for_once_its_key_may_be_forgotten) {
  connector_->has_keys = true;
  connector_->invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    co_return refuse(Code::kInternal, "nobody knows");
  };
  EXPECT_EQ(states(ask(request(flow(R"({"name":"far","tool":"t.a"})")))), "unknown, far unknown");
  expires_ += flow_options_.keys_kept;
  clock_.micros += std::chrono::microseconds(flow_options_.keys_kept).count();
  start_again();
  EXPECT_EQ(states(ask(request({}))), "unknown, far unknown");
  EXPECT_EQ(states(cancel(caller())), "cancelled, far unknown");
  EXPECT_EQ(connector_->invoked, 1);
}

// A run that a call of a tool began is gone on with by that tool, whatever its file says by now.
TEST_F(FlowTest, a_run_of_a_tool_is_found_with_it_and_gone_on_with_by_the_workflow_it_began_with) {
  auto of_tool = [](std::string tool, std::string_view steps, std::string_view input) {
    FlowRequest one = request(flow(steps, kInput), object(input));
    one.tool = std::move(tool);
    return one;
  };
  auto found = [this](FlowCaller who) {
    return *testing::run_on(loop_, flows().find(std::move(who), *Ulid::parse(testing::kRun)));
  };
  constexpr std::string_view kOther = R"({"name":"other","tool":"t.c"})";
  EXPECT_FALSE(found(caller()));
  expires_ = clock_.now();
  std::size_t kept = 0;
  FlowRequest first = of_tool("flow.three", kThree, R"({"n":7})");
  first.kept = [&](const auto& run) {
    EXPECT_EQ(run.ended(), 0U);
    ++kept;
  };
  EXPECT_TRUE(states(ask(std::move(first))).starts_with("E_EXPIRED"));
  EXPECT_EQ(kept, 1U);
  expires_ += std::chrono::hours(1);
  start_again();
  auto run = found(caller());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->tool, "flow.three");
  EXPECT_EQ(run->input, json::Value(object(R"({"n":7})")));
  EXPECT_EQ(run->state, RunState::kOpen);
  EXPECT_FALSE(found(caller("mallory")));
  // Neither another tool's run nor one of another input.
  constexpr std::string_view kNot =
      "E_SHAPE p.run: is the id of a run of another workflow or input";
  EXPECT_EQ(states(ask(of_tool("flow.four", kOther, R"({"n":7})"))), kNot);
  EXPECT_EQ(states(ask(of_tool("flow.three", kOther, R"({"n":8})"))), kNot);
  EXPECT_EQ(states(ask(of_tool("", kOther, R"({"n":7})"))), kNot);
  EXPECT_EQ(states(ask(of_tool("flow.three", kOther, R"({"n":7})"))),
            "done, first done, second done, third done");
  EXPECT_EQ(found(caller())->state, RunState::kDone);
}

TEST_F(FlowTest, one_principal_has_half_of_the_room) {
  store_.reset();
  store_ = std::move(*RunStore::open({.folder = folder_.path() + "/few", .runs = 4}, clock_));
  auto start = [this](std::string subject, char last) {
    FlowRequest one = request(flow(R"({"name":"a","tool":"t.a"})"));
    one.run = *Ulid::parse("01JD000000000000000000000" + std::string(1, last));
    return states(ask(caller(std::move(subject)), std::move(one)));
  };
  EXPECT_EQ(start("alice", '1'), "done, a done");
  EXPECT_EQ(start("alice", '2'), "done, a done");
  EXPECT_EQ(start("alice", '3'), "E_BUSY no room for the record of another run");
  EXPECT_EQ(start("bob", '1'), "done, a done");
  // Its time is over.
  clock_.micros += std::chrono::microseconds(std::chrono::hours(24 * 365)).count();
  expires_ = clock_.now() + std::chrono::hours(1);
  store_->sweep();
  EXPECT_EQ(start("alice", '3'), "done, a done");
}

}  // namespace
}  // namespace tool::workflow
