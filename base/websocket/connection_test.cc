#include "base/websocket/connection.h"

#include <gtest/gtest.h>

#include "base/websocket/fixture_test.h"

namespace base::ws {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using enum Opcode;

constexpr bool kMore = false;  // As the `final` of a frame.

TEST(ConnectionTest, echoes_text_and_binary) {
  TestServer server;
  RawPeer peer(server.port());
  peer.open();
  peer.send(masked(kText, "h\xC3\xA9llo"));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "h\xC3\xA9llo"}));
  peer.send(masked(kBinary, std::string("\0\xFF", 2)));
  EXPECT_EQ(peer.frame(), (Frame{kBinary, true, std::string("\0\xFF", 2)}));
}

TEST(ConnectionTest, takes_frames_that_came_with_the_handshake) {
  TestServer server;
  RawPeer peer(server.port());
  peer.open(masked(kText, "early") + masked(kText, "bird"));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "early"}));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "bird"}));
}

TEST(ConnectionTest, keeps_the_order_of_many_messages_of_all_sizes) {
  TestServer server({.accept = {.connection = {.message_bytes = 1 << 20}}});
  RawPeer peer(server.port());
  peer.open();
  for (std::size_t size : {0, 1, 125, 126, 4'096, 65'535, 65'536, 1 << 20}) {
    std::string bytes;
    for (char c : {'a', 'b', 'c'}) bytes += masked(kBinary, std::string(size, c));
    ASSERT_TRUE(peer.send(bytes));
    for (char c : {'a', 'b', 'c'}) {
      EXPECT_EQ(peer.frame(), (Frame{kBinary, true, std::string(size, c)})) << size;
    }
  }
  std::string burst;
  for (int i = 0; i < 1'000; ++i) burst += masked(kText, std::to_string(i));
  ASSERT_TRUE(peer.send(burst));
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(peer.frame(), (Frame{kText, true, std::to_string(i)}));
  }
}

TEST(ConnectionTest, answers_pings_also_inside_a_fragmented_message) {
  TestServer server;
  RawPeer peer(server.port());
  peer.open();
  peer.send(masked(kPing, "one"));
  EXPECT_EQ(peer.frame(), (Frame{kPong, true, "one"}));
  peer.send(masked(kText, "a", kMore) + masked(kPing, "two"));
  EXPECT_EQ(peer.frame(), (Frame{kPong, true, "two"}));
  peer.send(masked(kPong, "nobody asked") + masked(kContinuation, "b"));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "ab"}));
}

TEST(ConnectionTest, flood_of_pings_is_answered_by_the_last_pong) {
  TestServer server;
  RawPeer peer(server.port());
  peer.open();
  std::string flood;
  for (int i = 0; i < 100; ++i) flood += masked(kPing, std::to_string(i));
  peer.send(flood);
  int answers = 0;
  Frame last;
  do {
    last = peer.frame().value_or(Frame{.payload = "99"});
    ++answers;
  } while (last.payload != "99");
  EXPECT_EQ(last.opcode, kPong);
  EXPECT_LT(answers, 100);
}

TEST(ConnectionTest, violation_closes_with_its_code) {
  struct Case {
    const char* name;
    std::string bytes;
    std::uint16_t code;
    End end;
  };
  TestServer server;
  const Case cases[] = {
      {"5.1 unmasked", "\x81\x01x", 1002, End::kProtocolError},
      {"5.2 reserved bit", "\xC1", 1002, End::kProtocolError},
      {"5.2 unknown opcode", "\x83", 1002, End::kProtocolError},
      {"5.4 interleaved", masked(kText, "a", kMore) + masked(kText, "b"), 1002,
       End::kProtocolError},
      {"5.5 long ping", "\x89\xFE", 1002, End::kProtocolError},
      {"7.4 close code", masked(kClose, close_payload(1005, "")), 1002, End::kProtocolError},
      {"8.1 UTF-8", masked(kText, "\xFF"), 1007, End::kProtocolError},
      {"10.4 size", masked(kText, std::string(16 * 1024 + 1, 'x')), 1009, End::kTooLarge},
  };
  std::size_t i = 0;
  for (const Case& c : cases) {
    RawPeer peer(server.port());
    peer.open(c.bytes);
    auto close = peer.frame();
    ASSERT_TRUE(close && close->opcode == kClose) << c.name;
    EXPECT_EQ(parse_close(close->payload)->code, c.code) << c.name;
    EXPECT_TRUE(peer.at_end()) << c.name;
    auto ended = server.ends.at(i++);
    EXPECT_EQ(ended.closure.end, c.end) << c.name;
    EXPECT_EQ(ended.kind, c.end == End::kTooLarge ? ErrorKind::kTooLarge : ErrorKind::kInvalid);
  }
}

