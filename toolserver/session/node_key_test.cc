// A client that knows the server's key, and members of the group who know only
// the secret.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/testing/golden.h"
#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using base::crypto::KeyType;
using base::crypto::SigningKey;
using testing::client_config;
using testing::close_of;
using testing::find;
using testing::give;
using testing::node_key;
using testing::Options;
using testing::Pair;
using testing::sent;
using testing::server_config;
using testing::signed_options;
using testing::with_node_key;

std::string code_of(const ClientActions& actions) {
  const auto* failed = find<Failed>(actions);
  return failed == nullptr ? "" : std::string(name(failed->fault.code));
}

Frame changed(const Frame& frame, const std::function<void(base::json::Object& payload)>& change) {
  auto tree = base::json::parse(frame.bytes)->as_object();
  change(tree["p"].as_object());
  return {FrameKind::kText, base::json::write(tree)};
}

const std::vector<Options>& all_options() {
  static const std::vector<Options> all = {
      with_node_key(signed_options()), with_node_key({}),
      with_node_key({.suites = {Suite::kP256Aes256Gcm}}),
      with_node_key({.mode = Mode::kBasic, .suites = {Suite::kNone}, .method = Method::kJwt})};
  return all;
}

TEST(NodeKeyTest, the_client_of_a_known_key_needs_no_secret) {
  for (const auto& options : all_options()) {
    EXPECT_TRUE(Pair(options).open());
    // Nor does the server.
    auto server = server_config(options);
    auto tokens = *session_token_signer(server.secrets.secret_key, {});
    server.secrets.secret_key = {};
    testing::World world;
    auto context = ServerContext::create(server, SessionTokens("node-b", "cluster-1", tokens),
                                         world.replay, world.clock, world.random);
    ASSERT_TRUE(context.has_value());
    ServerSession session(*context, options.server_channel);
    ClientSession client(client_config(options), options.client_channel, world.clock, world.random);
    auto auth = give(client, sent(give(session, *client.start())));
    EXPECT_NE(find<VerifyCredential>(give(session, sent(auth))), nullptr);
  }
}

TEST(NodeKeyTest, a_client_of_the_secret_alone_is_served_by_the_same_server) {
  for (auto options : all_options()) {
    auto server = server_config(options);
    options.by_node_key = false;
    Pair pair(server, client_config(options), options);
    EXPECT_TRUE(pair.open());
    EXPECT_TRUE(pair.client.welcome().proof.kind == ProofKind::kSecret);
  }
}

TEST(NodeKeyTest, another_key_is_not_the_servers) {
  for (const auto& options : all_options()) {
    auto server = server_config(options);
    server.node_key = SigningKey::generate(KeyType::kEd25519);
    auto client = client_config(options);
    Pair pair(server, client, options);
    EXPECT_EQ(code_of(give(pair.client, sent(give(pair.server, *pair.client.start())))), "E_SIG");
    // While a key is changed both are known.
    client.server_keys.push_back(server.node_key->thumbprint());
    EXPECT_TRUE(Pair(server, client, options).open());
  }
}

// It has the secret, knows the protocol and stands where the client dials.
TEST(NodeKeyTest, a_member_of_the_group_cannot_pose_as_the_server) {
  for (const auto& options : all_options()) {
    auto member = server_config(options);
    member.node_key.reset();
    auto client = client_config(options);
    client.secrets = testing::test_secrets();
    // It has nothing of what the client asks for.
    Pair honest(member, client, options);
    EXPECT_EQ(close_of(give(honest.server, *honest.client.start())), 4400);
    // It proves the secret all the same.
    Pair forced(member, client, options);
    auto as_member = [](base::json::Object& p) { p["proofs"] = base::json::Array{"hmac"}; };
    auto welcomed = give(forced.server, changed(*forced.client.start(), as_member));
    EXPECT_EQ(code_of(give(forced.client, sent(welcomed))), "E_SIG");
    // With a key of its own; and with the name of the right one.
    member.node_key = SigningKey::generate(KeyType::kEd25519);
    Pair named(member, client, options);
    auto as_server = [&](base::json::Object& p) {
      p["node_key"] = *base::json::parse(node_key().verify_key().canonical_jwk());
    };
    auto posed = changed(sent(give(named.server, *named.client.start())), as_server);
    EXPECT_EQ(code_of(give(named.client, posed)), "E_SIG");
    // A client that does not know the key takes it.
    client.server_keys.clear();
    EXPECT_TRUE(Pair(member, client, options).open());
  }
}

