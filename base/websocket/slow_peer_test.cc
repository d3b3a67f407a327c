// Peers that are silent, slow, or do not read.

#include <gtest/gtest.h>

#include "base/websocket/fixture_test.h"

namespace base::ws {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using enum Opcode;

TEST(SlowPeerTest, silent_peer_is_pinged_then_closed) {
  TestServer server({.accept = {.connection = {.ping = milliseconds(30),
                                               .idle = milliseconds(120),
                                               .idle_code = 4408,
                                               .close_time = milliseconds(50)}}});
  RawPeer peer(server.port());
  peer.open();
  EXPECT_EQ(peer.frame(), (Frame{kPing, true, ""}));
  auto close = peer.frame();
  while (close && close->opcode == kPing) close = peer.frame();
  ASSERT_TRUE(close && close->opcode == kClose);
  EXPECT_EQ(parse_close(close->payload)->code, 4408);
  auto ended = server.ends.at(0);
  EXPECT_EQ(ended.closure.end, End::kIdle);
  EXPECT_EQ(ended.kind, ErrorKind::kTimeout);
  EXPECT_EQ(ended.reason, "idle");
  server.wait_for_connections(0);
}

TEST(SlowPeerTest, peer_that_answers_pings_stays) {
  TestServer server(
      {.accept = {.connection = {.ping = milliseconds(10), .idle = milliseconds(2'000)}}});
  RawPeer peer(server.port());
  peer.open();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(peer.frame(), (Frame{kPing, true, ""}));
    peer.send(masked(kPong, ""));
  }
  peer.send(masked(kText, "still here"));
  while (auto frame = peer.frame()) {
    if (frame->opcode != kPing) {
      EXPECT_EQ(frame->payload, "still here");
      break;
    }
  }
  EXPECT_EQ(server.ends.count(), 0u);
}

// Sends until it is refused.
Task<void> flood(Ends* ends, std::unique_ptr<Connection> connection) {
  Status sent;
  while (sent) sent = connection->send({Message::Kind::kBinary, std::string(50'000, 'x')});
  EXPECT_EQ(sent.error().kind(), ErrorKind::kTooLarge);
  EXPECT_EQ(sent.error().reason(), "slow_consumer");
  auto end = co_await connection->receive();
  ends->add(end, connection->closure());
  auto drained = co_await connection->drained();
  EXPECT_FALSE(drained.has_value());
}

TEST(SlowPeerTest, queue_of_a_peer_that_does_not_read_is_bounded) {
  Ends ends;
  TestServer server({.accept = {.connection = {.send_queue_bytes = 1'000'000}}},
                    [&](auto connection) { return flood(&ends, std::move(connection)); });
  RawPeer peer(server.port(), 4'096);
  peer.open();
  EXPECT_EQ(ends.at(0).closure.end, End::kSlowConsumer);
  EXPECT_EQ(ends.at(0).kind, ErrorKind::kTimeout);
  server.wait_for_connections(0);
}

// More than the system's buffers take, and less than the queue's bound.
constexpr std::size_t kMuch = 16 << 20;

Task<void> send_much(Ends* ends, std::unique_ptr<Connection> connection) {
  for (int i = 0; i < 16; ++i) {
    EXPECT_TRUE(connection->send({Message::Kind::kBinary, std::string(kMuch / 16, 'x')}));
  }
  auto drained = co_await connection->drained();
  EXPECT_EQ(connection->queued(), 0u);
  auto end = co_await connection->receive();
  ends->add(end, connection->closure());
  EXPECT_EQ(drained.has_value(), connection->closure().end == End::kClosedByPeer);
}

TEST(SlowPeerTest, peer_that_takes_nothing_for_too_long_is_cut) {
  Ends ends;
  TestServer server(
      {.accept = {.connection = {.send_queue_bytes = 2 * kMuch, .write_time = milliseconds(100)}}},
      [&](auto connection) { return send_much(&ends, std::move(connection)); });
  RawPeer peer(server.port(), 4'096);
  peer.open();
  EXPECT_EQ(ends.at(0).closure.end, End::kSlowConsumer);
}

TEST(SlowPeerTest, drained_waits_until_the_peer_has_read) {
  Ends ends;
  TestServer server({.accept = {.connection = {.send_queue_bytes = 2 * kMuch}}},
                    [&](auto connection) { return send_much(&ends, std::move(connection)); });
  RawPeer peer(server.port());
  peer.open();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(peer.frame()->payload.size(), kMuch / 16);
  peer.send(masked(kClose, ""));
  EXPECT_EQ(peer.frame(), (Frame{kClose, true, ""}));
  EXPECT_EQ(ends.at(0).closure.end, End::kClosedByPeer);
}

Task<void> send_bad(std::unique_ptr<Connection> connection) {
  auto not_text = connection->send({Message::Kind::kText, "\xFF"});
  EXPECT_EQ(not_text.error().kind(), ErrorKind::kInvalid);
  auto too_large = connection->send({Message::Kind::kBinary, std::string(1'001, 'x')});
  EXPECT_EQ(too_large.error().kind(), ErrorKind::kTooLarge);
  EXPECT_EQ(too_large.error().reason(), "message");
  EXPECT_TRUE(connection->send({Message::Kind::kBinary, "\xFF"}));
  auto drained = co_await connection->drained();
  EXPECT_TRUE(drained.has_value());
}

TEST(SlowPeerTest, message_that_cannot_be_sent_disconnects_nobody) {
  TestServer server({.accept = {.connection = {.send_queue_bytes = 1'000}}}, send_bad);
  RawPeer peer(server.port());
  peer.open();
  EXPECT_EQ(peer.frame(), (Frame{kBinary, true, "\xFF"}));
  EXPECT_EQ(peer.frame(), close_frame(1000));
}

Task<void> abort_at_once(std::unique_ptr<Connection> connection) {
  connection->abort();
  auto end = co_await connection->receive();
  EXPECT_EQ(end.error().reason(), "closed_here");
}

TEST(SlowPeerTest, abort_sends_no_close_frame) {
  TestServer server({}, abort_at_once);
  RawPeer peer(server.port());
  peer.open();
  EXPECT_FALSE(peer.frame().has_value());
  server.wait_for_connections(0);
}

}  // namespace
}  // namespace base::ws
