// Every message in every state, of both roles. What must happen stands here a
// second time, written from section 5 of docs/wire-3.0.md and not from the
// table that the code reads.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "toolserver/session/fixture_test.h"

namespace tool::session {
namespace {

using testing::close_of;
using testing::find;
using testing::Options;
using testing::RawPair;
using testing::sent;

const std::vector<std::string> kTypes = {"req", "res", "err", "evt", "cancel"};
const std::vector<std::string> kOps = {"session.hello",
                                       "session.auth",
                                       "session.close",
                                       "session.ping",
                                       "session.refresh",
                                       "session.rekey",
                                       "session.error",
                                       "cap.list",
                                       "cap.get",
                                       "tool.invoke",
                                       "tool.outcome",
                                       "tool.cancel",
                                       "tool.progress",
                                       "tool.chunk",
                                       "fed.forward",
                                       "fed.caps",
                                       "flow.run",
                                       "flow.get",
                                       "flow.cancel",
                                       "admin.audit.head",
                                       "admin.session.list",
                                       "admin.session.close",
                                       "no.such"};

MessageType type_of(const std::string& text) {
  for (int i = 0; i < 5; ++i) {
    if (name(static_cast<MessageType>(i)) == text) return static_cast<MessageType>(i);
  }
  ADD_FAILURE() << text;
  return MessageType::kReq;
}

// "state type op" -> where it leads, or the refusal that stays. What is not
// here is E_STATE and ends in FAILED.
std::map<std::string, std::string> server_expectations(bool records) {
  std::map<std::string, std::string> out = {
      {"CONNECTED req session.hello", "NEGOTIATED"},
      {"NEGOTIATED req session.auth", "AUTHENTICATING"},
      {"NEGOTIATED req session.close", "CLOSED"},
      {"AUTHENTICATING req session.close", "CLOSED"},
      {"DRAINING req session.ping", "DRAINING"},
      {"DRAINING req session.close", "CLOSED"},
      {"DRAINING cancel tool.cancel", "DRAINING"},
  };
  for (std::string state : {"READY ", "REKEYING "}) {
    for (std::string op : {"session.ping", "session.refresh", "cap.list", "cap.get", "tool.invoke",
                           "tool.outcome", "flow.run", "flow.get", "flow.cancel", "fed.forward",
                           "fed.caps", "admin.audit.head", "admin.session.list",
                           "admin.session.close", "admin.consent.list", "admin.consent.revoke"}) {
      out[state + "req " + op] = "READY";
    }
    out[state + "cancel tool.cancel"] = "READY";
    out[state + "req session.close"] = "CLOSED";
    out[state + "req no.such"] = "READY E_OP";
    if (records) out[state + "req session.rekey"] = "REKEYING";
  }
  for (const auto& op : kOps) {
    auto [row, is_new] = out.try_emplace("DRAINING req " + op);
    if (is_new) row->second = "DRAINING E_BUSY";
  }
  for (std::string state : {"CLOSED", "FAILED"}) {
    for (const auto& type : kTypes) {
      for (const auto& op : kOps) out[state + " " + type + " " + op] = state + " dropped";
    }
  }
  return out;
}

base::json::Object payload_for(RawPair& pair, const std::string& op) {
  if (op != "session.rekey" || !has_records(pair.server.suite())) return {};
  auto key =
      base::crypto::EphemeralKey::generate(traits(pair.server.suite()).group, pair.world.random);
  return {{"eph", base::crypto::to_base64url(key.public_share())}};
}

Frame frame_for(RawPair& pair, ServerState state, const std::string& type, const std::string& op,
                const std::optional<Envelope>& auth) {
  if (state == ServerState::kConnected && op == "session.hello" && type == "req") {
    return pair.client.hello();
  }
  if (op == "session.auth" && type == "req" && auth) return pair.client.encode(*auth);
  return pair.client.encode(pair.client.message(type_of(type), op, payload_for(pair, op)));
}

std::string what_happens(RawPair& pair, const ServerActions& actions) {
  std::string outcome(name(pair.server.state()));
  if (pair.server.state() == ServerState::kFailed) {
    EXPECT_EQ(close_of(actions), 4400);
    EXPECT_EQ(pair.client.refusal(actions), "E_STATE");
    return "E_STATE";
  }
  EXPECT_EQ(close_of(actions), pair.server.state() == ServerState::kClosed ? 1000 : 0);
  bool is_rekey = pair.server.state() == ServerState::kRekeying;
  std::string refusal = is_rekey ? "" : pair.client.refusal(actions);
  return refusal.empty() ? outcome : outcome + " " + refusal;
}

void check_server(const Options& options, ServerState state, const std::string& type,
                  const std::string& op, const std::string& wanted) {
  SCOPED_TRACE(std::string(name(state)) + " " + type + " " + op);
  RawPair pair(options);
  std::optional<Envelope> auth;
  if (state == ServerState::kNegotiated) {
    auto welcomed = testing::give(pair.server, pair.client.hello());
    auth = pair.client.auth(sent(welcomed));
  } else {
    pair.reach(state);
  }
  auto actions = testing::give(pair.server, frame_for(pair, state, type, op, auth));
  if (wanted.ends_with("dropped")) {
    EXPECT_TRUE(actions.empty());
    EXPECT_EQ(pair.server.state(), state);
    return;
  }
  EXPECT_EQ(what_happens(pair, actions), wanted);
}

void check_server_matrix(const Options& options) {
  auto wanted = server_expectations(has_records(options.suites[0]));
  for (auto state : {ServerState::kConnected, ServerState::kNegotiated,
                     ServerState::kAuthenticating, ServerState::kReady, ServerState::kRekeying,
                     ServerState::kDraining, ServerState::kClosed, ServerState::kFailed}) {
    if (state == ServerState::kRekeying && !has_records(options.suites[0])) continue;
    for (const auto& type : kTypes) {
      for (const auto& op : kOps) {
        auto row = wanted.find(std::string(name(state)) + " " + type + " " + op);
        check_server(options, state, type, op, row == wanted.end() ? "E_STATE" : row->second);
      }
    }
  }
}

TEST(ServerMatrixTest, every_message_in_every_state_with_records) { check_server_matrix({}); }

TEST(ServerMatrixTest, every_message_in_every_state_with_signatures) {
  check_server_matrix(testing::signed_options());
}

TEST(ServerMatrixTest, a_frame_of_the_other_kind_is_refused_in_every_state) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    for (auto state : {ServerState::kConnected, ServerState::kNegotiated,
                       ServerState::kAuthenticating, ServerState::kReady, ServerState::kDraining}) {
      RawPair pair(options);
      pair.reach(state);
      bool wants_text = state == ServerState::kConnected || !has_records(options.suites[0]);
      auto actions = wants_text ? pair.server.on_binary("S\x01") : pair.server.on_text("{}");
      EXPECT_EQ(close_of(actions), 4400);
      EXPECT_EQ(pair.client.refusal(actions), "E_STATE");
      EXPECT_EQ(pair.server.state(), ServerState::kFailed);
    }
  }
}

