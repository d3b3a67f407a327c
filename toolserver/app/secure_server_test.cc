// A program that embeds the service and brings parts of its own.

#include "toolserver/app/secure_server.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/crypto/signing_key.h"
#include "base/testing/child_process.h"
#include "toolserver/app/new_files.h"
#include "toolserver/client/secure_client.h"
#include "toolserver/connectors/tool_set.h"
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

class Say final : public connectors::Tool {
 public:
  explicit Say(Capability capability) : capability_(std::move(capability)) {}
  const Capability& capability() const override { return capability_; }
  base::Task<Outcome<ToolResult>> run(Approved<Invocation> call, Progress) override {
    co_return connectors::text_result(base::json::write(call->args));
  }

 private:
  const Capability capability_;
};

std::vector<std::unique_ptr<connectors::Tool>> one_tool(std::string_view id) {
  std::vector<std::unique_ptr<connectors::Tool>> tools;
  tools.push_back(
      std::make_unique<Say>(*read_only_tool(id, "Says it.", {{"text", {{"type", "string"}}}})));
  return tools;
}

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

  /// By the API key, or by `token`.
  static Outcome<client::ToolReply> call(const SecureServer& server, std::string tool, Object args,
                                         std::string token = {}) {
    client::ClientOptions options;
    options.url = fmt::format("ws://127.0.0.1:{}/scp/v3", server.port());
    options.plain = client::PlainTransport::kLoopbackOnly;
    options.session.mode = Mode::kSimple;
    options.session.suites = {session::Suite::kNone};
    options.session.method = Method::kApiKey;
    options.session.secrets = {base::Secret(settings::kGoodSecretKey),
                               base::Secret(settings::kGoodApiKey),
                               base::Secret(settings::kGoodSalt)};
    if (!token.empty()) {
      options.session.method = Method::kJwt;
      options.session.token = base::Secret(std::move(token));
    }
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
  /// The answer of a tool of another node, once that is connected.
  static Outcome<client::ToolReply> call_there(const SecureServer& server,
                                               const std::string& tool) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto said = call(server, tool, {{"text", "hello"}});
    while (!said && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      said = call(server, tool, {{"text", "hello"}});
    }
    return said;
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

Capability own_tool(std::string_view id) {
  auto tool = read_only_tool(id, "Answers what it is told.", {{"text", {{"type", "string"}}}});
  EXPECT_TRUE(tool) << tool.error().message();
  return *tool;
}

TEST_F(SecureServerTest, a_program_brings_tools_of_its_own) {
  std::atomic<int> calls = 0;
  Extensions own;
  own.add_tool(own_tool("own.say"), [&](const Invocation& call) -> Outcome<ToolResult> {
    ++calls;
    if (call.args.at("text") == "fault") return refuse(Code::kPolicy, "not that");
    if (call.args.at("text") == "error") return connectors::error_result("no luck");
    return connectors::json_result({{"said", call.args.at("text")}});
  });
  Capability asked = own_tool("own.asks");
  asked.consent = ConsentRule::kAlways;
  own.add_tool(asked, [&](const Invocation&) { return connectors::text_result("ran"); });
  own.add_connector(std::make_shared<connectors::ToolSet>(one_tool("more.say")));
  own.set_consent([this](base::RequestContext, pipeline::ConsentQuestion question) {
    return answer(std::move(question));
  });
  own.set_output_filter(std::make_shared<Stamp>(" stamped"));
  auto settings = config();
  settings.security.api_key_scopes = {"tool:invoke:own.*", "tool:invoke:more.say"};
  auto server = SecureServer::start(settings, own);
  ASSERT_TRUE(server) << server.error().message();

  auto said = call(**server, "own.say", {{"text", "hello"}});
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(base::json::write(said->structured.value()), R"({"said":"hello"})");
  EXPECT_TRUE(base::json::write(said->content).contains(" stamped"));
  EXPECT_TRUE(call(**server, "own.say", {{"text", "error"}})->is_error);
  EXPECT_EQ(call(**server, "own.say", {{"text", "fault"}}).error().code, Code::kPolicy);
  // Neither past the schema nor past the scopes.
  EXPECT_EQ(call(**server, "own.say", {{"text", 1}}).error().code, Code::kShape);
  EXPECT_EQ(call(**server, "own.say", {}).error().code, Code::kShape);
  EXPECT_EQ(call(**server, "echo.say", {{"text", "x"}}).error().code, Code::kTool);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(call(**server, "own.asks", {{"text", "x"}}).error().code, Code::kConsent);
  EXPECT_TRUE(call(**server, "more.say", {{"text", "x"}}));
}

TEST_F(SecureServerTest, a_program_adds_a_node_to_a_running_service) {
  auto node = [this](const std::string& name) {
    auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kEd25519);
    std::string file = folder.path() + "/" + name;
    EXPECT_TRUE(write_new(file + ".key", key.to_pem().reveal(), 0600));
    EXPECT_TRUE(write_new(file + ".pub", key.verify_key().to_pem(), 0644));
    auto made = config();
    made.core.node_id = name;
    made.audit.path = file + "-audit";
    made.pins.path = file + "-pins";
    made.security.proof_signing_key_path = file + ".key";
    made.security.api_key_scopes = {"tool:invoke:node-b.echo_say"};
    made.cluster.peer_scopes = {"tool:invoke:echo.say"};
    return made;
  };
  auto a = SecureServer::start(node("node-a"));
  auto b = SecureServer::start(node("node-b"));
  ASSERT_TRUE(a && b);
  std::string url = fmt::format("ws://127.0.0.1:{}", (*b)->port());
  auto kind = [&](std::string name, std::string address, std::string_view key) {
    auto added =
        (*a)->add_peer(std::move(name), std::move(address), folder.path() + std::string(key));
    return added ? std::nullopt : std::optional(added.error().kind());
  };
  using enum base::ErrorKind;
  EXPECT_EQ(kind("node-a", url, "/node-b.pub"), kInvalid) << "itself";
  EXPECT_EQ(kind("files", url, "/node-b.pub"), kInvalid) << "a namespace that is taken";
  EXPECT_EQ(kind("node-b", "ws://192.0.2.1:1", "/node-b.pub"), kInvalid) << "plaintext";
  EXPECT_EQ(kind("node-b", "http://127.0.0.1:1", "/node-b.pub"), kInvalid) << "another scheme";
  EXPECT_EQ(kind("node-b", url, "/none.pub"), kInvalid) << "no such key";
  EXPECT_EQ(call(**a, "node-b.echo_say", {{"text", "x"}}).error().code, Code::kTool);

  EXPECT_EQ(kind("node-b", url, "/node-b.pub"), std::nullopt);
  EXPECT_EQ(kind("node-b", url, "/node-b.pub"), kConflict);
  ASSERT_TRUE((*b)->add_peer("node-a", "", folder.path() + "/node-a.pub"));
  auto said = call_there(**a, "node-b.echo_say");
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_TRUE(base::json::write(said->content).contains("hello"));

  auto alone = config();
  alone.audit.path = folder.path() + "/alone-audit";
  auto of_none = SecureServer::start(alone);
  ASSERT_TRUE(of_none);
  EXPECT_FALSE((*of_none)->add_peer("node-b", url, folder.path() + "/node-b.pub"));
}