TEST(NodeKeyTest, who_takes_the_key_out_of_hello_gets_no_credential) {
  for (const auto& options : all_options()) {
    auto client = client_config(options);
    client.secrets = testing::test_secrets();
    for (const auto& left : {base::json::Array{"hmac"}, base::json::Array{"hmac", "none"}}) {
      Pair pair(server_config(options), client, options);
      auto downgrade = [&](base::json::Object& p) { p["proofs"] = left; };
      auto welcomed = give(pair.server, changed(*pair.client.start(), downgrade));
      auto actions = give(pair.client, sent(welcomed));
      EXPECT_EQ(code_of(actions), "E_SIG");
      EXPECT_EQ(find<Send>(actions), nullptr);
    }
  }
}

TEST(NodeKeyTest, what_a_hello_offers_must_be_something_that_the_server_can) {
  for (const auto& offered : {base::json::Array{"none"}, base::json::Array{"ps256"}}) {
    Pair pair(with_node_key({}));
    auto change = [&](base::json::Object& p) { p["proofs"] = offered; };
    EXPECT_EQ(close_of(give(pair.server, changed(*pair.client.start(), change))), 4400);
  }
}

// The proof of a key can be passed on. It must not be enough to sign what follows.
// Nor is the shared secret, if it leaks: without the share's private part it makes no key.
TEST(NodeKeyTest, who_saw_all_that_was_sent_has_no_key_of_the_session) {
  auto secrets = server_config({}).secrets;
  auto shared = make_psk(secrets.secret_key, secrets.kdf_salt);
  auto nothing = make_psk({}, {});
  std::pair<testing::Options, const SecretBytes*> cases[] = {
      {with_node_key(signed_options()), &nothing}, {signed_options(), &shared}};
  for (const auto& [options, psk] : cases) {
    Pair pair(options);
    Frame hello = *pair.client.start();
    Frame welcome = sent(give(pair.server, hello));
    Frame auth = sent(give(pair.client, welcome));
    auto read = *parse_envelope(welcome.bytes);
    EXPECT_TRUE(read.payload.contains("eph_s"));
    read.payload.erase("proof");
    Digest th1 = transcript_hello(hello.bytes, *canonical_without_sig(read), "");
    MessageLayer guess(Side::kClient, Suite::kNone, SessionKeys::first(th1, {}, *psk), th1);
    Envelope forged = *parse_envelope(auth.bytes);
    forged.signature.reset();
    auto refused = give(pair.server, *guess.write(forged));
    EXPECT_EQ(close_of(refused), 4401);
    EXPECT_EQ(find<VerifyCredential>(refused), nullptr);
  }
}

TEST(NodeKeyTest, a_hello_without_a_share_is_refused_whatever_proves_the_server) {
  for (const auto& options : {with_node_key(signed_options()), signed_options()}) {
    Pair pair(options);
    auto change = [](base::json::Object& p) { p["eph_c"] = base::json::Object{}; };
    EXPECT_EQ(close_of(give(pair.server, changed(*pair.client.start(), change))), 4400);
  }
}

TEST(NodeKeyTest, a_server_takes_no_key_that_it_cannot_prove) {
  auto config = server_config({});
  auto of_rsa = SigningKey::from_pem(base::testing::read_golden("wire/token_key.pem"));
  for (const auto& key : {node_key(), of_rsa.value()}) {
    config.node_key = key;
    testing::World world;
    SessionTokens tokens("node-b", "cluster-1",
                         *session_token_signer(config.secrets.secret_key, {}));
    auto made = ServerContext::create(config, tokens, world.replay, world.clock, world.random);
    EXPECT_EQ(made.has_value(), key.type() == KeyType::kEd25519);
  }
}

}  // namespace
}  // namespace tool::session
