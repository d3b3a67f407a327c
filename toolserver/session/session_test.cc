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

TEST(SessionTest, a_call_goes_there_and_back) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    Meta meta{.deadline = milliseconds(500),
              .traceparent = "00-9415928c958e290ecfdc761e662e1e17-25f5b099c8349ee9-01"};
    auto request = pair.client.encode_request(Op::kInvoke, {{"tool", "a.b"}, {"x", 1.5}}, meta);
    auto actions = give(pair.server, request->frame);
    const auto* got = find<Request>(actions);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->op, Op::kInvoke);
    EXPECT_EQ(got->envelope.id, request->id);
    EXPECT_EQ(got->envelope.payload, (base::json::Object{{"tool", "a.b"}, {"x", 1.5}}));
    EXPECT_EQ(got->envelope.meta->deadline, milliseconds(500));
    EXPECT_EQ(got->envelope.meta->traceparent, meta.traceparent);

    for (int i = 0; i < 3; ++i) {
      auto event = pair.server.encode_event(request->id, Op::kProgress, {{"done", i}});
      const auto answers = give(pair.client, *event);
      ASSERT_NE(find<Event>(answers), nullptr);
      EXPECT_EQ(find<Event>(answers)->payload.at("done").as_int64(), i);
    }
    auto answers =
        give(pair.client, *pair.server.encode_result(request->id, {{"is_error", false}}));
    ASSERT_NE(find<Answer>(answers), nullptr);
    EXPECT_EQ(find<Answer>(answers)->id, request->id);
    EXPECT_EQ(pair.server.in_flight() + pair.client.in_flight(), 0U);
    EXPECT_FALSE(pair.server.encode_result(request->id, {}).has_value());
    EXPECT_FALSE(pair.server.encode_event(request->id, Op::kProgress, {}).has_value());
  }
}

TEST(SessionTest, a_refusal_arrives_with_code_retry_and_data) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    Fault fault{Code::kRate, "slow down", milliseconds(1500), "inner detail"};
    auto frame = pair.server.encode_error(running.id, fault, {{"scope", "cap:list"}});
    auto actions = give(pair.client, *frame);
    const auto* refused = find<Refused>(actions);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->fault.code, Code::kRate);
    EXPECT_EQ(refused->fault.message, "slow down");
    EXPECT_EQ(refused->fault.retry_after, milliseconds(1500));
    EXPECT_EQ(refused->fault.detail, "");
    EXPECT_EQ(refused->data.at("scope").as_string(), "cap:list");
    EXPECT_EQ(pair.client.state(), ClientState::kReady);
  }
}

TEST(SessionTest, a_cancel_names_a_running_call_or_has_no_effect) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    auto actions = give(pair.server, *pair.client.encode_cancel(running.id));
    ASSERT_NE(find<Cancel>(actions), nullptr);
    EXPECT_EQ(find<Cancel>(actions)->id, running.id);
    auto late = pair.client.encode_cancel(running.id);
    (void)give(pair.client, *pair.server.encode_error(running.id, refuse(Code::kCancelled, "c")));
    EXPECT_TRUE(give(pair.server, *late).empty());
    EXPECT_FALSE(pair.client.encode_cancel(running.id).has_value());
  }
}

TEST(SessionTest, an_answer_that_cannot_be_written_leaves_the_call_to_be_refused) {
  Pair pair;
  ASSERT_TRUE(pair.open());
  auto running = call(pair);
  EXPECT_EQ(pair.server.encode_result(running.id, {{"n", kMaxInteger + 1}}).error().code,
            Code::kInternal);
  EXPECT_TRUE(pair.server.encode_error(running.id, refuse(Code::kInternal, "x")).has_value());
  EXPECT_EQ(pair.client.encode_request(Op::kInvoke, {{"n", kMaxInteger + 1}}).error().code,
            Code::kShape);
}

TEST(SessionTest, calls_in_flight_are_bounded_and_their_ids_unique) {
  for (const auto& options : both()) {
    auto config = server_config(options);
    config.limits.in_flight = 3;
    Pair pair(config, client_config(options), options);
    ASSERT_TRUE(pair.open());
    std::vector<Call> calls;
    for (int i = 0; i < 3; ++i) calls.push_back(call(pair));
    auto fourth = pair.client.encode_request(Op::kInvoke, {});
    auto answer = give(pair.client, sent(give(pair.server, fourth->frame)));
    ASSERT_NE(find<Refused>(answer), nullptr);
    EXPECT_EQ(find<Refused>(answer)->fault.code, Code::kBusy);
    EXPECT_TRUE(find<Refused>(answer)->fault.retry_after.has_value());
    (void)pair.server.encode_result(calls[0].id, {});
    (void)call(pair);
  }
  for (const auto& options : both()) {
    RawPair pair(options);
    pair.reach(ServerState::kReady);
    Envelope request = pair.client.message(MessageType::kReq, "tool.invoke");
    EXPECT_NE(find<Request>(give(pair.server, pair.client.encode(request))), nullptr);
    request.nonce = random_nonce(pair.world.random);
    auto actions = give(pair.server, pair.client.encode(request));
    EXPECT_EQ(pair.client.refusal(actions), "E_SHAPE");
    EXPECT_EQ(close_of(actions), 0);
    EXPECT_EQ(pair.server.in_flight(), 1U);
  }
}

