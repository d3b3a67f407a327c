#include "base/http/server.h"

#include <gmock/gmock.h>

#include <set>

#include "base/http/server_fixture_test.h"

namespace base::http {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.
using ::testing::MatchesRegex;

TEST(ServerTest, answers_and_keeps_the_connection) {
  TestServer server;
  RawClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    Answer answer = client.ask(get("/a?b=c"));
    EXPECT_EQ(answer.status, 200u);
    EXPECT_EQ(answer.body, "GET /a?b=c plain 127.0.0.1 0");
    EXPECT_EQ(answer.field("Content-Type"), "text/plain");
    EXPECT_EQ(answer.field("Connection"), "");
  }
  EXPECT_EQ(server.server().connections(), 1u);
}

TEST(ServerTest, closes_when_the_client_asks_for_it) {
  TestServer server;
  RawClient client(server.port());
  Answer answer = client.ask("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerTest, serves_http_1_0_with_and_without_keep_alive) {
  TestServer server;
  RawClient client(server.port());
  Answer kept = client.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.field("Connection"), "keep-alive");
  Answer last = client.ask("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(last.status, 200u);
  EXPECT_EQ(last.field("Connection"), "close");
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerTest, answers_pipelined_requests_in_order) {
  TestServer server;
  RawClient client(server.port());
  std::string all;
  constexpr int kCount = 200;  // Many more than fit into one read.
  for (int i = 0; i < kCount; ++i) all += get("/" + std::to_string(i));
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(client.read().body, fmt::format("GET /{} plain 127.0.0.1 0", i));
  }
}

TEST(ServerTest, answers_pipelined_requests_with_bodies_in_order) {
  TestServer server;
  RawClient client(server.port());
  client.send(
      "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /"
      "PUT /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" +
      get("/c"));
  EXPECT_EQ(client.read().body, "POST /a plain 127.0.0.1 5");
  EXPECT_EQ(client.read().body, "PUT /b plain 127.0.0.1 2");
  EXPECT_EQ(client.read().body, "GET /c plain 127.0.0.1 0");
}

TEST(ServerTest, an_answer_does_not_wait_for_a_later_slow_request) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/fast") + get("/hold"));
  EXPECT_EQ(client.read().body, "GET /fast plain 127.0.0.1 0");
  server.seen.released = true;
  EXPECT_EQ(client.read().body, "GET /hold plain 127.0.0.1 0");
}

TEST(ServerTest, an_answer_does_not_wait_for_the_rest_of_a_later_request) {
  TestServer server;
  for (std::string_view start :
       {"\r\n", "GET", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
        "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na"}) {
    RawClient client(server.port());
    client.send(get("/1") + get("/2") + std::string(start));
    EXPECT_EQ(client.read().body, "GET /1 plain 127.0.0.1 0");
    EXPECT_EQ(client.read().body, "GET /2 plain 127.0.0.1 0");
  }
}

TEST(ServerTest, answers_what_came_before_a_malformed_request) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/1") + "GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.read().status, 200u);
  EXPECT_EQ(client.read().status, 400u);
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerTest, gives_the_handler_a_deadline_and_the_id_of_the_answer) {
  ServerLimits limits = patient();
  limits.request_time = std::chrono::seconds(90);
  TestServer server(limits);
  RawClient client(server.port());
  Answer answer = client.ask(get("/context"));
  EXPECT_EQ(answer.body, answer.field("X-Request-Id") + " 90");
}

TEST(ServerTest, reads_a_request_that_comes_byte_by_byte) {
  TestServer server;
  RawClient client(server.port());
  std::string request =
      "\r\nPUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n";
  for (char c : request) ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_EQ(client.read().body, "PUT /a plain 127.0.0.1 3");
}

TEST(ServerTest, head_gets_the_length_and_no_body) {
  TestServer server;
  RawClient client(server.port());
  client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + get("/b"));
  Answer head = client.read(Expects::kNoBody);
  EXPECT_EQ(head.status, 200u);
  EXPECT_EQ(head.field("Content-Length"),
            std::to_string(std::string_view("HEAD /a plain 127.0.0.1 0").size()));
  EXPECT_EQ(client.read().body, "GET /b plain 127.0.0.1 0");
}

TEST(ServerTest, no_content_has_no_length) {
  TestServer server;
  RawClient client(server.port());
  Answer answer = client.ask(get("/empty"));
  EXPECT_EQ(answer.status, 204u);
  EXPECT_EQ(answer.field("Content-Length"), "");
}

TEST(ServerTest, passes_an_unknown_method_on) {
  TestServer server;
  RawClient client(server.port());
  EXPECT_EQ(client.ask("BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n").body,
            "OTHER /pot plain 127.0.0.1 0");
}

TEST(ServerTest, says_continue_before_the_body_is_sent) {
  TestServer server;
  RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.read().status, 100u);
  EXPECT_EQ(client.ask("abc").body, "PUT / plain 127.0.0.1 3");
}

TEST(ServerTest, says_no_continue_when_the_body_came_along) {
  TestServer server;
  RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.read().status, 200u);
}

