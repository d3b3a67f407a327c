#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using testing::close_of;
using testing::find;
using testing::give;
using testing::Options;
using testing::Pair;
using testing::RawPair;
using testing::sent;
using testing::with_node_key;

Channel tls(std::string exporter, std::string certificate = {}) {
  return {.tls = TlsBinding{std::move(exporter), std::move(certificate)}};
}

std::string code_of(const ClientActions& actions) {
  const auto* failed = find<Failed>(actions);
  return failed == nullptr ? "" : std::string(name(failed->fault.code));
}

TEST(HandshakeTest, stands_with_every_suite_mode_and_method) {
  const std::string bytes(32, 'x');
  const std::vector<Options> cases = {
      {},
      {.suites = {Suite::kP256Aes256Gcm}},
      {.suites = {Suite::kX25519ChaCha20}},
      {.suites = {Suite::kX25519ChaCha20, Suite::kP256Aes256Gcm, Suite::kX25519Aes256Gcm}},
      {.method = Method::kJwt},
      {.mode = Mode::kSimple, .suites = {Suite::kNone}},
      {.mode = Mode::kBasic, .suites = {Suite::kNone}, .method = Method::kJwt},
      {.mode = Mode::kBasic,
       .suites = {Suite::kNone},
       .method = Method::kMtls,
       .server_channel = tls(bytes),
       .client_channel = tls(bytes)},
      {.mode = Mode::kEnterprise,
       .suites = {Suite::kNone},
       .method = Method::kOauth2,
       .server_channel = tls(bytes, bytes),
       .client_channel = tls({}, bytes)},
      {.server_channel = tls(bytes, "other"), .client_channel = tls(bytes)},
  };
  for (const auto& options : cases) {
    Pair pair(options);
    ASSERT_TRUE(pair.open()) << name(options.mode) << name(options.suites[0]);
    EXPECT_EQ(pair.server.suite(), options.suites[0]);
    EXPECT_EQ(pair.client.welcome().suite, name(options.suites[0]));
    EXPECT_EQ(pair.client.ready().session_id, pair.server.id());
    EXPECT_EQ(pair.client.ready().subject, "alice");
    EXPECT_EQ(pair.client.ready().scopes, testing::alice().scopes.list());
  }
}

TEST(HandshakeTest, enterprise_stands_without_a_shared_secret_over_tls_only) {
  Options options{.mode = Mode::kEnterprise,
                  .suites = {Suite::kNone},
                  .method = Method::kOauth2,
                  .server_channel = tls("exporter"),
                  .client_channel = tls("exporter")};
  for (bool over_tls : {true, false}) {
    if (!over_tls) options.server_channel = options.client_channel = {.reach = Reach::kLoopback};
    auto server = server_config(options);
    auto client = client_config(options);
    // The tokens' key is apart from the handshake's secret.
    testing::World world;
    SessionTokens tokens("node-b", "cluster-1",
                         *session_token_signer(server.secrets.secret_key, {}));
    server.secrets = {};
    client.secrets = {};
    auto context = ServerContext::create(server, tokens, world.replay, world.clock, world.random);
    ServerSession session(*context, options.server_channel);
    ClientSession caller(client, options.client_channel, world.clock, world.random);
    auto hello = caller.start();
    EXPECT_EQ(hello.has_value(), over_tls);
    if (!over_tls) continue;
    auto auth = give(caller, sent(give(session, *hello)));
    EXPECT_NE(find<VerifyCredential>(give(session, sent(auth))), nullptr);
    EXPECT_NE(find<Opened>(give(caller, sent(session.on_verified(testing::alice())))), nullptr);
  }
}

TEST(HandshakeTest, a_client_of_wrong_configuration_says_nothing) {
  struct Case {
    const char* what;
    void (*change)(ClientConfig&);
  };
  const std::vector<Case> cases = {
      {"no suite", [](ClientConfig& c) { c.suites = {}; }},
      {"suite of another mode", [](ClientConfig& c) { c.suites = {Suite::kNone}; }},
      {"one of two", [](ClientConfig& c) { c.suites.push_back(Suite::kNone); }},
      {"method of another mode", [](ClientConfig& c) { c.method = Method::kOauth2; }},
      {"no secret", [](ClientConfig& c) { c.secrets.secret_key = {}; }},
      {"no api key", [](ClientConfig& c) { c.secrets.api_key = {}; }},
      {"no token",
       [](ClientConfig& c) {
         c.method = Method::kJwt;
         c.token = {};
       }},
      {"no version", [](ClientConfig& c) { c.versions = {}; }},
  };
  for (const auto& [what, change] : cases) {
    Options options;
    auto config = client_config(options);
    change(config);
    Pair pair(server_config(options), config);
    EXPECT_FALSE(pair.client.start().has_value()) << what;
  }
  Options open = testing::signed_options();
  open.client_channel = {.reach = Reach::kRemote};
  Pair pair(open);
  EXPECT_FALSE(pair.client.start().has_value());
}