TEST(ConnectionTest, oversize_is_refused_before_its_body_with_the_callers_code) {
  TestServer server({.accept = {.connection = {.message_bytes = 100, .too_large_code = 4413}}});
  RawPeer peer(server.port());
  peer.open();
  std::string fits = masked(kText, std::string(100, 'x'));
  peer.send(fits);
  EXPECT_EQ(peer.frame()->payload.size(), 100u);
  peer.send(masked(kText, std::string(101, 'x')).substr(0, 6));  // The header alone.
  auto close = peer.frame();
  ASSERT_TRUE(close.has_value());
  EXPECT_EQ(parse_close(close->payload)->code, 4413);
  EXPECT_TRUE(peer.at_end());
  EXPECT_EQ(server.ends.at(0).reason, "too_large");
}

TEST(ConnectionTest, too_many_fragments_are_too_large) {
  TestServer server({.accept = {.connection = {.fragments = 4}}});
  RawPeer peer(server.port());
  peer.open(masked(kText, "1", kMore));
  for (int i = 0; i < 4; ++i) peer.send(masked(kContinuation, "", kMore));
  EXPECT_EQ(parse_close(peer.frame()->payload)->code, kCloseTooLarge);
  EXPECT_EQ(server.ends.at(0).closure.end, End::kTooLarge);
}

