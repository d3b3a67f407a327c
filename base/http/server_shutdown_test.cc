#include "base/http/server.h"
#include "base/http/server_fixture_test.h"

namespace base::http {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using std::chrono::steady_clock;

constexpr milliseconds kLong{20'000};
// Enough for anything but waiting out kLong.
constexpr milliseconds kSoon{4'000};

TEST(ServerShutdownTest, closes_idle_connections_at_once_and_stops_listening) {
  TestServer server;
  RawClient fresh(server.port());
  RawClient used(server.port());
  EXPECT_EQ(used.ask(get("/")).status, 200u);
  server.wait_for_connections(2);
  auto start = steady_clock::now();
  server.server().shutdown(kLong);
  EXPECT_LT(steady_clock::now() - start, kSoon);
  EXPECT_EQ(fresh.end(), End::kClosed);
  EXPECT_EQ(used.end(), End::kClosed);
  EXPECT_EQ(server.server().connections(), 0u);
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(server.port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_NE(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  ::close(fd);
}

TEST(ServerShutdownTest, finishes_what_is_in_flight_and_says_close) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/hold") + get("/next"));
  server.wait_for_holding(1);
  RawClient idle(server.port());
  server.wait_for_connections(2);
  std::jthread stopping([&] { server.server().shutdown(kLong); });
  EXPECT_EQ(idle.end(), End::kClosed);  // The shutdown has begun.
  server.seen.released = true;
  Answer answer = client.read();
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_EQ(client.end(), End::kClosed);
  client.close();
  EXPECT_EQ(server.seen.requests, 1);
}

TEST(ServerShutdownTest, finishes_a_request_that_is_still_arriving) {
  TestServer server;
  RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read().status, 100u);
  RawClient idle(server.port());
  server.wait_for_connections(2);
  std::jthread stopping([&] { server.server().shutdown(kLong); });
  EXPECT_EQ(idle.end(), End::kClosed);
  Answer answer = client.ask("abc");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.field("Connection"), "close");
  client.close();
}

TEST(ServerShutdownTest, cancels_what_is_left_after_the_grace) {
  TestServer server;
  RawClient held(server.port());
  held.send(get("/hold"));
  server.wait_for_holding(1);
  RawClient unfinished(server.port());
  unfinished.send("GET / HT");
  RawClient unread(server.port());
  unread.send(get("/large"));
  server.wait_for_connections(3);
  auto start = steady_clock::now();
  server.server().shutdown(milliseconds(50));
  EXPECT_GE(steady_clock::now() - start, milliseconds(50));
  EXPECT_LT(steady_clock::now() - start, kSoon);
  EXPECT_EQ(server.seen.cancelled, 1);
  EXPECT_EQ(server.server().connections(), 0u);
  EXPECT_NE(held.end(), End::kStillOpen);
  EXPECT_EQ(held.held(), "");
}

TEST(ServerShutdownTest, may_be_asked_for_twice_and_by_the_destructor) {
  TestServer server;
  RawClient client(server.port());
  server.server().shutdown(milliseconds(0));
  server.server().shutdown(kLong);
}

TEST(ServerShutdownTest, loses_no_request_that_was_begun_under_load) {
  for (int round = 0; round < 5; ++round) {
    TestServer server;
    std::atomic<int> answered = 0;
    {
      std::vector<std::jthread> clients;
      for (int i = 0; i < 8; ++i) {
        clients.emplace_back([&] {
          RawClient client(server.port());
          while (client.send(get("/"))) {
            if (client.read().status != 200) break;
            ++answered;
          }
        });
      }
      while (server.seen.requests < 200) std::this_thread::yield();
      server.server().shutdown(kLong);
    }
    EXPECT_EQ(server.seen.requests, answered);
  }
}

}  // namespace
}  // namespace base::http