TEST(ServerTest, sends_a_body_larger_than_the_sockets_buffer) {
  TestServer server;
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(client.ask(get("/large")).body.size(), 8u << 20);
}

TEST(ServerTest, sends_the_buffers_of_a_body_in_their_order) {
  TestServer server;
  RawClient client(server.port());
  for (bool large : {false, true, false}) {
    EXPECT_TRUE(client.ask(get(large ? "/pieces/large" : "/pieces")).body ==
                pieces_body(large).text());
  }
  client.send(get("/pieces/large") + get("/pieces"));
  EXPECT_TRUE(client.read().body == pieces_body(true).text());
  EXPECT_TRUE(client.read().body == pieces_body(false).text());
}

TEST(ServerTest, keeps_a_valid_request_id_and_replaces_others) {
  TestServer server;
  RawClient client(server.port());
  auto id_for = [&](std::string_view sent) {
    return client.ask(fmt::format("GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: {}\r\n\r\n", sent))
        .field("X-Request-Id");
  };
  EXPECT_EQ(id_for("0123456789abcdef"), "0123456789abcdef");
  EXPECT_EQ(id_for("0123456789ABCDEF"), "0123456789abcdef");
  std::set<std::string> made;
  for (std::string_view bad : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg"}) {
    std::string id = id_for(bad);
    EXPECT_THAT(id, MatchesRegex("[0-9a-f]{16}"));
    made.insert(id);
  }
  EXPECT_EQ(made.size(), 4u);
}

TEST(ServerTest, sends_a_date) {
  TestServer server;
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/")).field("Date").size(), 29u);
}

TEST(ServerTest, a_handler_that_throws_costs_its_client_a_500_and_nobody_else) {
  TestServer server;
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/throw")).status, 500u);
  EXPECT_EQ(client.ask(get("/")).status, 200u);
}

TEST(ServerTest, refuses_malformed_requests_and_closes) {
  TestServer server;
  struct Case {
    std::string_view name;
    std::string bytes;
    unsigned status;
  };
  const Case kCases[] = {
      {"garbage", "\x16\x03\x01\x02", 400},
      {"bare LF", "GET / HTTP/1.1\nHost: h\n\n", 400},
      {"two empty lines first", "\r\n\r\n" + get("/"), 400},
      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"version", "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
      {"both framings",
       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n" +
           get("/smuggled"),
       400},
      {"broken chunk",
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n" + get("/smuggled"),
       400},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    RawClient client(server.port());
    Answer answer = client.ask(c.bytes);
    EXPECT_EQ(answer.status, c.status);
    EXPECT_TRUE(answer.body.starts_with("refused: "));
    EXPECT_EQ(answer.field("Connection"), "close");
    EXPECT_EQ(client.end(), End::kClosed);
    EXPECT_EQ(client.held(), "");
  }
  EXPECT_EQ(server.seen.requests, 0);
}

TEST(ServerTest, serves_the_whole_request_of_a_half_open_client) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/a"));
  client.half_close();
  EXPECT_EQ(client.read().status, 200u);
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerTest, forgets_a_client_that_goes_away) {
  TestServer server;
  for (std::string_view sent :
       {"", "GET / HT", "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab"}) {
    RawClient client(server.port());
    client.send(sent);
    client.close();
    server.wait_for_connections(0);
  }
  EXPECT_EQ(server.seen.requests, 0);
}

TEST(ServerTest, lets_the_handler_of_a_client_that_went_away_finish) {
  TestServer server;
  RawClient client(server.port());
  client.send(get("/hold"));
  server.wait_for_holding(1);
  client.close();
  server.seen.released = true;
  server.wait_for_connections(0);
  EXPECT_EQ(server.seen.cancelled, 0);
}

TEST(ServerTest, serves_many_connections_from_all_workers) {
  TestServer server;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 300; ++i) clients.push_back(std::make_unique<RawClient>(server.port()));
  for (int round = 0; round < 3; ++round) {
    for (auto& client : clients) ASSERT_TRUE(client->send(get("/")));
    for (auto& client : clients) EXPECT_EQ(client->read().status, 200u);
  }
  EXPECT_EQ(server.server().connections(), 300u);
}

TEST(ServerStartTest, refuses_what_it_cannot_serve) {
  Workers workers(1);
  auto start = [&](ServerOptions options, std::size_t handlers) {
    auto server =
        Server::start(std::move(options), workers, std::vector<Handler>(handlers), refusal);
    return server ? ErrorKind::kInternal : server.error().kind();
  };
  TestServer taken;
  EXPECT_EQ(start({.port = taken.port()}, 1), ErrorKind::kUnavailable);
  EXPECT_EQ(start({.address = "nowhere"}, 1), ErrorKind::kUnavailable);
  EXPECT_EQ(start({.address = "192.0.2.1"}, 1), ErrorKind::kUnavailable);
  EXPECT_EQ(start({}, 2), ErrorKind::kInvalid);
}

}  // namespace
}  // namespace base::http
