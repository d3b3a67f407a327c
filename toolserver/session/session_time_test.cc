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

std::vector<Options> both() { return {Options{}, testing::signed_options()}; }

struct Call {
  Ulid id;
  Envelope envelope;
};

// A tool.invoke of the client that has reached the server's caller.
Call call(Pair& pair, base::json::Object payload = {{"tool", "sql.query"}}) {
  auto request = pair.client.encode_request(Op::kInvoke, std::move(payload));
  EXPECT_TRUE(request.has_value());
  auto actions = give(pair.server, request->frame);
  const auto* got = find<Request>(actions);
  EXPECT_NE(got, nullptr);
  return got == nullptr ? Call{} : Call{request->id, got->envelope};
}

// Time.

TEST(SessionTest, each_step_has_its_time) {
  struct Case {
    ServerState state;
    seconds due;
    std::uint16_t close;
  };
  const std::vector<Case> cases = {
      {ServerState::kConnected, seconds(5), 4408},
      {ServerState::kNegotiated, seconds(10), 4408},
      {ServerState::kAuthenticating, seconds(10), 4408},
      {ServerState::kReady, seconds(7200), 4400},  // Twice the time of a rekey.
  };
  for (const auto& row : cases) {
    RawPair pair;
    pair.reach(row.state);
    auto now = pair.world.clock.now();
    EXPECT_EQ(pair.server.timer()->at, now + row.due);
    pair.world.clock.advance(row.due - milliseconds(1));
    EXPECT_TRUE(pair.server.on_time().empty());
    pair.world.clock.advance(milliseconds(1));
    EXPECT_EQ(close_of(pair.server.on_time()), row.close);
    EXPECT_EQ(pair.server.state(), ServerState::kFailed);
  }
  RawPair pair(testing::signed_options());
  pair.reach(ServerState::kReady);
  pair.world.clock.advance(seconds(12 * 3600) - milliseconds(1));
  EXPECT_TRUE(pair.server.on_time().empty());
  pair.world.clock.advance(milliseconds(1));
  EXPECT_EQ(close_of(pair.server.on_time()), 4408);
}

TEST(SessionTest, calls_need_a_session_token_in_its_time) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    EXPECT_EQ(pair.client.refresh_at(), pair.world.clock.now() + seconds(600));
    pair.world.clock.advance(seconds(900) - milliseconds(1));
    auto running = call(pair);
    EXPECT_TRUE(running.id.known());
    pair.world.clock.advance(milliseconds(1));
    auto refused = give(
        pair.client, sent(give(pair.server, pair.client.encode_request(Op::kInvoke, {})->frame)));
    ASSERT_NE(find<Refused>(refused), nullptr);
    EXPECT_EQ(find<Refused>(refused)->fault.code, Code::kExpired);
    // What runs goes on, and a refresh helps.
    auto result = pair.server.encode_result(running.id, {});
    EXPECT_NE(find<Answer>(give(pair.client, *result)), nullptr);
    std::string old = pair.client.ready().session_token;
    auto answer = give(
        pair.client, sent(give(pair.server, pair.client.encode_request(Op::kRefresh, {})->frame)));
    EXPECT_NE(find<Answer>(answer), nullptr);
    EXPECT_NE(pair.client.ready().session_token, old);
    EXPECT_TRUE(call(pair).id.known());
  }
}

TEST(SessionTest, a_refresh_does_not_outlive_the_credential) {
  Pair pair;
  auto hello = pair.client.start();
  auto auth = sent(give(pair.client, sent(give(pair.server, *hello))));
  (void)give(pair.server, auth);
  Principal principal = testing::alice();
  principal.expires_at = pair.world.clock.now() + seconds(100);
  (void)give(pair.client, sent(pair.server.on_verified(principal)));
  EXPECT_EQ(pair.client.ready().expires_at, wire_time(principal.expires_at));
  pair.world.clock.advance(seconds(100));
  auto refresh = [&](base::json::Object payload) {
    return give(pair.server, pair.client.encode_request(Op::kRefresh, std::move(payload))->frame);
  };
  auto refused = give(pair.client, sent(refresh({})));
  ASSERT_NE(find<Refused>(refused), nullptr);
  EXPECT_EQ(find<Refused>(refused)->fault.code, Code::kExpired);

  auto asked = refresh(*pair.client.refresh_payload());
  const auto* verify = find<VerifyCredential>(asked);
  ASSERT_NE(verify, nullptr);
  EXPECT_EQ(verify->purpose, VerifyCredential::Purpose::kRefresh);
  EXPECT_TRUE(
      verify_api_key(verify->credential.reveal(), testing::test_secrets().api_key, verify->th1, {})
          .has_value());
  auto second = give(pair.client, sent(refresh(*pair.client.refresh_payload())));
  EXPECT_EQ(find<Refused>(second)->fault.code, Code::kBusy);
  principal.expires_at += seconds(100);
  EXPECT_NE(find<Answer>(give(pair.client, sent(pair.server.on_verified(principal)))), nullptr);
  EXPECT_TRUE(call(pair).id.known());
  EXPECT_TRUE(pair.server.on_verified(principal).empty());
}

