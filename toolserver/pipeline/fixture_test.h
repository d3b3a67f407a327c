#pragma once

// A pipeline on a real audit trail, with a connector whose tools do what the
// test says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>
#include <iterator>
#include <mutex>

#include "base/testing/child_process.h"
#include "toolserver/audit/verify.h"
#include "toolserver/pipeline/pipeline.h"

namespace tool::pipeline::testing {

using std::chrono::milliseconds;

class TestClock final : public base::Clock {
 public:
  [[nodiscard]] base::WallTime now() const override {
    return base::WallTime(std::chrono::microseconds(micros.load()));
  }
  std::atomic<std::int64_t> micros = 1'795'251'600'000'000;
};

/// Runs `task` to its end; what it left on the loop stays there.
template <class T>
T run_on(boost::asio::io_context& loop, base::Task<T> task) {
  std::optional<T> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(loop, std::move(task), [&](std::exception_ptr error, T value) {
    thrown = error;
    result.emplace(std::move(value));
  });
  loop.restart();
  while (!result) loop.run_one();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

template <class T>
T run(base::Task<T> task) {
  boost::asio::io_context loop;
  return run_on(loop, std::move(task));
}

inline base::json::Object object(std::string_view text) {
  auto parsed = base::json::parse(text);
  EXPECT_TRUE(parsed.has_value() && parsed->is_object()) << text;
  return parsed->as_object();
}

inline Capability capability(std::string_view id) {
  Capability one{.id = *ToolId::parse(id)};
  one.description = "A tool of the tests.";
  one.input_schema = object(R"({"type":"object","properties":{"n":{"type":"integer"}},
                               "additionalProperties":false})");
  return one;
}

inline ToolResult text_result(std::string text) {
  return ToolResult{.content = {{"text/plain", std::move(text)}}};
}

class TestConnector final : public connectors::Connector {
 public:
  using Invoke = std::function<base::Task<Outcome<ToolResult>>(Approved<Invocation>, Progress)>;

  explicit TestConnector(std::vector<Capability> tools) : tools_(std::move(tools)) {}
  [[nodiscard]] std::vector<Capability> capabilities() const override { return tools_; }
  [[nodiscard]] std::size_t most_at_once() const override { return at_once; }
  [[nodiscard]] bool keeps_keys() const override { return has_keys; }
  [[nodiscard]] base::Task<Outcome<ToolResult>> invoke(Approved<Invocation> call,
                                                       Progress progress) override {
    ++invoked;
    return invoke_with(std::move(call), std::move(progress));
  }

  std::size_t at_once = 0;  ///< Before it is added.
  bool has_keys = false;
  std::atomic<int> invoked = 0;
  Invoke invoke_with = [](Approved<Invocation>, Progress) -> base::Task<Outcome<ToolResult>> {
    co_return text_result("done");
  };

 private:
  std::vector<Capability> tools_;
};

inline Principal alice(std::string_view scopes) {
  Principal principal;
  principal.subject = "alice";
  principal.issuer = "node-a";
  principal.scopes = *Scopes::parse(scopes);
  principal.expires_at = TestClock().now() + std::chrono::hours(1);
  return principal;
}

inline PipelineCall call_of(std::string tool, std::string_view args = "{}",
                            std::string_view scopes = "tool:invoke:t.*") {
  PipelineCall call;
  call.request_id = "01JTEST";
  call.session_id = "s-1";
  call.peer = "127.0.0.1";
  call.principal = std::make_shared<const Principal>(alice(scopes));
  call.mode = Mode::kBasic;
  call.tool = std::move(tool);
  call.args = object(args);
  return call;
}

// `change` is given the principal to change.
template <class Change>
void change_principal(PipelineCall& call, Change change) {
  Principal principal = *call.principal;
  change(principal);
  call.principal = std::make_shared<const Principal>(std::move(principal));
}

class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() : log_output_({.level = base::log::Level::kError}, clock_) {
    parts_ = std::make_unique<PipelineParts>(PipelineParts{.registry = registry_,
                                                           .audit = open_audit(),
                                                           .clock = clock_,
                                                           .metrics = metrics_,
                                                           .log = base::log::Logger(log_output_),
                                                           .guard = nullptr,
                                                           .consent = nullptr,
                                                           .filters = {}});
    parts_->outcomes = &open_outcomes();
  }

  audit::AuditLog& open_audit() {
    audit_ = std::move(*audit::AuditLog::open(
        {.folder = trail_folder(), .node = "node-a"},
        audit::CheckpointSigner::with_secret(base::Secret("a secret of the tests, 32 long ....")),
        clock_, random_));
    return *audit_;
  }
  outcomes::OutcomeStore& open_outcomes() {
    outcomes_.reset();
    outcomes_ = std::move(*outcomes::OutcomeStore::open(
        {.folder = folder_.path() + "/outcomes", .sweep = std::chrono::hours(1)}, clock_, {}, {}));
    return *outcomes_;
  }
  [[nodiscard]] std::string trail_folder() const { return folder_.path() + "/trail"; }

  std::shared_ptr<TestConnector> add(std::vector<Capability> tools, const Trust& trust = {}) {
    auto connector = std::make_shared<TestConnector>(std::move(tools));
    auto added = registry_.add(connector, trust);
    EXPECT_TRUE(added.has_value()) << added.error().message;
    return connector;
  }
  Pipeline& pipeline() {
    if (!pipeline_) pipeline_ = std::make_unique<Pipeline>(options_, *parts_);
    return *pipeline_;
  }
  Outcome<PipelineReply> ask(PipelineCall call) {
    return run_on(loop_, pipeline().run(std::move(call), Progress()));
  }
  /// The code of the refusal; "ok" when there is none.
  std::string_view code_of(PipelineCall call) {
    auto reply = ask(std::move(call));
    return reply ? "ok" : tool::name(reply.error().code);
  }

  /// The records of the trail, oldest first.
  [[nodiscard]] std::vector<base::json::Object> records(std::string_view kind) const {
    std::ifstream in(audit::segment_path(trail_folder(), 1));
    std::vector<base::json::Object> found;
    for (std::string line; std::getline(in, line);) {
      auto record = object(line);
      if (record.at("kind").as_string() == kind) found.push_back(std::move(record));
    }
    return found;
  }
  [[nodiscard]] base::json::Object last_seal() const {
    auto seals = records("seal");
    EXPECT_FALSE(seals.empty());
    return seals.empty() ? base::json::Object() : seals.back();
  }

  boost::asio::io_context loop_;  // Outlives the connections of hooks.
  TestClock clock_;
  base::SystemRandom random_;
  base::testing::TemporaryFolder folder_;
  base::metrics::Registry metrics_;
  base::log::LogOutput log_output_;
  std::unique_ptr<audit::AuditLog> audit_;
  std::unique_ptr<outcomes::OutcomeStore> outcomes_;
  ToolRegistry registry_;
  PipelineOptions options_;
  std::unique_ptr<PipelineParts> parts_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace tool::pipeline::testing
