#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::close_of;
using testing::find;
using testing::give;
using testing::Options;
using testing::Pair;
using testing::RawPair;
using testing::sent;

// Sessions with signatures.

struct SignedTest : ::testing::Test {
  SignedTest() : pair(testing::signed_options()) { pair.reach(ServerState::kReady); }
  ServerActions give_text(const Envelope& envelope) {
    return pair.server.on_text(*write_envelope(envelope));
  }
  Envelope ping() { return pair.client.message(MessageType::kReq, "session.ping"); }
  Envelope signed_ping() { return *parse_envelope(pair.client.encode(ping()).bytes); }
  void expect(const ServerActions& actions, std::string_view code, std::uint16_t close) {
    EXPECT_EQ(pair.client.refusal(actions), code);
    EXPECT_EQ(close_of(actions), close);
  }
  RawPair pair;
};

TEST_F(SignedTest, the_same_message_twice_is_a_replay) {
  Frame frame = pair.client.encode(ping());
  expect(give(pair.server, frame), "", 0);
  expect(give(pair.server, frame), "E_REPLAY", 4409);
}

TEST_F(SignedTest, an_old_nonce_in_a_new_message_is_a_replay) {
  Envelope first = ping(), second = ping();
  second.nonce = first.nonce;
  expect(give(pair.server, pair.client.encode(first)), "", 0);
  expect(give(pair.server, pair.client.encode(second)), "E_REPLAY", 4409);
}

TEST_F(SignedTest, freshness_has_two_ends) {
  pair.world.clock.advance(seconds(100));
  for (auto [by, code] :
       {std::pair{0, ""}, {-60'000, ""}, {60'000, ""}, {-60'001, "E_STALE"}, {60'001, "E_STALE"}}) {
    Envelope message = ping();
    message.time += milliseconds(by);
    expect(give(pair.server, pair.client.encode(message)), code, 0);
  }
}

TEST_F(SignedTest, a_client_whose_clock_is_slow_is_heard_right_after_the_start) {
  Envelope message = ping();
  message.time -= seconds(60);
  expect(give(pair.server, pair.client.encode(message)), "", 0);
}

TEST_F(SignedTest, every_flipped_bit_of_a_message_is_found_out) {
  const std::string text = pair.client.encode(ping()).bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    RawPair other(testing::signed_options());
    other.reach(ServerState::kReady);
    Envelope message = other.client.message(MessageType::kReq, "tool.invoke", {{"tool", "a.b"}});
    std::string changed = other.client.encode(message).bytes;
    if (at >= changed.size()) break;
    changed[at] ^= 1;
    auto actions = other.server.on_text(changed);
    EXPECT_EQ(find<Request>(actions), nullptr) << at;
    EXPECT_NE(other.client.refusal(actions), "") << at;
  }
}

TEST_F(SignedTest, the_algorithm_and_key_are_never_taken_from_the_message) {
  struct Case {
    const char* what;
    void (*change)(MessageSignature&);
  };
  const std::vector<Case> cases = {
      {"none", [](MessageSignature& s) { s.algorithm = "none"; }},
      {"None", [](MessageSignature& s) { s.algorithm = "None"; }},
      {"empty", [](MessageSignature& s) { s.algorithm = ""; }},
      {"RS256", [](MessageSignature& s) { s.algorithm = "RS256"; }},
      {"lower case", [](MessageSignature& s) { s.algorithm = "hs256"; }},
      {"server's key", [](MessageSignature& s) { s.key_id = "s"; }},
      {"key as a path", [](MessageSignature& s) { s.key_id = "../../dev/null"; }},
      {"no key", [](MessageSignature& s) { s.key_id = ""; }},
      {"zeros", [](MessageSignature& s) { s.value = {}; }},
      {"last byte", [](MessageSignature& s) { s.value[31] ^= 1; }},
  };
  for (const auto& [what, change] : cases) {
    RawPair other(testing::signed_options());
    other.reach(ServerState::kReady);
    auto message = *parse_envelope(
        other.client.encode(other.client.message(MessageType::kReq, "session.ping")).bytes);
    change(*message.signature);
    auto actions = other.server.on_text(*write_envelope(message));
    EXPECT_EQ(other.client.refusal(actions), "E_SIG") << what;
    EXPECT_EQ(close_of(actions), 4401) << what;
  }
}

