#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"
#include "toolserver/session/handshake_messages.h"
#include "toolserver/session/payload_reader.h"

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

TEST(SessionTest, large_doubles_go_there_and_back) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    const base::json::Object payload{{"a", 1e20}, {"b", {9007199254740992.0, -1e300, 0.1}}};
    auto running = call(pair, payload);
    EXPECT_EQ(running.envelope.payload, payload);
    auto event = pair.server.encode_event(running.id, Op::kProgress, payload);
    EXPECT_NE(find<Event>(give(pair.client, *event)), nullptr);
    auto answers = give(pair.client, *pair.server.encode_result(running.id, payload));
    ASSERT_NE(find<Answer>(answers), nullptr);
    EXPECT_EQ(find<Answer>(answers)->payload, payload);
  }
}

TEST(SessionTest, a_payload_that_was_written_before_arrives_as_any_other) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    const WrittenPayload written{R"({"a":[1,"\u0001"],"b":{}})"};
    auto answers = give(pair.client, *pair.server.encode_written(running.id, written));
    ASSERT_NE(find<Answer>(answers), nullptr);
    EXPECT_EQ(find<Answer>(answers)->payload,
              (base::json::Object{{"a", {1, "\x01"}}, {"b", base::json::Object()}}));
    EXPECT_EQ(pair.server.in_flight() + pair.client.in_flight(), 0U);
    EXPECT_EQ(pair.server.encode_written(running.id, written).error().code, Code::kInternal);
  }
}

TEST(SessionTest, a_written_payload_has_the_bound_of_any_answer) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    const std::size_t most = server_config(options).answer_bytes;
    const std::string large(most, 'x');
    EXPECT_EQ(pair.server.encode_written(running.id, WrittenPayload{R"({"a":")" + large + R"("})"})
                  .error()
                  .code,
              Code::kLimit);
    const std::string fits(most - 1024, 'x');
    EXPECT_TRUE(pair.server.encode_written(running.id, WrittenPayload{R"({"a":")" + fits + R"("})"})
                    .has_value());
  }
}

TEST(SessionTest, a_server_that_says_to_come_back_in_years_is_asked_again_in_an_hour) {
  for (const auto& options : both()) {
    Pair pair(options);
    ASSERT_TRUE(pair.open());
    auto running = call(pair);
    Fault fault{Code::kBusy, "later", milliseconds(PayloadReader::kMostInteger), {}};
    auto frame = pair.server.encode_error(running.id, fault, {});
    auto actions = give(pair.client, *frame);
    const auto* refused = find<Refused>(actions);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->fault.retry_after, std::chrono::hours(1));
  }
}

TEST(SessionTest, a_session_ends_at_a_time_that_can_be_counted_with) {
  auto ready = [](std::int64_t expires_at) {
    return read_ready({{"session_id", "01JD0000000000000000000002"},
                       {"session_token", "t"},
                       {"scopes", base::json::Array()},
                       {"expires_at", expires_at},
                       {"confirm", std::string(43, 'A')},
                       {"principal", {{"sub", "ann"}, {"iss", "node-b"}}}});
  };
  EXPECT_TRUE(ready(PayloadReader::kLastTime));
  EXPECT_FALSE(ready(PayloadReader::kLastTime + 1));
  EXPECT_FALSE(ready(PayloadReader::kMostInteger));
  EXPECT_FALSE(ready(-1));
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
