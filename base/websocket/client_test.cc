#include "base/websocket/client.h"

#include <gtest/gtest.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/testing/scripted_server.h"
#include "base/websocket/fixture_test.h"
#include "base/websocket/handshake.h"

namespace base::ws {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using base::testing::Act;
using base::testing::ScriptedServer;

// Gives always the same bytes, so that a script knows the key.
class ConstantRandom final : public Random {
 public:
  void fill(std::span<std::byte> out) override {
    for (std::byte& b : out) b = std::byte(0);
  }
};
constexpr const char* kConstantKey = "AAAAAAAAAAAAAAAAAAAAAA==";

Task<Result<std::unique_ptr<Connection>>> connect_to(std::string url) {
  return connect({}, {.url = std::move(url)});
}

// ---- Client and server of this folder ----

// Keeps `window` messages on their way and checks each echo.
Task<Status> exchange(std::string url, std::size_t count, std::size_t window) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await connect_to(std::move(url)));
  auto text = [](std::size_t i) {
    return std::string(i * 7 % 3'000, static_cast<char>('a' + i % 26));
  };
  std::size_t sent = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (; sent < count && sent < i + window; ++sent) {
      CO_RETURN_IF_ERROR(connection->send({Message::Kind(sent % 2), text(sent)}));
    }
    CO_ASSIGN_OR_RETURN(Message message, co_await connection->receive());
    EXPECT_EQ(message.kind, Message::Kind(i % 2));
    EXPECT_EQ(message.data, text(i));
  }
  connection->close(4000, "done");
  auto end = co_await connection->receive();
  EXPECT_EQ(end.error().reason(), "closed_here");
  co_return Status{};
}

TEST(ClientTest, exchanges_many_messages) {
  TestServer server;
  EXPECT_TRUE(run(exchange(server.url(), 500, 1)).has_value());
  EXPECT_TRUE(run(exchange(server.url(), 5'000, 100)).has_value());
  for (std::size_t i : {0, 1}) {
    EXPECT_EQ(server.ends.at(i).closure.end, End::kClosedByPeer);
    EXPECT_EQ(server.ends.at(i).closure.code, 4000);
    EXPECT_EQ(server.ends.at(i).closure.reason, "done");
  }
  server.wait_for_connections(0);
}

Task<Status> several(std::string url) {
  std::vector<std::unique_ptr<Connection>> all;
  for (int i = 0; i < 50; ++i) {
    CO_ASSIGN_OR_RETURN(auto connection, co_await connect_to(url));
    CO_RETURN_IF_ERROR(connection->send({Message::Kind::kText, std::to_string(i)}));
    all.push_back(std::move(connection));
  }
  for (int i = 0; i < 50; ++i) {
    CO_ASSIGN_OR_RETURN(Message message, co_await all[std::size_t(i)]->receive());
    EXPECT_EQ(message.data, std::to_string(i));
  }
  co_return Status{};
}

TEST(ClientTest, dropped_connections_close_as_normal) {
  TestServer server({.workers = 2});
  EXPECT_TRUE(run(several(server.url())).has_value());
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(server.ends.at(i).closure.end, End::kClosedByPeer);
    EXPECT_EQ(server.ends.at(i).closure.code, kCloseNormal);
  }
}

Task<Status> facts(std::string url) {
  ConnectOptions options{.url = url, .subprotocol = "scp.v3.json"};
  CO_ASSIGN_OR_RETURN(auto connection, co_await connect({}, options));
  EXPECT_EQ(connection->peer(), "127.0.0.1");
  EXPECT_EQ(connection->subprotocol(), "scp.v3.json");
  EXPECT_FALSE(connection->encrypted());
  EXPECT_EQ(connection->closure().end, End::kOpen);
  EXPECT_FALSE(connection->peer_certificate().has_value());
  auto exporter = connection->tls_exporter("EXPORTER-Channel-Binding", 32);
  EXPECT_EQ(exporter.error().kind(), ErrorKind::kUnsupported);
  co_return Status{};
}

TEST(ClientTest, knows_its_connection) {
  TestServer server({.accept = {.subprotocol = "scp.v3.json"}});
  EXPECT_TRUE(run(facts(server.url())).has_value());
}

Task<Result<Message>> first_message(ConnectOptions options) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await connect({}, options));
  co_return co_await connection->receive();
}

