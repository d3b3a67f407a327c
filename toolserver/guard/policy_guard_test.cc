#include "toolserver/guard/policy_guard.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/http/server.h"
#include "base/testing/child_process.h"
#include "base/testing/scripted_server.h"

namespace tool::guard {
namespace {

using base::http::Request;
using base::http::Response;
using pipeline::ConsentDemand;
using pipeline::Verdict;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

// In the engine's place, to answer what no engine would: the real one is asked
// by tests/interop/tools/test_guard.py.
class EngineServer {
 public:
  explicit EngineServer(std::uint16_t port = 0) : workers_(1) {
    base::http::ServerOptions options;
    options.port = port;
    auto started = base::http::Server::start(
        std::move(options), workers_,
        {[this](base::RequestContext, Request request) { return serve(std::move(request)); }},
        [](unsigned status, std::string_view) {
          Response response;
          response.status = status;
          return response;
        });
    EXPECT_TRUE(started.has_value());
    server_ = std::move(*started);
  }
  ~EngineServer() {
    server_->shutdown(milliseconds(0));
    workers_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port()); }
  void answer(std::string body, unsigned status = 200) {
    std::lock_guard held(mutex_);
    body_ = std::move(body);
    status_ = status;
  }
  [[nodiscard]] std::string asked() {
    std::lock_guard held(mutex_);
    return asked_;
  }
  std::atomic<int> count = 0;
  std::atomic<bool> is_silent = false;

 private:
  base::Task<Response> serve(Request request) {
    ++count;
    {
      std::lock_guard held(mutex_);
      asked_ = request.target + " " + request.body;
    }
    while (is_silent) {
      boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, milliseconds(20));
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
    std::lock_guard held(mutex_);
    Response response;
    response.status = status_;
    response.body = base::http::Body(body_);
    co_return response;
  }
  std::mutex mutex_;
  std::string body_ = R"({"result":{"effect":"allow"}})";
  std::string asked_;
  unsigned status_ = 200;
  base::Workers workers_;
  std::unique_ptr<base::http::Server> server_;
};

class PolicyGuardTest : public ::testing::Test {
 protected:
  PolicyGuardTest() {
    call_.principal = std::make_shared<const Principal>();
    options_.timeout = milliseconds(20'000);  // Of a loaded machine.
    options_.cache_time = std::chrono::hours(1);
  }
  ~PolicyGuardTest() override { loop_.run_for(milliseconds(0)); }

  PolicyGuard& guard() {
    if (!guard_) {
      if (options_.url.empty()) options_.url = engine_->url();
      auto made = PolicyGuard::create(options_, quarantine_);
      EXPECT_TRUE(made.has_value());
      guard_ = std::move(*made);
    }
    return *guard_;
  }
  template <class T>
  T run(base::Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(loop_, std::move(task), [&](const std::exception_ptr& error, T value) {
      EXPECT_FALSE(error);
      result.emplace(std::move(value));
    });
    loop_.restart();
    while (!result) loop_.run_one();
    return std::move(*result);
  }
  pipeline::GuardDecision judge() { return run(guard().judge(call_, capability_)); }
  pipeline::GuardDecision judge(std::string answer) {
    engine_->answer(std::move(answer));
    return judge();
  }
  pipeline::OutputDecision inspect(std::string answer, std::string data = "a") {
    engine_->answer(std::move(answer));
    ToolResult result{.content = {{"text/plain", std::move(data)}}};
    result.structured = base::json::parse(R"({"x":1,"y":2})")->as_object();
    return run(guard().inspect(call_, capability_, std::move(result)));
  }
  bool is_held() {
    std::ifstream in(folder_.path() + "/quarantine");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str().starts_with("t.a # ");
  }

  boost::asio::io_context loop_;
  base::testing::TemporaryFolder folder_;
  pipeline::ToolRegistry registry_;
  Quarantine quarantine_{folder_.path() + "/quarantine", registry_};
  std::unique_ptr<EngineServer> engine_ = std::make_unique<EngineServer>();
  PolicyOptions options_;
  std::shared_ptr<PolicyGuard> guard_;
  Capability capability_{.id = *ToolId::parse("t.a")};
  Invocation call_{.tool = *ToolId::parse("t.a")};
};

TEST_F(PolicyGuardTest, each_effect_before_the_call) {
  EXPECT_EQ(judge(R"({"result":{"effect":"allow"}})").verdict, Verdict::kAllowed);
  EXPECT_THAT(engine_->asked(), HasSubstr("/v1/data/scp/authz?provenance=true {\"input\":{"));
  auto denied = judge(R"({"result":{"effect":"deny","reasons":["over_limit","Bob may not"]}})");
  EXPECT_EQ(denied.verdict, Verdict::kDenied);
  EXPECT_EQ(denied.reason, "deny: over_limit, Bob may not");
  EXPECT_EQ(denied.told, "over_limit");
  auto asks = judge(R"({"result":{"effect":"consent"}})");
  EXPECT_EQ(asks.verdict, Verdict::kAllowed);
  EXPECT_EQ(asks.consent, ConsentDemand::kDemanded);
  auto hides = judge(R"({"result":{"effect":"redact","obligations":
      [{"type":"redact","target":"arguments","pointers":["/n"]}]}})");
  EXPECT_EQ(hides.verdict, Verdict::kAllowed);
  EXPECT_THAT(hides.redact.arguments, ::testing::ElementsAre("/n"));
  EXPECT_FALSE(is_held());
  EXPECT_EQ(judge(R"({"result":{"effect":"quarantine"}})").verdict, Verdict::kDenied);
  EXPECT_TRUE(is_held());
}

