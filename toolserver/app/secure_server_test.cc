// A program that embeds the service and brings parts of its own.

#include "toolserver/app/secure_server.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "base/testing/child_process.h"
#include "toolserver/client/secure_client.h"
#include "toolserver/settings/good_config.h"

namespace tool::app {
namespace {

using base::json::Object;

class Stamp final : public pipeline::OutputFilter {
 public:
  explicit Stamp(std::string text) : text_(std::move(text)) {}
  base::Task<Outcome<pipeline::Filtered>> filter(const Invocation&, ToolResult result) override {
    for (auto& part : result.content) part.data += text_;
    co_return pipeline::Filtered{std::move(result), 1};
  }

 private:
  const std::string text_;
};

class NoSecrets final : public pipeline::GuardStage {
 public:
  base::Task<pipeline::GuardDecision> judge(const Invocation& call, const Capability&) override {
    bool is_secret = base::json::write(call.args).contains("secret");
    co_return pipeline::GuardDecision{
        is_secret ? pipeline::Verdict::kDenied : pipeline::Verdict::kAllowed, "a word", {}};
  }
};

class SecureServerTest : public ::testing::Test {
 protected:
  settings::SecureConfig config() {
    auto config = settings::good_config(Mode::kSimple, settings::Role::kServer);
    config.server.port = 0;
    config.server.workers = 1;
    config.log.level = base::log::Level::kError;
    config.audit.path = folder.path() + "/audit";
    config.security.api_key_scopes = {"tool:invoke:echo.say", "tool:invoke:files.write"};
    config.connectors.echo.enabled = true;
    config.connectors.files.enabled = true;
    config.connectors.files.allow_write = true;
    config.connectors.files.root = folder.path() + "/files";
    std::filesystem::create_directories(config.connectors.files.root);
    return config;
  }

  static Outcome<client::ToolReply> call(const SecureServer& server, std::string tool,
                                         Object args) {
    client::ClientOptions options;
    options.url = fmt::format("ws://127.0.0.1:{}/scp/v3", server.port());
    options.plain = client::PlainTransport::kLoopbackOnly;
    options.session.mode = Mode::kSimple;
    options.session.suites = {session::Suite::kNone};
    options.session.method = Method::kApiKey;
    options.session.secrets = {base::Secret(settings::kGoodSecretKey),
                               base::Secret(settings::kGoodApiKey),
                               base::Secret(settings::kGoodSalt)};
    base::SystemClock clock;
    base::SystemRandom random;
    boost::asio::io_context loop(1);
    auto client = client::SecureClient::create(std::move(options), clock, random);
    EXPECT_TRUE(client) << client.error().message();
    std::optional<Outcome<client::ToolReply>> reply;
    boost::asio::co_spawn(loop, invoke(**client, std::move(tool), std::move(args), reply),
                          [](std::exception_ptr error) { EXPECT_FALSE(error); });
    loop.run();
    return *std::move(reply);
  }
  static base::Task<void> invoke(client::SecureClient& client, std::string tool, Object args,
                                 std::optional<Outcome<client::ToolReply>>& reply) {
    auto opened = co_await client.connect();
    if (!opened) {
      reply.emplace(std::move(opened).error());
      co_return;
    }
    reply.emplace(co_await client.invoke_tool(std::move(tool), std::move(args)));
    co_await client.disconnect();
  }
  std::shared_ptr<pipeline::ConsentHook> asking() {
    return std::make_shared<pipeline::ConsentFunction>(
        [this](base::RequestContext, pipeline::ConsentQuestion question) {
          return answer(std::move(question));
        });
  }
  base::Task<Outcome<pipeline::ConsentAnswer>> answer(pipeline::ConsentQuestion question) {
    asked = question.args_preview;
    co_return pipeline::ConsentAnswer{decision, "the program"};
  }

  std::atomic<pipeline::ConsentDecision> decision = pipeline::ConsentDecision::kDeny;
  std::string asked;

  base::testing::TemporaryFolder folder;
};

TEST_F(SecureServerTest, a_program_brings_consent_filters_and_a_guard_of_its_own) {
  Extensions extensions;
  extensions.consent = asking();
  extensions.filters = {std::make_shared<Stamp>(" one"), std::make_shared<Stamp>(" two")};
  extensions.guard = std::make_shared<NoSecrets>();
  auto server = SecureServer::start(config(), extensions);
  ASSERT_TRUE(server) << server.error().message();

  auto said = call(**server, "echo.say", {{"text", "hello"}});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_TRUE(base::json::write(said->content).contains("one two"))
      << base::json::write(said->content);
  auto denied = call(**server, "echo.say", {{"text", "a secret"}});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Code::kPolicy);

  Object write{{"content", "x"}, {"path", "a.txt"}};
  auto refused = call(**server, "files.write", write);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConsent);
  EXPECT_EQ(asked, R"({"content":"x","path":"a.txt"})");
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/files/a.txt"));
  decision = pipeline::ConsentDecision::kApprove;
  auto written = call(**server, "files.write", write);
  EXPECT_TRUE(written) << written.error().message;
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/files/a.txt"));
}

TEST_F(SecureServerTest, a_consent_of_ones_own_and_an_address_are_refused_together) {
  auto both = config();
  both.hooks.consent_url = "http://127.0.0.1:1/";
  Extensions extensions;
  extensions.consent = asking();
  auto server = SecureServer::start(both, extensions);
  ASSERT_FALSE(server);
  EXPECT_TRUE(server.error().message().starts_with("hooks.consent_url"))
      << server.error().message();
  EXPECT_TRUE(SecureServer::start(both));
}

}  // namespace
}  // namespace tool::app