TEST(HandshakeTest, a_changed_byte_of_hello_is_found_out) {
  for (const auto& options :
       {Options{}, testing::signed_options(), with_node_key(testing::signed_options())}) {
    std::size_t size = Pair(options).client.start()->bytes.size();
    for (std::size_t at = 0; at < size; ++at) {
      for (char bit : {1, 4, 32}) {
        Pair pair(options);
        Frame hello = *pair.client.start();
        hello.bytes[at] ^= bit;
        auto welcomed = give(pair.server, hello);
        if (close_of(welcomed) != 0) continue;
        auto actions = give(pair.client, sent(welcomed));
        EXPECT_EQ(pair.client.state(), ClientState::kFailed) << at;
        EXPECT_EQ(find<Send>(actions), nullptr) << at;
      }
    }
  }
}

TEST(HandshakeTest, a_changed_byte_of_welcome_is_found_out) {
  for (const auto& options :
       {Options{}, testing::signed_options(), with_node_key(testing::signed_options())}) {
    Pair sample(options);
    std::size_t size = sent(give(sample.server, *sample.client.start())).bytes.size();
    for (std::size_t at = 0; at < size; ++at) {
      for (char bit : {1, 4, 32}) {
        Pair pair(options);
        Frame welcome = sent(give(pair.server, *pair.client.start()));
        if (at >= welcome.bytes.size()) continue;
        welcome.bytes[at] ^= bit;
        auto actions = give(pair.client, welcome);
        EXPECT_EQ(pair.client.state(), ClientState::kFailed) << at << welcome.bytes;
        EXPECT_EQ(find<Send>(actions), nullptr) << at;
      }
    }
  }
}

TEST(HandshakeTest, a_changed_byte_of_auth_or_ready_is_found_out) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    for (std::size_t at = 0;; ++at) {
      Pair pair(options);
      Frame auth = sent(give(pair.client, sent(give(pair.server, *pair.client.start()))));
      if (at >= auth.bytes.size()) break;
      auth.bytes[at] ^= 4;
      auto actions = give(pair.server, auth);
      EXPECT_EQ(find<VerifyCredential>(actions), nullptr) << at;
      EXPECT_EQ(pair.server.state(), ServerState::kFailed) << at;
    }
    for (std::size_t at = 0;; ++at) {
      Pair pair(options);
      Frame auth = sent(give(pair.client, sent(give(pair.server, *pair.client.start()))));
      (void)give(pair.server, auth);
      Frame ready = sent(pair.server.on_verified(testing::alice()));
      if (at >= ready.bytes.size()) break;
      ready.bytes[at] ^= 4;
      EXPECT_EQ(find<Opened>(give(pair.client, ready)), nullptr) << at;
      EXPECT_EQ(pair.client.state(), ClientState::kFailed) << at;
    }
  }
}

// What a man in the middle would like the welcome to say.
TEST(HandshakeTest, a_client_takes_no_welcome_that_it_did_not_ask_for) {
  struct Case {
    std::string_view member, value, code;
  };
  const std::vector<Case> cases = {
      {"version", "2.0", "E_VERSION"},
      {"version", "3.1", "E_VERSION"},
      {"version", "3", "E_SHAPE"},
      {"mode", "simple", "E_AUTH"},
      {"mode", "", "E_AUTH"},
      {"suite", "NONE", "E_AUTH"},
      {"suite", "X25519_C20P_S256", "E_AUTH"},
      {"suite", "ROT13", "E_AUTH"},
      {"channel", "tls-exporter", "E_SIG"},
      {"channel", "", "E_SIG"},
      {"node_id", "node-x", "E_SIG"},
      {"cluster", "cluster-2", "E_SIG"},
      {"nonce_s", "AAAA", "E_SHAPE"},
      {"eph_s", "AAAA", "E_SIG"},
      {"eph_s", "", "E_SHAPE"},
  };
  for (const auto& [member, value, code] : cases) {
    Pair pair;
    Frame welcome = sent(give(pair.server, *pair.client.start()));
    auto tree = base::json::parse(welcome.bytes)->as_object();
    tree["p"].as_object()[{member.data(), member.size()}] = std::string(value);
    auto actions = pair.client.on_text(base::json::write(tree));
    EXPECT_EQ(code_of(actions), code) << member << value;
    EXPECT_EQ(find<Send>(actions), nullptr);
  }
}