TEST_F(PolicyGuardTest, each_effect_on_an_answer) {
  auto allowed = inspect(R"({"result":{"effect":"allow"}})");
  EXPECT_EQ(allowed.verdict, Verdict::kAllowed);
  EXPECT_EQ(allowed.result.content[0].data, "a");
  EXPECT_THAT(engine_->asked(), HasSubstr(R"("phase":"post")"));
  EXPECT_THAT(engine_->asked(), HasSubstr(R"("structured":{"x":1,"y":2})"));
  EXPECT_EQ(inspect(R"({"result":{"effect":"deny"}})").verdict, Verdict::kDenied);
  EXPECT_EQ(inspect(R"({"result":{"effect":"consent"}})").verdict, Verdict::kDenied);
  auto hides = inspect(R"({"result":{"effect":"redact","obligations":
      [{"type":"redact","target":"result","pointers":["/structured/x"]}]}})");
  EXPECT_EQ(hides.verdict, Verdict::kAllowed);
  EXPECT_EQ(hides.redactions, 2U);
  EXPECT_EQ(base::json::write(*hides.result.structured), R"({"x":"[redacted]","y":2})");
  EXPECT_EQ(inspect(R"({"result":{"effect":"quarantine"}})").verdict, Verdict::kDenied);
  EXPECT_TRUE(is_held());
}

TEST_F(PolicyGuardTest, nonsense_is_never_a_yes_in_either_fail_mode) {
  for (auto failure : {PolicyFailure::kClosed, PolicyFailure::kOpen}) {
    options_.failure = failure;
    options_.answer_bytes = 1'024;
    guard_.reset();
    for (const std::string& body : std::initializer_list<std::string>{
             "", "yes", "{}", "[]", R"({"result":true})", R"({"result":{}})",
             R"({"result":{"effect":"Allow"}})", R"({"result":{"effect":"allow"}} x)",
             R"({"result":{"effect":"deny","effect":"allow"}})", "\xff",
             R"({"result":{"effect":"allow"},"x":")" + std::string(2'000, 'x') + "\"}"}) {
      EXPECT_EQ(judge(body).verdict, Verdict::kCouldNotTell) << body.substr(0, 60);
      EXPECT_EQ(inspect(body).verdict, Verdict::kCouldNotTell) << body.substr(0, 60);
    }
    engine_->answer(R"({"result":{"effect":"allow"}})", 500);
    EXPECT_EQ(judge().verdict, Verdict::kCouldNotTell);
    EXPECT_EQ(judge(R"({"result":{"effect":"allow"}})").verdict, Verdict::kAllowed)
        << "the breaker stays closed: callers can bring all this about";
  }
}

TEST_F(PolicyGuardTest, silence_is_never_a_yes_in_either_fail_mode) {
  options_.timeout = milliseconds(100);
  for (auto failure : {PolicyFailure::kClosed, PolicyFailure::kOpen}) {
    options_.failure = failure;
    guard_.reset();
    engine_->is_silent = true;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(judge().verdict, Verdict::kCouldNotTell);
    engine_->is_silent = false;
  }
}

TEST_F(PolicyGuardTest, an_engine_that_is_away_is_a_yes_only_where_it_is_set) {
  options_.url = engine_->url();
  engine_.reset();
  for (int i = 0; i < 6; ++i) {
    auto decision = judge();
    EXPECT_EQ(decision.verdict, Verdict::kCouldNotTell);
    if (i >= 3) EXPECT_THAT(decision.reason, HasSubstr("away a moment ago"));
  }
  options_.failure = PolicyFailure::kOpen;
  guard_.reset();
  for (int i = 0; i < 6; ++i) {
    auto decision = judge();
    EXPECT_EQ(decision.verdict, Verdict::kAllowed);
    EXPECT_THAT(decision.reason, HasSubstr("nobody was asked"));
  }
}