TEST(SessionTest, a_refresh_for_somebody_else_is_refused_and_changes_nothing) {
  for (auto change :
       {+[](Principal& p) { p.subject = "mallory"; }, +[](Principal& p) { p.issuer = "x"; }}) {
    Pair pair;
    ASSERT_TRUE(pair.open());
    (void)give(pair.server,
               pair.client.encode_request(Op::kRefresh, *pair.client.refresh_payload())->frame);
    Principal other = testing::alice();
    change(other);
    auto refused = give(pair.client, sent(pair.server.on_verified(other)));
    ASSERT_NE(find<Refused>(refused), nullptr);
    EXPECT_EQ(find<Refused>(refused)->fault.code, Code::kAuth);
    EXPECT_EQ(pair.server.principal()->subject, "alice");
    EXPECT_EQ(pair.server.principal()->issuer, "node-b");
  }
  Pair pair;
  ASSERT_TRUE(pair.open());
  for (auto payload : {base::json::Object{{"method", "jwt"}, {"credential", "x"}},
                       {{"method", "none"}, {"credential", ""}}}) {
    auto actions =
        give(pair.client,
             sent(give(pair.server, pair.client.encode_request(Op::kRefresh, payload)->frame)));
    EXPECT_EQ(find<Refused>(actions)->fault.code, Code::kAuth);
  }
}

// Rekey.

void rekey(Pair& pair) {
  auto asked = pair.client.rekey();
  ASSERT_TRUE(asked.has_value());
  EXPECT_FALSE(pair.client.encode_request(Op::kPing, {}).has_value());
  auto answer = sent(give(pair.server, *asked));
  EXPECT_EQ(pair.server.state(), ServerState::kRekeying);
  EXPECT_NE(find<Rekeyed>(give(pair.client, answer)), nullptr);
}

TEST(RekeyTest, both_go_on_in_new_epochs_with_calls_in_flight) {
  for (Suite suite : {Suite::kX25519Aes256Gcm, Suite::kP256Aes256Gcm, Suite::kX25519ChaCha20}) {
    Pair pair({.suites = {suite}});
    ASSERT_TRUE(pair.open());
    for (int epoch = 0; epoch < 4; ++epoch) {
      auto before = call(pair);
      auto old_answer = call(pair);
      auto asked = pair.client.rekey();
      // An answer that was on its way in the old epoch.
      auto crossing = pair.server.encode_result(old_answer.id, {{"epoch", epoch}});
      auto rekeyed = give(pair.server, *asked);
      EXPECT_NE(find<Answer>(give(pair.client, *crossing)), nullptr);
      EXPECT_NE(find<Rekeyed>(give(pair.client, sent(rekeyed))), nullptr);
      // And one of a call from before, answered after.
      auto after = pair.server.encode_result(before.id, {{"epoch", epoch + 1}});
      EXPECT_NE(find<Answer>(give(pair.client, *after)), nullptr);
      auto next = call(pair);
      EXPECT_EQ(pair.server.state(), ServerState::kReady);
      EXPECT_NE(find<Answer>(give(pair.client, *pair.server.encode_result(next.id, {}))), nullptr);
    }
  }
}

TEST(RekeyTest, records_of_the_old_epoch_are_refused_afterwards) {
  Pair pair;
  ASSERT_TRUE(pair.open());
  auto old = pair.client.encode_request(Op::kPing, {})->frame;
  (void)give(pair.client, sent(give(pair.server, old)));
  rekey(pair);
  EXPECT_EQ(close_of(give(pair.server, old)), 4409);
}

TEST(RekeyTest, a_share_that_is_none_leaves_the_session_as_it_was) {
  for (const std::string& share :
       {std::string(), std::string(31, 'x'), std::string(33, 'x'), std::string(32, '\0')}) {
    RawPair pair;
    pair.reach(ServerState::kReady);
    auto actions = pair.give_message(MessageType::kReq, "session.rekey",
                                     {{"eph", base::crypto::to_base64url(share)}});
    EXPECT_EQ(pair.client.refusal(actions), "E_SHAPE");
    EXPECT_EQ(pair.server.state(), ServerState::kReady);
    EXPECT_EQ(pair.client.refusal(pair.give_message(MessageType::kReq, "session.ping")), "");
  }
}

TEST(RekeyTest, is_due_after_records_bytes_or_time) {
  auto config = testing::client_config({});
  config.rekey.records = 10;
  Pair pair(testing::server_config({}), config);
  ASSERT_TRUE(pair.open());
  for (int i = 1; i < 10; ++i) {  // The auth was the first.
    EXPECT_FALSE(pair.client.needs_rekey()) << i;
    (void)give(pair.client,
               sent(give(pair.server, pair.client.encode_request(Op::kPing, {})->frame)));
  }
  EXPECT_TRUE(pair.client.needs_rekey());
  rekey(pair);
  EXPECT_FALSE(pair.client.needs_rekey());
  pair.world.clock.advance(seconds(3600) - milliseconds(1));
  EXPECT_FALSE(pair.client.needs_rekey());
  pair.world.clock.advance(milliseconds(1));
  EXPECT_TRUE(pair.client.needs_rekey());

  Pair signatures(testing::signed_options());
  ASSERT_TRUE(signatures.open());
  signatures.world.clock.advance(seconds(7200));
  EXPECT_FALSE(signatures.client.needs_rekey());
  EXPECT_FALSE(signatures.client.rekey().has_value());
}

TEST(RekeyTest, a_client_that_never_asks_is_cut_off_at_twice_the_limit) {
  auto config = testing::server_config({});
  config.rekey.records = 5;
  Pair pair(config, testing::client_config({}));
  ASSERT_TRUE(pair.open());
  for (int i = 2; i < 10; ++i) {  // The auth was the first record.
    auto actions = give(pair.server, pair.client.encode_request(Op::kPing, {})->frame);
    EXPECT_EQ(close_of(actions), 0) << i;
  }
  EXPECT_EQ(close_of(give(pair.server, pair.client.encode_request(Op::kPing, {})->frame)), 4400);
}

}  // namespace
}  // namespace tool::session
