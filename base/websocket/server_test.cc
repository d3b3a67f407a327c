// A WebSocket shares port, limits and end with the HTTP server it came by.

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/websocket/fixture_test.h"

namespace base::ws {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using enum Opcode;

constexpr const char* kPlainGet = "GET /plain HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(ServerTest, upgrade_follows_plain_requests_on_one_connection) {
  TestServer server;
  RawPeer peer(server.port());
  peer.send(std::string(kPlainGet) + kHandshake + masked(kText, "x"));
  EXPECT_TRUE(peer.head().starts_with("HTTP/1.1 200 "));
  std::string switched = peer.head();  // After the body of the first answer.
  EXPECT_TRUE(switched.starts_with("plainHTTP/1.1 101 ")) << switched;
  EXPECT_NE(switched.find("\r\nConnection: Upgrade\r\n"), std::string::npos);
  EXPECT_NE(switched.find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
            std::string::npos);
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "x"}));
}

TEST(ServerTest, refused_upgrade_leaves_an_http_connection) {
  TestServer server({.accept = {.subprotocol = "needed"}});
  RawPeer peer(server.port());
  peer.send(kHandshake);
  EXPECT_TRUE(peer.head().starts_with("HTTP/1.1 400 "));
  peer.send(kPlainGet);
  EXPECT_NE(peer.head().find("HTTP/1.1 200 "), std::string::npos);
}

TEST(ServerTest, http_1_0_is_not_upgraded) {
  TestServer server;
  RawPeer peer(server.port());
  std::string old = kHandshake;
  old.replace(old.find("HTTP/1.1"), 8, "HTTP/1.0");
  peer.send(old);
  EXPECT_TRUE(peer.head().starts_with("HTTP/1.1 400 "));
}

TEST(ServerTest, upgraded_connections_count) {
  TestServer server({.limits = {.admission = {.connections = 2}}});
  RawPeer first(server.port());
  RawPeer second(server.port());
  first.open();
  second.open();
  server.wait_for_connections(2);
  RawPeer third(server.port());
  EXPECT_TRUE(third.head().starts_with("HTTP/1.1 503 "));
  third.close();
  first.send(masked(kClose, ""));
  (void)first.frame();
  first.close();
  server.wait_for_connections(1);
  RawPeer fourth(server.port());
  fourth.open(masked(kText, "x"));
  EXPECT_EQ(fourth.frame()->payload, "x");
}

TEST(ServerTest, upgraded_connection_outlives_the_times_of_http) {
  TestServer server({.limits = {.idle = milliseconds(20),
                                .header_time = milliseconds(20),
                                .body_time = milliseconds(20),
                                .write_time = milliseconds(20),
                                .request_time = milliseconds(20)}});
  RawPeer peer(server.port());
  peer.open();
  std::this_thread::sleep_for(milliseconds(150));
  peer.send(masked(kText, "x"));
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "x"}));
}

TEST(ServerTest, abandoned_handshake_ends_with_the_time_for_a_head) {
  TestServer server({.limits = {.header_time = milliseconds(50)}});
  RawPeer peer(server.port());
  peer.send(std::string_view(kHandshake).substr(0, 80));
  EXPECT_TRUE(peer.head().starts_with("HTTP/1.1 408 "));
  peer.close();
  server.wait_for_connections(0);
}

TEST(ServerTest, shutdown_closes_orderly_within_its_grace) {
  TestServer server({.workers = 2});
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(std::make_unique<RawPeer>(server.port()));
    peers.back()->open();
  }
  std::jthread stopping([&] { server.server().shutdown(std::chrono::seconds(20)); });
  for (auto& peer : peers) {
    auto close = peer->frame();
    ASSERT_TRUE(close && close->opcode == kClose);
    EXPECT_EQ(parse_close(close->payload)->code, kCloseGoingAway);
    peer->send(masked(kClose, close_payload(kCloseGoingAway, "")));
    EXPECT_TRUE(peer->at_end());
    peer->close();
  }
  stopping.join();
  EXPECT_EQ(server.server().connections(), 0u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(server.ends.at(i).closure.end, End::kClosedHere);
}

// Ends in its own way when the server stops, after a last message.
Task<void> drains_itself(std::unique_ptr<Connection> connection) {
  Connection* raw = connection.get();
  connection->on_drain([raw] {
    (void)raw->send({Message::Kind::kText, "draining"});
    raw->close(4503, "draining");
  });
  (void)co_await connection->receive();
}

TEST(ServerTest, session_may_drain_in_its_own_way) {
  TestServer server({}, drains_itself);
  RawPeer peer(server.port());
  peer.open();
  std::jthread stopping([&] { server.server().shutdown(std::chrono::seconds(20)); });
  EXPECT_EQ(peer.frame(), (Frame{kText, true, "draining"}));
  EXPECT_EQ(peer.frame(), close_frame(4503, "draining"));
  peer.close();
}

// Does not look at its connection for an hour.
Task<void> sleeps(std::atomic<int>* state, std::unique_ptr<Connection>) {
  struct Notes {
    std::atomic<int>* state;
    ~Notes() { *state = 2; }
  } notes{state};
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(std::chrono::hours(1));
  *state = 1;
  co_await timer.async_wait(boost::asio::use_awaitable);
}

TEST(ServerTest, session_that_goes_on_is_cancelled_after_the_grace) {
  std::atomic<int> state = 0;
  TestServer server({}, [&](auto connection) { return sleeps(&state, std::move(connection)); });
  RawPeer peer(server.port());
  peer.open();
  while (state == 0) std::this_thread::yield();
  server.server().shutdown(milliseconds(30));
  EXPECT_EQ(state, 2);
  EXPECT_EQ(server.server().connections(), 0u);
}

Task<void> throws(std::unique_ptr<Connection>) {
  co_await boost::asio::this_coro::executor;
  throw std::runtime_error("a defect");
}

TEST(ServerTest, session_that_throws_ends_its_connection_alone) {
  TestServer server({}, throws);
  RawPeer peer(server.port());
  peer.open();
  EXPECT_FALSE(peer.frame().has_value());
  peer.close();
  server.wait_for_connections(0);
  RawPeer next(server.port());
  next.send(kPlainGet);
  EXPECT_TRUE(next.head().starts_with("HTTP/1.1 200 "));
}

// Keeps its connection beyond its own end.
Task<void> gives_away(std::unique_ptr<Connection>* kept, std::unique_ptr<Connection> connection) {
  *kept = std::move(connection);
  co_return;
}

TEST(ServerTest, connection_that_outlives_its_session_is_closed_and_harmless) {
  std::unique_ptr<Connection> kept;
  {
    TestServer server({},
                      [&](auto connection) { return gives_away(&kept, std::move(connection)); });
    RawPeer peer(server.port());
    peer.open();
    EXPECT_EQ(peer.frame(), close_frame(1000));
    peer.send(masked(kClose, ""));
    EXPECT_TRUE(peer.at_end());
    peer.close();
    server.wait_for_connections(0);
    auto sent = kept->send({Message::Kind::kText, "x"});
    EXPECT_EQ(sent.error().kind(), ErrorKind::kUnavailable);
    EXPECT_EQ(kept->peer(), "127.0.0.1");
    EXPECT_EQ(kept->tls_exporter("EXPORTER-Channel-Binding", 32).error().kind(),
              ErrorKind::kUnsupported);
    kept.reset();
  }
}

}  // namespace
}  // namespace base::ws
