#pragma once

// Flows on a real pipeline, with real records, whose tools do what a test says.

#include <map>

#include "toolserver/connectors/function_tool.h"
#include "toolserver/pipeline/fixture_test.h"
#include "toolserver/workflow/flows.h"

namespace tool::workflow::testing {

namespace json = base::json;
using pipeline::testing::object;
using pipeline::testing::run_on;

inline constexpr std::string_view kRun = "01JD0000000000000000000001";

/// `steps` in a workflow, `more` behind them: ,"output":...
inline json::Object flow(std::string_view steps, std::string_view more = "") {
  return object(R"({"workflow":1,"steps":[)" + std::string(steps) + "]" + std::string(more) + "}");
}

class FlowTest : public pipeline::testing::PipelineTest {
 protected:
  using Does = std::function<base::Task<Outcome<ToolResult>>(json::Object args)>;

  FlowTest() {
    std::vector<Capability> tools;
    // t.same can be called twice, and the others cannot.
    for (const char* id : {"t.a", "t.b", "t.c", "t.undo", "t.same"}) {
      Capability one{.id = *ToolId::parse(id)};
      one.description = "A tool of the tests.";
      one.input_schema = object(R"({"type":"object"})");
      one.annotations.idempotent = std::string_view(id) == "t.same";
      tools.push_back(std::move(one));
    }
    connector_ = std::make_shared<pipeline::testing::TestConnector>(std::move(tools));
    connector_->invoke_with = [this](Approved<Invocation> call, Progress) {
      called_.push_back(call->tool.text() + json::write(call->args));
      auto found = does_.find(std::string(call->tool.name()));
      return found == does_.end() ? answer(call->args) : found->second(call->args);
    };
    EXPECT_TRUE(registry_.add(connector_));
    options_.rate.calls_per_second = options_.rate.burst = 100'000;
    open_store();
  }

  void open_store() {
    store_.reset();
    store_ = std::move(*RunStore::open({.folder = folder_.path() + "/flows"}, clock_));
  }
  Flows& flows() {
    if (!flows_) {
      flows_ = std::make_unique<Flows>(flow_options_,
                                       FlowParts{pipeline(), *store_, clock_, random_, draining_});
    }
    return *flows_;
  }
  // A process that begins where another one ended.
  void start_again() {
    flows_.reset();
    pipeline_.reset();
    open_store();
    parts_->outcomes = &open_outcomes();
  }

  static base::Task<Outcome<ToolResult>> answer(json::Object args) {
    co_return connectors::json_result(json::Value(std::move(args)));
  }
  static base::Task<Outcome<ToolResult>> fails(json::Object) {
    co_return connectors::error_result("it failed");
  }
  static base::Task<Outcome<ToolResult>> away(json::Object) {
    co_return refuse(Code::kUpstream, "it is away");
  }

  FlowCaller caller(std::string subject = "alice", std::string_view scopes = "tool:invoke:t.*") {
    Principal principal = pipeline::testing::alice(scopes);
    principal.subject = std::move(subject);
    principal.expires_at = expires_;
    return {.principal = std::make_shared<const Principal>(std::move(principal)),
            .session_id = "s-1",
            .peer = {},
            .traceparent = {},
            .mode = Mode::kBasic};
  }
  static FlowRequest request(std::optional<json::Object> workflow, json::Value input = nullptr) {
    return {*Ulid::parse(kRun), std::move(workflow), std::move(input)};
  }
  Outcome<json::Object> ask(FlowRequest request) { return ask(caller(), std::move(request)); }
  Outcome<json::Object> ask(FlowCaller who, FlowRequest request) {
    return run_on(
        loop_, flows().run(std::move(who), std::move(request),
                           [this](auto, auto, auto note) { notes_.push_back(std::move(note)); }));
  }
  Outcome<json::Object> get(FlowCaller who) {
    return run_on(loop_, flows().get(std::move(who), *Ulid::parse(kRun)));
  }
  Outcome<json::Object> cancel(FlowCaller who) {
    return run_on(loop_, flows().cancel(std::move(who), *Ulid::parse(kRun), {}));
  }
  /// "a done, b skipped": the states of all steps, and of their undos.
  static std::string states(const Outcome<json::Object>& answer) {
    if (!answer) return std::string(name(answer.error().code)) + " " + answer.error().message;
    std::string out(answer->at("state").as_string());
    for (const auto& step : answer->at("steps").as_array()) {
      out += ", " + std::string(step.at("name").as_string()) + " " +
             std::string(step.at("state").as_string());
      if (const auto* undo = step.as_object().if_contains("undo")) {
        out += " undo " + std::string(undo->at("state").as_string());
      }
    }
    return out;
  }

  std::shared_ptr<pipeline::testing::TestConnector> connector_;
  std::map<std::string, Does> does_;
  std::vector<std::string> called_;
  std::vector<std::string> notes_;
  base::WallTime expires_ = clock_.now() + std::chrono::hours(1);
  FlowOptions flow_options_;
  std::function<bool()> draining_;
  std::unique_ptr<RunStore> store_;
  std::unique_ptr<Flows> flows_;
};

}  // namespace tool::workflow::testing