TEST(OpTest, names_and_ops_are_one_to_one) {
  for (const auto& op : kOps) {
    EXPECT_EQ(name(op_of(op)), op == "no.such" ? "" : op);
  }
  for (std::string_view text : {"", "session", "session.", "Session.Ping", "session.ping "}) {
    EXPECT_EQ(op_of(text), Op::kUnknown);
  }
}

// The client's side: a server that says what it is told to.
struct RawServer {
  explicit RawServer(const Options& the_options = {})
      : options(the_options),
        context(world.context(server_config(options))),
        handshake(context, options.server_channel),
        client(client_config(options), options.client_channel, world.clock, world.random) {}

  void reach(ClientState state) {
    if (state == ClientState::kIdle) return;
    Frame hello = *client.start();
    step = parse_envelope(hello.bytes)->id;
    if (state == ClientState::kHelloSent) return check(state);
    auto welcomed = handshake.on_hello(hello.bytes, *parse_envelope(hello.bytes));
    ASSERT_TRUE(welcomed.has_value());
    auto actions = client.on_text(welcomed->text);
    layer = std::move(welcomed->layer);
    auto auth = *parse_envelope(*layer->unwrap(sent(actions).kind, sent(actions).bytes));
    step = auth.id;
    if (state == ClientState::kAuthSent) return check(state);
    ASSERT_TRUE(handshake.on_auth(auth, layer->keys()).has_value());
    EXPECT_NE(find<Opened>(testing::give(client, ready())), nullptr);
    auto request = client.encode_request(Op::kInvoke, {{"tool", "sql.query"}});
    flight = request->id;
    if (state == ClientState::kRekeying) EXPECT_TRUE(client.rekey().has_value());
    if (state == ClientState::kClosed) close();
    if (state == ClientState::kFailed)
      (void)testing::give(client, frame(MessageType::kReq, "session.ping"));
    check(state);
  }
  Frame ready() {
    Ready values{.session_id = session,
                 .session_token = "t",
                 .subject = "alice",
                 .issuer = "node-b",
                 .expires_at = wire_time(world.clock.now() + std::chrono::hours(1))};
    Envelope message = envelope(MessageType::kRes, "session.auth", step, write_payload(values));
    message.audience = "";
    Digest th2 = *handshake.finish(message, layer->keys());
    Frame frame = *layer->write(message);
    layer->enter_ready(th2);
    is_ready = true;
    return frame;
  }
  void close() {
    auto request = client.encode_request(Op::kClose, {});
    auto answer = envelope(MessageType::kRes, "session.close", request->id, {});
    EXPECT_EQ(close_of(testing::give(client, *layer->write(answer))), 1000);
  }
  Envelope envelope(MessageType type, std::string_view op, const Ulid& id,
                    base::json::Object payload) {
    return {.type = type,
            .id = id,
            .op = std::string(op),
            .time = wire_time(world.clock.now()),
            .nonce = random_nonce(world.random),
            .audience = is_ready ? std::string(session.text()) : "",
            .payload = std::move(payload)};
  }
  Frame frame(MessageType type, std::string_view op) {
    base::json::Object payload;
    if (type == MessageType::kErr) payload = {{"code", "E_BUSY"}, {"num", 5030}, {"msg", "busy"}};
    Envelope message = envelope(type, op, is_ready ? flight : step, std::move(payload));
    if (layer) return *layer->write(message);
    return {FrameKind::kText, *write_envelope(message)};
  }
  void check(ClientState state) const { EXPECT_EQ(name(client.state()), name(state)); }