TEST(SessionTest, close_is_answered_and_ends_both) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto actions = give(pair.server, pair.client.encode_request(Op::kClose, {})->frame);
    EXPECT_EQ(close_of(actions), 1000);
    EXPECT_EQ(close_of(give(pair.client, sent(actions))), 1000);
    EXPECT_EQ(pair.server.state(), ServerState::kClosed);
    EXPECT_EQ(pair.client.state(), ClientState::kClosed);
    EXPECT_FALSE(pair.server.timer().has_value());
  }
}

TEST(SessionTest, the_client_sends_only_what_a_ready_session_takes) {
  Pair pair;
  EXPECT_EQ(pair.client.encode_request(Op::kPing, {}).error().code, Code::kState);
  EXPECT_EQ(pair.client.rekey().error().code, Code::kState);
  ASSERT_TRUE(pair.open());
  EXPECT_EQ(pair.client.start().error().code, Code::kState);
  for (Op op : {Op::kHello, Op::kAuth, Op::kRekey, Op::kUnknown}) {
    EXPECT_EQ(pair.client.encode_request(op, {}).error().code, Code::kState);
  }
}

// Messages that a stranger or a broken client sends in READY.
TEST(SessionTest, wrong_messages_close_or_stay_as_section_5_says) {
  struct Case {
    const char* what;
    void (*change)(Envelope&);
    std::string_view code;
    std::uint16_t close;
  };
  const std::vector<Case> cases = {
      {"aud", [](Envelope& e) { e.audience = "node-x"; }, "E_REPLAY", 4409},
      {"aud of hello", [](Envelope& e) { e.audience = "*"; }, "E_REPLAY", 4409},
      {"op", [](Envelope& e) { e.op = "no.such"; }, "E_OP", 0},
      {"version", [](Envelope& e) { e.version = "3.1"; }, "E_SHAPE", 0},
      {"type", [](Envelope& e) { e.type = MessageType::kRes; }, "E_STATE", 4400},
  };
  for (const auto& options : both()) {
    for (const auto& row : cases) {
      RawPair pair(options);
      pair.reach(ServerState::kReady);
      Envelope message = pair.client.message(MessageType::kReq, "tool.invoke");
      row.change(message);
      auto actions = give(pair.server, pair.client.encode(message));
      EXPECT_EQ(pair.client.refusal(actions), row.code) << row.what;
      EXPECT_EQ(close_of(actions), row.close) << row.what;
    }
  }
}