TEST_F(SecureServerTest, a_node_that_is_added_without_a_key_is_known_by_the_shared_secret) {
  auto node = [this](const std::string& name) {
    auto made = config();
    made.core.node_id = name;
    made.audit.path = folder.path() + "/" + name + "-audit";
    made.pins.path = folder.path() + "/" + name + "-pins";
    made.security.api_key_scopes = {"tool:invoke:node-b.echo_say"};
    made.cluster.peers = {{"node-z", "", {}}};  // What makes it a node of a federation.
    made.cluster.peer_scopes = {"tool:invoke:echo.say"};
    return made;
  };
  auto a = SecureServer::start(node("node-a"));
  auto b = SecureServer::start(node("node-b"));
  ASSERT_TRUE(a && b);
  ASSERT_TRUE((*a)->add_peer("node-b", fmt::format("ws://127.0.0.1:{}", (*b)->port())));
  // node-b does not know the other yet, and does not let it in.
  auto early = call(**a, "node-b.echo_say", {{"text", "x"}});
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kBusy) << early.error().message;
  ASSERT_TRUE((*b)->add_peer("node-a", ""));
  auto said = call_there(**a, "node-b.echo_say");
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_TRUE(base::json::write(said->content).contains("hello"));
}

TEST_F(SecureServerTest, a_program_mints_client_tokens_where_the_private_key_is) {
  auto key = base::crypto::SigningKey::generate(base::crypto::KeyType::kRsa);
  std::string file = folder.path() + "/issuer";
  ASSERT_TRUE(write_new(file + ".key", key.to_pem().reveal(), 0600));
  ASSERT_TRUE(write_new(file + ".pub", key.verify_key().to_pem(), 0644));
  auto issuer = config();
  issuer.core.jwt_secret = {};
  issuer.security.jwt_algorithm = settings::JwtAlgorithm::kRs256;
  issuer.security.jwt_private_key_path = file + ".key";
  issuer.security.federation_issuer = "federation-1";
  auto verifier = config();
  verifier.audit.path = folder.path() + "/verifier-audit";
  verifier.security.federation_jwt_public_key_path = file + ".pub";
  verifier.security.federation_issuer = "federation-1";
  ClientJwt alice{.subject = "alice",
                  .scopes = *Scopes::parse("tool:invoke:echo.say"),
                  .lifetime = std::chrono::seconds(60),
                  .holder = {}};

  auto token = mint_client_jwt(issuer, alice);
  ASSERT_TRUE(token) << token.error().message();
  for (const auto& settings : {issuer, verifier}) {
    auto server = SecureServer::start(settings);
    ASSERT_TRUE(server) << server.error().message();
    auto said = call(**server, "echo.say", {{"text", "hello"}}, *token);
    EXPECT_TRUE(said) << said.error().message;
    Object write{{"content", "x"}, {"path", "a.txt"}};
    EXPECT_EQ(call(**server, "files.write", write, *token).error().code, Code::kTool);
    auto bent = *token;
    bent[bent.size() / 2] = bent[bent.size() / 2] == 'A' ? 'B' : 'A';
    EXPECT_EQ(call(**server, "echo.say", {{"text", "hello"}}, bent).error().code, Code::kAuth);
  }
  // Who has the public key alone verifies and cannot mint.
  auto refused = mint_client_jwt(verifier, alice);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), base::ErrorKind::kInvalid);
  EXPECT_TRUE(refused.error().message().starts_with("security.jwt_private_key_path: "));
  for (auto [lifetime, good] : {std::pair{0, false}, {1, true}, {86'400, true}, {86'401, false}}) {
    alice.lifetime = std::chrono::seconds(lifetime);
    EXPECT_EQ(mint_client_jwt(issuer, alice).has_value(), good) << lifetime;
  }
}

TEST_F(SecureServerTest, a_tool_that_cannot_be_served_stops_the_start) {
  auto nothing = [](const Invocation&) { return connectors::text_result(""); };
  Capability odd = own_tool("own.odd");
  odd.input_schema["Type"] = "object";
  for (auto& [tool, words] : std::vector<std::pair<Capability, std::string>>{
           {own_tool("echo.say"), "echo.say: the name is taken"},
           {own_tool("files.more"), "files.more: the namespace belongs to others"},
           {odd, "own.odd: schema: /: unknown keyword Type"}}) {
    auto server = SecureServer::start(config(), Extensions().add_tool(tool, nothing));
    ASSERT_FALSE(server) << words;
    EXPECT_EQ(server.error().message(), words);
  }
  EXPECT_FALSE(read_only_tool("noname", "d", {}));
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