  Options options;
  testing::World world;
  std::shared_ptr<const ServerContext> context;
  ServerHandshake handshake;
  ClientSession client;
  std::optional<MessageLayer> layer;
  Ulid step, flight, session = Ulid::make(world.clock.now(), world.random);
  bool is_ready = false;
};

// What a client does with an answer to its running tool.invoke (or to the step
// of the handshake); E_STATE where nothing is named.
std::string client_expectation(ClientState state, const std::string& type, const std::string& op) {
  switch (state) {
    case ClientState::kClosed:
    case ClientState::kFailed: return "dropped";
    case ClientState::kHelloSent:
      if (type == "err") return "E_BUSY";
      return type == "res" && op == "session.hello" ? "E_SHAPE" : "E_STATE";  // Without a payload.
    case ClientState::kAuthSent:
      if (type == "err") return "E_BUSY";
      return type == "res" && op == "session.auth" ? "E_SHAPE" : "E_STATE";
    case ClientState::kReady:
    case ClientState::kRekeying:
      if (type == "res" && op == "tool.invoke") return "answer";
      if (type == "err" && op == "tool.invoke") return "refused";
      if (type == "evt" && (op == "tool.progress" || op == "tool.chunk")) return "event";
      return "E_STATE";
    case ClientState::kIdle: return "E_STATE";
  }
  return "";
}

std::string what_happens(const ClientActions& actions) {
  if (const auto* failed = find<Failed>(actions)) {
    EXPECT_EQ(close_of(actions), close_code(failed->fault.code));
    return std::string(name(failed->fault.code));
  }
  if (find<Answer>(actions) != nullptr) return "answer";
  if (find<Refused>(actions) != nullptr) return "refused";
  if (find<Event>(actions) != nullptr) return "event";
  return actions.empty() ? "dropped" : "other";
}