Task<void> raise_the_limit(std::unique_ptr<Connection> connection) {
  auto first = co_await connection->receive();
  connection->set_message_limit(1'000, 4413);
  auto second = co_await connection->receive();
  (void)connection->send({Message::Kind::kText, second ? "taken" : "refused"});
  (void)co_await connection->receive();
}

TEST(ConnectionTest, limit_can_be_raised_after_a_message) {
  TestServer server({.accept = {.connection = {.message_bytes = 10}}}, raise_the_limit);
  RawPeer peer(server.port());
  peer.open(masked(kText, "hello") + masked(kText, std::string(1'000, 'x')));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "taken"}));
  peer.send(masked(kText, std::string(1'001, 'x')));
  EXPECT_EQ(parse_close(peer.frame()->payload)->code, 4413);
}

// ---- The close handshake: section 7 ----

TEST(ConnectionTest, confirms_the_peers_close_with_its_code) {
  struct Case {
    std::string payload;
    std::string answer;
    std::uint16_t code;
    std::string reason;
  };
  TestServer server;
  std::size_t i = 0;
  for (const Case& c :
       {Case{close_payload(1000, "bye"), close_payload(1000, ""), 1000, "bye"},
        Case{close_payload(4999, ""), close_payload(4999, ""), 4999, ""}, Case{"", "", 1005, ""}}) {
    RawPeer peer(server.port());
    peer.open(masked(kText, "before"));
    EXPECT_EQ(peer.frame()->payload, "before");
    peer.send(masked(kClose, c.payload) + masked(kText, "after"));
    EXPECT_EQ(peer.frame(), (Frame{kClose, true, c.answer}));
    EXPECT_TRUE(peer.at_end());
    auto ended = server.ends.at(i++);
    EXPECT_EQ(ended.closure.end, End::kClosedByPeer);
    EXPECT_EQ(ended.closure.code, c.code);
    EXPECT_EQ(ended.closure.reason, c.reason);
    EXPECT_EQ(ended.kind, ErrorKind::kCancelled);
    EXPECT_EQ(ended.reason, "closed");
  }
}

// Says farewell after the first message and notes what receive() tells then.
Task<void> farewell(Ends* ends, std::unique_ptr<Connection> connection) {
  auto first = co_await connection->receive();
  EXPECT_TRUE(connection->send({Message::Kind::kText, "last"}));
  connection->close(4401, "who are you");
  connection->close(4500, "a second reason does not count");
  auto refused = connection->send({Message::Kind::kText, "too late"});
  EXPECT_EQ(refused.error().kind(), ErrorKind::kUnavailable);
  auto end = co_await connection->receive();
  ends->add(end, connection->closure());
}

TEST(ConnectionTest, own_close_follows_what_was_queued_and_waits_for_the_answer) {
  Ends ends;
  TestServer server({}, [&](auto connection) { return farewell(&ends, std::move(connection)); });
  RawPeer peer(server.port());
  peer.open(masked(kText, "x"));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "last"}));
  EXPECT_EQ(peer.frame(), close_frame(4401, "who are you"));
  peer.send(masked(kText, "dropped") + masked(kPing, "unanswered") +
            masked(kClose, close_payload(4401, "")));
  EXPECT_TRUE(peer.at_end());
  EXPECT_EQ(ends.at(0).closure.end, End::kClosedHere);
  EXPECT_EQ(ends.at(0).closure.code, 4401);
  EXPECT_EQ(ends.at(0).reason, "closed_here");
  peer.close();
  server.wait_for_connections(0);
}

TEST(ConnectionTest, close_that_is_not_answered_ends_at_its_time) {
  Ends ends;
  TestServer server({.accept = {.connection = {.close_time = milliseconds(50)}}},
                    [&](auto connection) { return farewell(&ends, std::move(connection)); });
  RawPeer peer(server.port());
  peer.open(masked(kText, "x"));
  EXPECT_EQ(ends.at(0).closure.end, End::kClosedHere);
  server.wait_for_connections(0);  // Though the peer is still there.
}

Task<void> drop_at_once(std::unique_ptr<Connection>) { co_return; }

TEST(ConnectionTest, dropped_connection_is_closed_as_normal) {
  TestServer server({}, drop_at_once);
  RawPeer peer(server.port());
  peer.open();
  EXPECT_EQ(peer.frame(), close_frame(1000));
  peer.send(masked(kClose, close_payload(1000, "")));
  EXPECT_TRUE(peer.at_end());
}

Task<void> close_with(std::uint16_t code, std::string reason,
                      std::unique_ptr<Connection> connection) {
  connection->close(code, reason);
  co_return;
}

TEST(ConnectionTest, sends_only_codes_and_reasons_that_may_be_sent) {
  for (std::uint16_t code : {0, 999, 1005, 1006, 1015, 5000}) {
    TestServer server({}, [&](auto connection) {
      return close_with(code, std::string(200, 'r'), std::move(connection));
    });
    RawPeer peer(server.port());
    peer.open();
    EXPECT_EQ(peer.frame(), close_frame(1000, std::string(123, 'r'))) << code;
  }
}

TEST(ConnectionTest, lost_peer_is_no_orderly_close) {
  TestServer server;
  {
    RawPeer peer(server.port());
    peer.open(masked(kText, "x"));
    (void)peer.frame();
    peer.reset();
  }
  EXPECT_EQ(server.ends.at(0).closure.end, End::kLost);
  EXPECT_EQ(server.ends.at(0).closure.code, kCloseAbnormal);
  EXPECT_EQ(server.ends.at(0).kind, ErrorKind::kUnavailable);
  RawPeer half(server.port());
  half.open(masked(kText, "unfinished", kMore));
  half.half_close();
  EXPECT_TRUE(half.at_end());
  EXPECT_EQ(server.ends.at(1).closure.end, End::kLost);
}

}  // namespace
}  // namespace base::ws