TEST(HandshakeTest, a_client_takes_no_server_without_proof) {
  struct Case {
    const char* what;
    base::json::Value proof;
    std::string_view code;
  };
  const std::vector<Case> cases = {
      {"none", {{"kind", "none"}}, "E_SIG"},
      {"zero", {{"kind", "hmac"}, {"v", std::string(43, 'A')}}, "E_SIG"},
      {"short", {{"kind", "hmac"}, {"v", "AAAA"}}, "E_SHAPE"},
      {"no value", {{"kind", "hmac"}}, "E_SHAPE"},
      {"another kind", {{"kind", "trust-me"}, {"v", "AAAA"}}, "E_SHAPE"},
      {"text", "hmac", "E_SHAPE"},
      {"null", nullptr, "E_SHAPE"},
  };
  for (const auto& [what, proof, code] : cases) {
    Pair pair;
    Frame welcome = sent(give(pair.server, *pair.client.start()));
    auto tree = base::json::parse(welcome.bytes)->as_object();
    tree["p"].as_object()["proof"] = proof;
    auto actions = pair.client.on_text(base::json::write(tree));
    EXPECT_EQ(code_of(actions), code) << what;
    EXPECT_EQ(find<Send>(actions), nullptr);
  }
}

TEST(HandshakeTest, a_server_that_does_not_know_the_secret_gets_no_credential) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    auto config = server_config(options);
    config.secrets.secret_key = base::Secret("another-secret-of-the-same-length");
    Pair pair(config, client_config(options), options);
    auto actions = give(pair.client, sent(give(pair.server, *pair.client.start())));
    EXPECT_EQ(code_of(actions), "E_SIG");
    EXPECT_EQ(find<Send>(actions), nullptr);
  }
}

TEST(HandshakeTest, a_relayed_handshake_is_bound_to_its_tls_connection) {
  Options options{.mode = Mode::kBasic, .suites = {Suite::kNone}, .method = Method::kJwt};
  options.server_channel = tls("server side");
  options.client_channel = tls("client side");
  for (const auto& one : {options, with_node_key(options)}) {
    Pair pair(one);
    EXPECT_EQ(code_of(give(pair.client, sent(give(pair.server, *pair.client.start())))), "E_SIG");
    // TLS to us, plaintext behind.
    Options plain = one;
    plain.server_channel = {.reach = Reach::kLoopback};
    Pair stripped(plain);
    EXPECT_EQ(close_of(give(stripped.server, *stripped.client.start())), 4400);
    plain.client_channel = plain.server_channel;
    EXPECT_TRUE(Pair(plain).open());
  }
}

// Its records pass through whoever ends TLS, who cannot read them.
TEST(HandshakeTest, mode_encrypted_stands_where_tls_ends_before_the_server) {
  Channel plain{.reach = Reach::kLoopback};
  for (const auto& base : {Options{}, with_node_key({})}) {
    for (const auto& server : {plain, tls("another"), tls({}, "another")}) {
      Options options = base;
      options.client_channel = tls("client side");
      options.server_channel = server;
      Pair pair(options);
      EXPECT_TRUE(pair.open());
      EXPECT_EQ(pair.client.welcome().channel, "none");
    }
  }
}

TEST(HandshakeTest, plaintext_over_an_open_network_is_not_offered_by_the_server) {
  Options options = testing::signed_options();
  options.server_channel = {.reach = Reach::kRemote};
  Pair pair(options);
  EXPECT_EQ(close_of(give(pair.server, *pair.client.start())), 4400);
}

TEST(HandshakeTest, reflected_messages_are_refused) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    Pair to_client(options);
    EXPECT_EQ(code_of(give(to_client.client, *to_client.client.start())), "E_STATE");
    Pair to_server(options);
    Frame welcome = sent(give(to_server.server, *to_server.client.start()));
    EXPECT_EQ(close_of(give(to_server.server, welcome)), 4400);
    Pair auth_back(options);
    Frame auth =
        sent(give(auth_back.client, sent(give(auth_back.server, *auth_back.client.start()))));
    EXPECT_EQ(find<Send>(give(auth_back.client, auth)), nullptr);
    EXPECT_EQ(auth_back.client.state(), ClientState::kFailed);
  }
}

TEST(HandshakeTest, an_auth_of_another_connection_is_refused) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    RawPair first(options), second(options);
    // The same seeds would make the same handshake twice.
    second.world.random = testing::TestRandom(99);
    Envelope auth = first.client.auth(sent(give(first.server, first.client.hello())));
    (void)second.client.auth(sent(give(second.server, second.client.hello())));
    auto actions = give(second.server, second.client.encode(auth));
    EXPECT_EQ(second.client.refusal(actions), "E_SIG");
    EXPECT_EQ(close_of(actions), 4401);
  }
}