TEST(ClientMatrixTest, every_message_in_every_state) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    for (auto state :
         {ClientState::kIdle, ClientState::kHelloSent, ClientState::kAuthSent, ClientState::kReady,
          ClientState::kRekeying, ClientState::kClosed, ClientState::kFailed}) {
      if (state == ClientState::kRekeying && !has_records(options.suites[0])) continue;
      for (const auto& type : kTypes) {
        for (const auto& op : kOps) {
          SCOPED_TRACE(std::string(name(state)) + " " + type + " " + op);
          RawServer server(options);
          server.reach(state);
          auto actions = testing::give(server.client, server.frame(type_of(type), op));
          EXPECT_EQ(what_happens(actions), client_expectation(state, type, op));
        }
      }
    }
  }
}

TEST(ClientTest, an_answer_to_no_request_of_its_own_ends_the_session) {
  for (auto type : {MessageType::kRes, MessageType::kErr, MessageType::kEvt}) {
    RawServer server;
    server.reach(ClientState::kReady);
    server.flight = Ulid::make(server.world.clock.now(), server.world.random);
    auto op = type == MessageType::kEvt ? "tool.progress" : "tool.invoke";
    EXPECT_EQ(what_happens(testing::give(server.client, server.frame(type, op))), "E_STATE");
  }
}

TEST(ClientTest, the_second_answer_of_a_request_ends_the_session) {
  RawServer server;
  server.reach(ClientState::kReady);
  EXPECT_EQ(
      what_happens(testing::give(server.client, server.frame(MessageType::kRes, "tool.invoke"))),
      "answer");
  EXPECT_EQ(
      what_happens(testing::give(server.client, server.frame(MessageType::kRes, "tool.invoke"))),
      "E_STATE");
}

TEST(ClientTest, events_are_counted) {
  for (std::int64_t wrong : {0, 2}) {
    RawServer server;
    server.reach(ClientState::kReady);
    Envelope event = server.envelope(MessageType::kEvt, "tool.progress", server.flight, {});
    EXPECT_EQ(what_happens(testing::give(server.client, *server.layer->write(event))), "event");
    event.sequence = wrong;
    EXPECT_EQ(what_happens(testing::give(server.client, *server.layer->write(event))), "E_STATE");
  }
}

// docs/wire-3.0.md, section 5.2.
TEST(ClientTest, each_request_has_its_kinds_of_events) {
  struct Row {
    Op request;
    std::string_view progress;
    std::string_view chunk;
  };
  for (auto [request, progress, chunk] :
       {Row{Op::kInvoke, "event", "event"}, Row{Op::kForward, "event", "event"},
        Row{Op::kFlowRun, "event", "E_STATE"}, Row{Op::kFlowCancel, "event", "E_STATE"},
        Row{Op::kForwardCaps, "E_STATE", "E_STATE"}, Row{Op::kCapList, "E_STATE", "E_STATE"}}) {
    for (auto [event, wanted] :
         {std::pair{Op::kProgress, progress}, std::pair{Op::kChunk, chunk}}) {
      SCOPED_TRACE(std::string(name(request)) + " " + std::string(name(event)));
      RawServer server;
      server.reach(ClientState::kReady);
      server.flight = server.client.encode_request(request, {})->id;
      auto actions = testing::give(server.client, server.frame(MessageType::kEvt, name(event)));
      EXPECT_EQ(what_happens(actions), wanted);
      if (const auto* one = find<Event>(actions)) EXPECT_EQ(one->sequence, 0);
    }
  }
}

TEST(ClientTest, a_message_for_another_session_or_time_is_refused) {
  for (const auto& options : {Options{}, testing::signed_options()}) {
    RawServer server(options);
    server.reach(ClientState::kReady);
    Envelope message = server.envelope(MessageType::kRes, "tool.invoke", server.flight, {});
    message.audience = Ulid::make(server.world.clock.now(), server.world.random).text();
    EXPECT_EQ(what_happens(testing::give(server.client, *server.layer->write(message))),
              "E_REPLAY");
  }
  for (auto [by, wanted] : {std::pair{60'000, "answer"},
                            {60'001, "E_STALE"},
                            {-60'000, "answer"},
                            {-60'001, "E_STALE"}}) {
    RawServer server(testing::signed_options());
    server.reach(ClientState::kReady);
    Envelope message = server.envelope(MessageType::kRes, "tool.invoke", server.flight, {});
    message.time += std::chrono::milliseconds(by);
    EXPECT_EQ(what_happens(testing::give(server.client, *server.layer->write(message))), wanted);
  }
}

}  // namespace
}  // namespace tool::session