TEST(SessionTest, broken_plaintexts_in_good_records_are_refused) {
  struct Case {
    std::string text;
    std::string_view code;
    std::uint16_t close;
  };
  std::string deep(70, '[');
  const std::vector<Case> cases = {
      {"", "E_PARSE", 4400},
      {"{", "E_PARSE", 4400},
      {"\xff", "E_PARSE", 4400},
      {deep, "E_PARSE", 4400},
      {R"({"v":"3.0","v":"3.0"})", "E_PARSE", 4400},
      {"[" + std::string(200'000, '1') + "]", "E_PARSE", 4400},
      {"{}", "E_SHAPE", 0},
      {"[]", "E_SHAPE", 0},
  };
  for (const auto& row : cases) {
    RawPair pair;
    pair.reach(ServerState::kReady);
    auto start = record_start(pair.server.suite(), pair.client.layer->keys(),
                              Direction::kClientToServer, pair.client.handshake.th1(), 0);
    start.counter = 1;  // The auth was the first.
    auto actions = pair.server.on_binary(RecordSealer(start).seal(row.text));
    EXPECT_EQ(pair.client.refusal(actions), row.code) << row.text.substr(0, 20);
    EXPECT_EQ(close_of(actions), row.close) << row.text.substr(0, 20);
  }
}

TEST(SessionTest, a_signature_inside_a_record_is_refused) {
  RawPair pair;
  pair.reach(ServerState::kReady);
  Envelope message = pair.client.message(MessageType::kReq, "session.ping");
  message.signature = MessageSignature{.algorithm = "HS256", .key_id = "c"};
  auto start = record_start(pair.server.suite(), pair.client.layer->keys(),
                            Direction::kClientToServer, pair.client.handshake.th1(), 0);
  start.counter = 1;
  auto actions = pair.server.on_binary(RecordSealer(start).seal(*write_envelope(message)));
  EXPECT_EQ(pair.client.refusal(actions), "E_SHAPE");
  EXPECT_EQ(close_of(actions), 0);
}

TEST(SessionTest, records_out_of_order_doubled_or_dropped_end_the_session) {
  struct Case {
    const char* what;
    std::vector<std::size_t> order;
  };
  for (const auto& [what, order] :
       {Case{"doubled", {0, 0}}, {"dropped", {1}}, {"swapped", {0, 2}}}) {
    Pair pair;
    ASSERT_TRUE(pair.open());
    std::vector<Frame> frames;
    for (int i = 0; i < 3; ++i) frames.push_back(pair.client.encode_request(Op::kPing, {})->frame);
    ServerActions last;
    for (std::size_t i : order) last = give(pair.server, frames[i]);
    EXPECT_EQ(close_of(last), 4409) << what;
    EXPECT_EQ(pair.server.state(), ServerState::kFailed);
  }
}

TEST(SessionTest, a_record_of_another_session_is_refused) {
  Pair first, second;
  second.world.random = testing::TestRandom(99);
  ASSERT_TRUE(first.open() && second.open());
  EXPECT_EQ(close_of(give(second.server, first.client.encode_request(Op::kPing, {})->frame)), 4401);
}

TEST(SessionTest, our_own_records_sent_back_are_refused) {
  Pair pair;
  ASSERT_TRUE(pair.open());
  auto pong = sent(give(pair.server, pair.client.encode_request(Op::kPing, {})->frame));
  EXPECT_EQ(close_of(give(pair.server, pong)), 4409);  // Not even the right count.
  Pair other;
  ASSERT_TRUE(other.open());
  auto request = other.client.encode_request(Op::kPing, {})->frame;
  EXPECT_EQ(close_of(give(other.client, request)), 4401);
}

TEST(SessionTest, too_large_is_closed_at_its_limit) {
  for (const auto& options : both()) {
    auto config = server_config(options);
    config.limits.message_bytes = 4000;
    Pair pair(config, client_config(options), options);
    ASSERT_TRUE(pair.open());
    EXPECT_EQ(pair.server.message_limit(), 4000U);
    bool records = has_records(options.suites[0]);
    std::string big(4001, ' ');
    EXPECT_EQ(close_of(records ? pair.server.on_binary(big) : pair.server.on_text(big)), 4413);
    EXPECT_EQ(pair.server.state(), ServerState::kFailed);
  }
}

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

TEST_F(SignedTest, a_message_from_before_the_start_is_stale) {
  Envelope message = ping();
  message.time -= milliseconds(1);
  expect(give(pair.server, pair.client.encode(message)), "E_STALE", 0);
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
  ReplayWindow small({.entries = 100}, world.clock.now(), world.random);
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

  auto asked = refresh(pair.client.refresh_payload());
  const auto* verify = find<VerifyCredential>(asked);
  ASSERT_NE(verify, nullptr);
  EXPECT_EQ(verify->purpose, VerifyCredential::Purpose::kRefresh);
  EXPECT_TRUE(verify_api_key(verify->credential.reveal(), testing::test_secrets().api_key, verify->th1, {})
                  .has_value());
  auto second = give(pair.client, sent(refresh(pair.client.refresh_payload())));
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
               pair.client.encode_request(Op::kRefresh, pair.client.refresh_payload())->frame);
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

// Drain.

TEST(DrainTest, running_calls_end_and_new_ones_are_put_off) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    EXPECT_TRUE(pair.server.begin_drain().empty());
    auto refused = give(
        pair.client, sent(give(pair.server, pair.client.encode_request(Op::kInvoke, {})->frame)));
    ASSERT_NE(find<Refused>(refused), nullptr);
    EXPECT_EQ(find<Refused>(refused)->fault.code, Code::kBusy);
    EXPECT_TRUE(find<Refused>(refused)->fault.retry_after.has_value());
    EXPECT_EQ(pair.server.in_flight(), 1U);
    EXPECT_NE(find<Answer>(give(pair.client, *pair.server.encode_result(running.id, {}))), nullptr);
    EXPECT_EQ(close_of(give(pair.server, pair.client.encode_request(Op::kClose, {})->frame)), 1000);
  }
}

TEST(DrainTest, a_session_that_is_not_ready_is_closed) {
  for (auto state :
       {ServerState::kConnected, ServerState::kNegotiated, ServerState::kAuthenticating}) {
    RawPair pair;
    pair.reach(state);
    EXPECT_EQ(close_of(pair.server.begin_drain()), 4503);
    EXPECT_EQ(pair.server.state(), ServerState::kClosed);
    EXPECT_TRUE(pair.server.on_verified(testing::alice()).empty());
    EXPECT_TRUE(pair.server.begin_drain().empty());
  }
}

}  // namespace
}  // namespace tool::session