TEST_F(SignedTest, a_message_without_a_signature_is_refused_and_stays) {
  expect(give_text(ping()), "E_SHAPE", 0);
}

TEST_F(SignedTest, unknown_members_are_ignored_and_signed) {
  Envelope message = ping();
  message.others["later"] = {1, "x"};
  MessageKey key = MessageKey::of(pair.client.layer->keys(), Direction::kClientToServer);
  message.signature = key.sign(pair.client.handshake.th2(), *canonical_without_sig(message));
  Envelope without = message;
  without.others.clear();
  without.nonce[0] ^= 1;
  expect(give_text(message), "", 0);
  expect(give_text(without), "E_SIG", 4401);
}

TEST_F(SignedTest, blanks_and_order_do_not_matter_to_a_signature) {
  Envelope message = signed_ping();
  auto tree = base::json::parse(*write_envelope(message))->as_object();
  base::json::Object turned;
  for (const char* name : {"v", "ts", "t", "sig", "p", "op", "n", "id", "aud"})
    turned[name] = tree[name];
  std::string text = " " + base::json::write(turned) + "\n";
  expect(pair.server.on_text(text), "", 0);
}

TEST_F(SignedTest, a_message_signed_over_the_handshakes_transcript_is_refused) {
  Envelope message = ping();
  MessageKey key = MessageKey::of(pair.client.layer->keys(), Direction::kClientToServer);
  message.signature = key.sign(pair.client.handshake.th1(), *canonical_without_sig(message));
  expect(give_text(message), "E_SIG", 4401);
}

TEST_F(SignedTest, a_message_of_another_session_is_refused) {
  RawPair other(testing::signed_options());
  other.world.random = testing::TestRandom(99);
  other.reach(ServerState::kReady);
  Frame frame = other.client.encode(other.client.message(MessageType::kReq, "session.ping"));
  auto actions = give(pair.server, frame);
  expect(actions, "E_SIG", 4401);
}

TEST_F(SignedTest, a_stranger_cannot_fill_the_window) {
  std::size_t before = pair.world.replay.size();
  Envelope message = signed_ping();
  message.signature->value = {};
  (void)give_text(message);
  EXPECT_EQ(pair.world.replay.size(), before);
}

TEST(SessionTest, a_flood_of_nonces_is_bounded_and_other_sessions_go_on) {
  testing::World world;
  ReplayWindow small({.entries = 100}, world.random);
  auto options = testing::signed_options();
  auto config = server_config(options);
  SessionTokens tokens("node-b", "cluster-1", *session_token_signer(config.secrets.secret_key, {}));
  auto context = *ServerContext::create(config, tokens, small, world.clock, world.random);
  auto open = [&](ServerSession& server, ClientSession& client) {
    auto auth = sent(give(client, sent(give(server, *client.start()))));
    (void)give(server, auth);
    EXPECT_NE(find<Opened>(give(client, sent(server.on_verified(testing::alice())))), nullptr);
  };
  {
    ServerSession greedy(context, options.server_channel), other(context, options.server_channel);
    ClientSession first(client_config(options), options.client_channel, world.clock, world.random);
    ClientSession second(client_config(options), options.client_channel, world.clock, world.random);
    open(greedy, first);
    open(other, second);
    int busy = 0;
    for (int i = 0; i < 50; ++i) {
      auto actions = give(first, sent(give(greedy, first.encode_request(Op::kPing, {})->frame)));
      const auto* refused = find<Refused>(actions);
      if (refused != nullptr) busy += refused->fault.code == Code::kBusy ? 1 : 0;
    }
    EXPECT_EQ(busy, 40);
    EXPECT_EQ(greedy.state(), ServerState::kReady);
    auto actions = give(second, sent(give(other, second.encode_request(Op::kPing, {})->frame)));
    EXPECT_NE(find<Answer>(actions), nullptr);
  }
  EXPECT_EQ(small.size(), 0U);
}

}  // namespace
}  // namespace tool::session