Task<void> send_large(std::unique_ptr<Connection> connection) {
  EXPECT_TRUE(connection->send({Message::Kind::kBinary, std::string(100'001, 'x')}));
  auto end = co_await connection->receive();
}

TEST(ClientTest, bounds_what_the_server_sends) {
  TestServer server({}, send_large);
  auto fits = run(first_message({.url = server.url(), .connection = {.message_bytes = 100'001}}));
  EXPECT_TRUE(fits.has_value());
  auto large = run(first_message({.url = server.url(), .connection = {.message_bytes = 100'000}}));
  EXPECT_EQ(large.error().reason(), "too_large");
}

TEST(ClientTest, loop_that_ends_early_takes_its_connections_along) {
  TestServer server;
  {
    boost::asio::io_context loop;
    boost::asio::co_spawn(loop, first_message({.url = server.url()}),
                          [](std::exception_ptr, auto) { FAIL() << "nothing was sent"; });
    while (server.server().connections() == 0) loop.run_for(milliseconds(5));
    loop.run_for(milliseconds(20));
  }
  server.wait_for_connections(0);
}

// ---- Refusals ----

ErrorKind kind_of(ConnectOptions options, RequestContext context = {}) {
  auto connection = run(connect(context, std::move(options)));
  EXPECT_FALSE(connection.has_value());
  return connection ? ErrorKind::kInternal : connection.error().kind();
}

TEST(ClientTest, refuses_what_it_cannot_send) {
  for (const char* url : {"", "http://localhost/", "ws:/localhost", "ws://", "ws:///path",
                          "ws://a b/", "ws://a:0/", "ws://a:70000/", "ws://a/#fragment",
                          "ws://a/with space", "ws://user@a/", "WS://a/", "ws://a/\r\nX: y"}) {
    EXPECT_EQ(kind_of({.url = url}), ErrorKind::kInvalid) << url;
  }
  for (const char* name : {"Upgrade", "Connection", "Sec-WebSocket-Key", "sec-websocket-x",
                           "Bad Name", "Transfer-Encoding"}) {
    ConnectOptions options{.url = "ws://localhost/"};
    options.headers.add(name, "x");
    EXPECT_EQ(kind_of(options), ErrorKind::kInvalid) << name;
  }
  ConnectOptions splitting{.url = "ws://localhost/"};
  splitting.headers.add("X", "a\r\nB: c");
  EXPECT_EQ(kind_of(splitting), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of({.url = "ws://localhost/", .subprotocol = "a, b"}), ErrorKind::kInvalid);
}

TEST(ClientTest, tells_why_a_server_refused) {
  TestServer server({.accept = {.subprotocol = "known"}});
  EXPECT_EQ(kind_of({.url = server.url()}), ErrorKind::kUnsupported);
  EXPECT_EQ(kind_of({.url = server.url(), .subprotocol = "other"}), ErrorKind::kUnsupported);
  std::string elsewhere = fmt::format("ws://127.0.0.1:{}?x=y", server.port());
  EXPECT_EQ(kind_of({.url = elsewhere, .subprotocol = "known"}), ErrorKind::kUnsupported);
  ConnectOptions foreign{.url = server.url(), .subprotocol = "known"};
  foreign.headers.add("Origin", "https://evil.example");
  EXPECT_EQ(kind_of(foreign), ErrorKind::kForbidden);
  std::uint16_t port = server.port();
  server.server().shutdown(milliseconds(0));
  EXPECT_EQ(kind_of({.url = fmt::format("ws://127.0.0.1:{}/", port)}), ErrorKind::kUnavailable);
}

// What connect() says to a server that plays `act`.
Status connect_to_script(Act act, ConnectOptions options = {}) {
  boost::asio::io_context loop;
  ScriptedServer server(loop, {{std::move(act)}});
  ConstantRandom random;
  options.url = fmt::format("ws://127.0.0.1:{}/", server.port());
  options.random = &random;
  Status status = fail(ErrorKind::kInternal, "connect() has not come back");
  boost::asio::co_spawn(loop, connect({}, options), [&](std::exception_ptr error, auto connected) {
    EXPECT_FALSE(error);
    status = connected ? Status() : Status(std::move(connected).error());
    if (connected) (*connected)->abort();
    server.close();
  });
  loop.run_for(std::chrono::seconds(30));
  return status;
}

std::string switching(std::string_view fields) {
  return fmt::format("HTTP/1.1 101 Switching Protocols\r\n{}\r\n", fields);
}

std::string good_fields() {
  return fmt::format("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
                     accept_for(kConstantKey));
}

TEST(ClientTest, checks_every_part_of_the_answer) {
  EXPECT_TRUE(connect_to_script({.answer = switching(good_fields())}).has_value());
  struct Case {
    const char* name;
    std::string answer;
    ErrorKind kind;
  };
  using enum ErrorKind;
  std::string accept = "Sec-WebSocket-Accept: " + accept_for(kConstantKey) + "\r\n";
  for (const Case& c : {
           Case{"no Upgrade", switching("Connection: Upgrade\r\n" + accept), kUnsupported},
           Case{"no Connection", switching("Upgrade: websocket\r\n" + accept), kUnsupported},
           Case{"no accept", switching("Upgrade: websocket\r\nConnection: Upgrade\r\n"),
                kUnsupported},
           Case{"wrong accept",
                switching("Upgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
                kUnsupported},
           Case{"accept twice", switching(good_fields() + accept), kUnsupported},
           Case{"extension not offered",
                switching(good_fields() + "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
                kUnsupported},
           Case{"sub-protocol not offered",
                switching(good_fields() + "Sec-WebSocket-Protocol: x\r\n"), kUnsupported},
           Case{"200", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", kUnsupported},
           Case{"302", "HTTP/1.1 302 x\r\nLocation: ws://localhost/\r\n\r\n", kUnsupported},
           Case{"401", "HTTP/1.1 401 x\r\n\r\n", kForbidden},
           Case{"403", "HTTP/1.1 403 x\r\n\r\n", kForbidden},
           Case{"503", "HTTP/1.1 503 x\r\n\r\n", kUnavailable},
           Case{"not HTTP", "220 mail.example ESMTP\r\n\r\n", kUnsupported},
           Case{"endless head", "HTTP/1.1 101 x\r\nA: " + std::string(20'000, 'x'), kTooLarge},
       }) {
    auto connection = connect_to_script({.answer = c.answer});
    ASSERT_FALSE(connection.has_value()) << c.name;
    EXPECT_EQ(connection.error().kind(), c.kind) << c.name;
  }
}

TEST(ClientTest, server_that_hangs_or_leaves_is_told_apart) {
  ConnectOptions hasty{.connect_time = milliseconds(100)};
  EXPECT_EQ(connect_to_script({.then = Act::kHang}, hasty).error().kind(), ErrorKind::kTimeout);
  EXPECT_EQ(
      connect_to_script({.answer = "HTTP/1.1 101 x\r\n", .then = Act::kHang}, hasty).error().kind(),
      ErrorKind::kTimeout);
  EXPECT_EQ(connect_to_script({.then = Act::kClose}).error().kind(), ErrorKind::kUnavailable);
}

TEST(ClientTest, deadline_of_the_context_counts) {
  TestServer server;
  RequestContext late{.deadline = std::chrono::steady_clock::now() - milliseconds(1)};
  EXPECT_EQ(kind_of({.url = server.url()}, late), ErrorKind::kTimeout);
}

Task<bool> gives_up(std::string url) {
  using namespace boost::asio::experimental::awaitable_operators;
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(milliseconds(50));
  auto first =
      co_await (connect_to(std::move(url)) || timer.async_wait(boost::asio::use_awaitable));
  co_return first.index() == 1;
}

TEST(ClientTest, can_be_cancelled_while_it_connects) {
  int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(silent, 1), 0);
  socklen_t size = sizeof at;
  ::getsockname(silent, reinterpret_cast<sockaddr*>(&at), &size);
  EXPECT_TRUE(run(gives_up(fmt::format("ws://127.0.0.1:{}/", ntohs(at.sin_port)))));
  ::close(silent);
}

// ---- What a server may not do ----

TEST(ClientTest, violation_of_the_server_ends_the_connection) {
  struct Case {
    const char* name;
    std::string bytes;
    std::string_view reason;
  };
  for (const Case& c :
       {Case{"masked", masked(Opcode::kText, "x"), "protocol"},
        Case{"reserved bit", "\xC1\x01x", "protocol"},
        Case{"not UTF-8", "\x81\x01\xFF", "protocol"},
        Case{"end without a close frame", "", "lost"}, Case{"half a frame", "\x81\x05he", "lost"},
        Case{"close", std::string("\x88\x00", 2), "closed"}}) {
    boost::asio::io_context loop;
    ScriptedServer server(loop,
                          {{{.answer = switching(good_fields()) + c.bytes, .then = Act::kClose}}});
    ConstantRandom random;
    ConnectOptions options{.url = fmt::format("ws://127.0.0.1:{}/", server.port()),
                           .random = &random};
    std::optional<Result<Message>> result;
    boost::asio::co_spawn(loop, first_message(options), [&](std::exception_ptr, auto value) {
      result.emplace(std::move(value));
      server.close();
    });
    loop.run_for(std::chrono::seconds(30));
    ASSERT_TRUE(result && !*result) << c.name;
    EXPECT_EQ(result->error().reason(), c.reason) << c.name;
  }
}

}  // namespace
}  // namespace base::ws