TEST_F(PolicyGuardTest, a_connection_that_breaks_under_a_long_question_is_no_engine_that_is_away) {
  options_.failure = PolicyFailure::kOpen;
  const std::vector<base::testing::Act> closes = {
      {.answer = {}, .then = base::testing::Act::kClose, .when = base::testing::Act::kAtOnce}};
  base::testing::ScriptedServer::Script script(20, closes);
  base::testing::ScriptedServer server(loop_, script);
  options_.url = fmt::format("http://127.0.0.1:{}", server.port());
  call_.args = {{"a", std::string(3 << 20, 'x')}};
  for (int i = 0; i < 5; ++i) {
    auto decision = judge();
    EXPECT_EQ(decision.verdict, Verdict::kCouldNotTell) << decision.reason;
  }
  server.close();
}

TEST_F(PolicyGuardTest, what_a_caller_makes_too_long_is_denied_in_either_fail_mode) {
  options_.question_bytes = 2'000;
  options_.url = engine_->url();
  for (auto failure : {PolicyFailure::kClosed, PolicyFailure::kOpen}) {
    options_.failure = failure;
    guard_.reset();
    call_.args = {{"a", "short"}};
    EXPECT_EQ(judge(R"({"result":{"effect":"allow"}})").verdict, Verdict::kAllowed);
    call_.args = {{"a", std::string(2'000, 'x')}};
    int before = engine_->count;
    auto decision = judge();
    EXPECT_EQ(decision.verdict, Verdict::kDenied);
    EXPECT_EQ(decision.told, "it is more than can be judged");
    EXPECT_THAT(decision.redact.arguments, ::testing::ElementsAre(""));
    EXPECT_EQ(engine_->count, before);
    call_.args = {};
    EXPECT_EQ(inspect(R"({"result":{"effect":"allow"}})", std::string(2'000, 'x')).verdict,
              Verdict::kDenied);
  }
}

TEST_F(PolicyGuardTest, an_equal_call_is_asked_about_once_for_a_revision) {
  const std::string first = R"({"result":{"effect":"allow","revision":"1"}})";
  EXPECT_EQ(judge(first).verdict, Verdict::kAllowed);
  EXPECT_EQ(judge(first).verdict, Verdict::kAllowed);
  EXPECT_EQ(engine_->count, 1);
  call_.args = {{"other", 1}};
  EXPECT_EQ(judge(R"({"result":{"effect":"deny","revision":"2"}})").verdict, Verdict::kDenied);
  EXPECT_EQ(engine_->count, 2);
  call_.args = {};
  EXPECT_EQ(judge().verdict, Verdict::kDenied) << "the new revision has forgotten the old answer";
  EXPECT_EQ(engine_->count, 3);
}

TEST_F(PolicyGuardTest, without_a_revision_each_call_is_asked_about) {
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(judge(R"({"result":{"effect":"allow"}})").verdict, Verdict::kAllowed);
    EXPECT_EQ(engine_->count, i);
  }
}

TEST_F(PolicyGuardTest, an_engine_that_was_started_again_is_asked_on_a_new_connection) {
  EXPECT_EQ(judge(R"({"result":{"effect":"allow"}})").verdict, Verdict::kAllowed);
  std::uint16_t port = engine_->port();
  engine_.reset();
  engine_ = std::make_unique<EngineServer>(port);
  EXPECT_EQ(judge(R"({"result":{"effect":"deny"}})").verdict, Verdict::kDenied);
}

TEST(Quarantine, keeps_what_it_holds_in_a_file_until_its_line_is_gone) {
  base::testing::TemporaryFolder folder;
  std::string path = folder.path() + "/quarantine";
  pipeline::ToolRegistry registry;
  Quarantine quarantine(path, registry);
  ASSERT_TRUE(quarantine.load().has_value()) << "there is no file yet";
  ASSERT_TRUE(quarantine.add(*ToolId::parse("t.a"), "a\nb.c # \xff").has_value());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "t.a # a?b.c # ?\n");
  ASSERT_TRUE(quarantine.load().has_value());
  std::ofstream(path) << "# all free\n";
  ASSERT_TRUE(quarantine.load().has_value());
  std::ofstream(path) << "not a tool\n";
  EXPECT_FALSE(quarantine.load().has_value());
  Quarantine nowhere(folder.path() + "/none/quarantine", registry);
  EXPECT_FALSE(nowhere.add(*ToolId::parse("t.a"), "").has_value()) << "held, but not kept";
}

TEST(Quarantine, lines_name_tools) {
  auto tools = parse_quarantine("t.a # why\n\n  u.b  \n# t.c\r\nt.a\n");
  ASSERT_TRUE(tools.has_value());
  EXPECT_EQ(tools->size(), 2U);
  auto others = parse_quarantine("prompt:t.a # why\nresource:t.a\nt.a\n");
  ASSERT_TRUE(others.has_value());
  EXPECT_EQ(others->size(), 3U) << "a prompt is held, and the tool of its name is not";
  for (std::string_view bad : {"t", "T.a", "t.a u.b", "t.a,", "prompt:t", "skill:t.a"}) {
    auto refused = parse_quarantine(std::string("\n") + std::string(bad));
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().message(), "line 2: names no tool");
  }
}

}  // namespace
}  // namespace tool::guard