TEST(HandshakeTest, an_auth_that_breaks_a_rule_is_refused) {
  struct Case {
    const char* what;
    void (*change)(Envelope&);
    std::string_view code;
    std::uint16_t close;
  };
  const std::vector<Case> cases = {
      {"aud", [](Envelope& e) { e.audience = "node-x"; }, "E_REPLAY", 4409},
      {"confirm", [](Envelope& e) { e.payload["confirm"] = std::string(43, 'A'); }, "E_SIG", 4401},
      {"short confirm", [](Envelope& e) { e.payload["confirm"] = "AAAA"; }, "E_SHAPE", 4400},
      {"no confirm", [](Envelope& e) { e.payload.erase("confirm"); }, "E_SHAPE", 4400},
      {"method", [](Envelope& e) { e.payload["method"] = "jwt"; }, "E_SIG", 4401},
      {"credential", [](Envelope& e) { e.payload["credential"] = "x"; }, "E_SIG", 4401},
      {"extra", [](Envelope& e) { e.payload["x"] = 1; }, "E_SIG", 4401},
  };
  for (const auto& options : {Options{}, testing::signed_options()}) {
    for (const auto& row : cases) {
      RawPair pair(options);
      Envelope auth = pair.client.auth(sent(give(pair.server, pair.client.hello())));
      row.change(auth);
      auto actions = give(pair.server, pair.client.encode(auth));
      EXPECT_EQ(pair.client.refusal(actions), row.code) << row.what;
      EXPECT_EQ(close_of(actions), row.close) << row.what;
    }
  }
}

TEST(HandshakeTest, a_method_that_is_not_offered_is_refused_like_a_wrong_credential) {
  Options options;
  RawPair pair(options);
  pair.client.config.method = Method::kJwt;
  auto welcomed = give(pair.server, pair.client.hello());
  pair.client.layer = *pair.client.handshake.on_welcome(*parse_envelope(sent(welcomed).bytes));
  Envelope auth = pair.client.message(MessageType::kReq, "session.auth");
  EXPECT_EQ(pair.client.handshake.make_auth(auth, pair.client.layer->keys()).error().code,
            Code::kAuth);
}

TEST(HandshakeTest, a_refused_credential_closes_and_says_no_more_than_that) {
  for (auto [code, close] :
       {std::pair{Code::kAuth, 4401}, {Code::kExpired, 4401}, {Code::kUpstream, 4500}}) {
    RawPair pair;
    pair.reach(ServerState::kAuthenticating);
    auto actions = pair.server.on_refused({code, "no", std::nullopt, "the inner reason"});
    EXPECT_EQ(close_of(actions), close);
    Envelope answer = pair.client.read(sent(actions));
    EXPECT_EQ(base::json::write(answer.payload).find("inner"), std::string::npos);
    EXPECT_EQ(pair.server.state(), ServerState::kFailed);
    EXPECT_TRUE(pair.server.on_verified(testing::alice()).empty());
  }
}

TEST(HandshakeTest, a_principal_out_of_its_time_does_not_get_in) {
  RawPair pair;
  pair.reach(ServerState::kAuthenticating);
  Principal late = testing::alice();
  late.expires_at = pair.world.clock.now();
  auto actions = pair.server.on_verified(late);
  EXPECT_EQ(pair.client.refusal(actions), "E_EXPIRED");
  EXPECT_EQ(close_of(actions), 4401);
}

TEST(HandshakeTest, large_deep_and_broken_texts_are_refused_before_ready) {
  RawPair large;
  EXPECT_EQ(close_of(large.server.on_text(std::string(16 * 1024 + 1, ' '))), 4413);
  RawPair at_limit;
  EXPECT_EQ(close_of(at_limit.server.on_text(std::string(16 * 1024, ' '))), 4400);
  for (const auto& text : {std::string(), std::string("{"), std::string("\xff"),
                           std::string(1000, '['), std::string(R"({"v":"3.0","v":"3.0"})")}) {
    RawPair pair;
    auto actions = pair.server.on_text(text);
    EXPECT_EQ(close_of(actions), 4400);
    EXPECT_EQ(pair.client.refusal(actions), "E_PARSE");
    Envelope answer = pair.client.read(sent(actions));
    EXPECT_FALSE(answer.id.known());
    EXPECT_EQ(answer.op, "session.error");
  }
}

}  // namespace
}  // namespace tool::session
