#include "base/http/stream_server.h"

#include <gtest/gtest.h>

#include "base/http/stream_fixture_test.h"

namespace base::http::testing {
namespace {

std::string put(std::string_view path, std::size_t length, std::string_view more = "") {
  return fmt::format("PUT {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n{}\r\n", path, length,
                     more);
}

TEST(StreamServer, reads_a_body_of_known_length_and_keeps_the_connection) {
  StreamServer server;
  RawClient client(server.port());
  const std::string body = made_up(3 << 20);
  for (int i = 0; i < 2; ++i) {
    client.send(put("/count", body.size()));
    client.send(body);
    Answer answer = client.read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "3145728");
  }
  EXPECT_EQ(server.server().connections(), 1);
}

TEST(StreamServer, takes_chunks_however_they_are_cut) {
  StreamServer server;
  RawClient client(server.port());
  const std::string body = made_up(100'000);
  std::string chunks = "PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 30'000) {
    const std::string part = body.substr(at, 30'000);
    chunks += fmt::format("{:x};x=y\r\n{}\r\n", part.size(), part);
  }
  chunks += "0\r\nA: b\r\n\r\n";
  client.send(chunks.substr(0, 40'007));
  client.send(chunks.substr(40'007));
  EXPECT_EQ(client.read().body, "100000");
  // What follows is the next request.
  EXPECT_EQ(client.ask(get("/count")).body, "0");
}

TEST(StreamServer, says_continue_only_to_a_body_that_is_read) {
  StreamServer server;
  {
    RawClient client(server.port());
    client.send(put("/count", 5, "Expect: 100-continue\r\n"));
    EXPECT_EQ(client.read(Expects::kNoBody).head, "HTTP/1.1 100 Continue\r\n");
    client.send(made_up(5));
    EXPECT_EQ(client.read().body, "5");
  }
  RawClient client(server.port());
  client.send(put("/refuse", 5, "Expect: 100-continue\r\n"));
  EXPECT_EQ(client.read().status, 403);
  EXPECT_EQ(client.end(), End::kClosed);  // Whether the body comes is not known.
}

TEST(StreamServer, closes_after_a_body_that_nobody_read_unless_it_has_come) {
  StreamServer server;
  RawClient kept(server.port());
  kept.send(put("/refuse", 5) + made_up(5) + get("/count"));
  EXPECT_EQ(kept.read().status, 403);
  EXPECT_EQ(kept.read().body, "0");

  RawClient closed(server.port());
  closed.send(put("/refuse", 1 << 20) + made_up(1000));
  Answer answer = closed.read();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.field("Connection"), "close");
}

TEST(StreamServer, refuses_a_body_over_the_bound_before_and_while_it_comes) {
  ServerLimits limits;
  limits.body_bytes = 1000;
  StreamServer server(limits);
  RawClient sized(server.port());
  EXPECT_EQ(sized.ask(put("/count", 1001)).status, 413);
  EXPECT_EQ(server.seen.requests, 0);
  RawClient fits(server.port());
  EXPECT_EQ(fits.ask(put("/count", 1000) + made_up(1000)).body, "1000");
  RawClient chunked(server.port());
  chunked.send("PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n");
  EXPECT_EQ(chunked.read().status, 400);
  EXPECT_EQ(server.seen.failed, static_cast<int>(ErrorKind::kTooLarge));
}

TEST(StreamServer, tells_the_handler_of_a_client_that_dies_half_way) {
  StreamServer server;
  {
    RawClient client(server.port());
    client.send(put("/count", 1000) + made_up(999));
  }
  EXPECT_TRUE(soon([&] { return server.seen.bodies == 1; }));
  EXPECT_EQ(server.seen.failed, static_cast<int>(ErrorKind::kUnavailable));
}

TEST(StreamServer, waits_for_each_piece_no_longer_than_it_may) {
  ServerLimits limits;
  limits.body_time = milliseconds(60);
  StreamServer server(limits);
  RawClient slow(server.port());
  for (char c : made_up(6)) {
    // Longer together than the limit, which is for one wait.
    slow.send(c == 'a' ? put("/count", 6) + c : std::string(1, c));
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(slow.read().body, "6");
  RawClient silent(server.port());
  EXPECT_EQ(silent.ask(put("/count", 6) + made_up(5)).status, 408);
  EXPECT_EQ(server.seen.failed, static_cast<int>(ErrorKind::kTimeout));
}

TEST(StreamServer, tells_the_handler_of_broken_chunks) {
  StreamServer server;
  RawClient client(server.port());
  client.send("PUT /count HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n");
  EXPECT_EQ(client.read().status, 400);
  EXPECT_EQ(server.seen.failed, static_cast<int>(ErrorKind::kInvalid));
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(StreamServer, sends_a_body_of_known_length) {
  StreamServer server;
  RawClient client(server.port());
  for (std::size_t size : {0, 1, 1'000'000}) {
    Answer answer = client.ask(get(fmt::format("/give?size={}&said={}", size, size)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.field("Content-Length"), std::to_string(size));
    EXPECT_TRUE(answer.body == made_up(size));
  }
}

TEST(StreamServer, sends_a_body_of_unknown_length_in_chunks) {
  StreamServer server;
  RawClient client(server.port());
  client.send(get("/give?size=3"));
  Answer answer = client.read(Expects::kNoBody);
  EXPECT_EQ(answer.field("Transfer-Encoding"), "chunked");
  EXPECT_EQ(answer.field("Content-Length"), "");
  client.send("GET /count HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.end(), End::kClosed);
  EXPECT_TRUE(client.held().starts_with("3\r\nabc\r\n0\r\n\r\nHTTP/1.1 200 OK")) << client.held();
  // To a client of version 1.0 it ends with the connection.
  RawClient old(server.port());
  old.send("GET /give?size=3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.end(), End::kClosed);
  EXPECT_TRUE(old.held().ends_with("\r\n\r\nabc")) << old.held();
}

TEST(StreamServer, tells_the_length_of_what_head_asks_for_and_sends_none) {
  StreamServer server;
  RawClient client(server.port());
  for (int i = 0; i < 2; ++i) {
    client.send("HEAD /head HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.read(Expects::kNoBody).field("Content-Length"), "1073741824");
  }
  EXPECT_EQ(client.held(), "");
}

// Each would be a part that is taken for the whole.
TEST(StreamServer, breaks_off_an_answer_that_is_not_whole) {
  for (const char* target : {"/give?size=1000&fail=1", "/give?size=1000&said=1001",
                             "/give?size=1000&said=2000&fail=1", "/give?size=300000&said=290000"}) {
    StreamServer server;
    RawClient client(server.port());
    client.send(get(target));
    EXPECT_EQ(client.end(), End::kReset) << target;
    EXPECT_FALSE(client.held().ends_with("0\r\n\r\n")) << target;
    EXPECT_TRUE(soon([&] { return server.seen.source.gone == 1; }));
  }
}

TEST(StreamServer, asks_a_source_for_no_more_than_the_client_takes) {
  StreamServer server;
  RawClient client(server.port());
  client.send(get("/give?size=1000000000&said=1000000000"));
  EXPECT_TRUE(soon([&] { return server.seen.source.given > 0; }));
  std::this_thread::sleep_for(milliseconds(200));
  const std::uint64_t given = server.seen.source.given;
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(server.seen.source.given, given);
  EXPECT_LT(given, 64U << 20);  // What the kernel holds, and a piece.
  client.close();
  EXPECT_TRUE(soon([&] { return server.seen.source.gone == 1; }));
}

TEST(StreamServer, lets_go_of_a_client_that_takes_nothing) {
  ServerLimits limits;
  limits.write_time = milliseconds(60);
  StreamServer server(limits);
  RawClient client(server.port());
  client.send(get("/give?size=1000000000&said=1000000000"));
  EXPECT_TRUE(soon([&] { return server.seen.source.gone == 1; }));
}

TEST(StreamServer, gives_back_what_it_reads) {
  StreamServer server;
  RawClient client(server.port());
  const std::string body = made_up(50'000);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(client.ask(put("/echo", body.size()) + body).body == body);
  }
}

TEST(StreamServer, survives_a_handler_that_breaks_its_word) {
  StreamServer server;
  RawClient client(server.port());
  EXPECT_EQ(client.ask(get("/throw")).status, 500);
  EXPECT_EQ(client.ask(get("/count")).status, 200);
}

TEST(StreamServer, ends_what_streams_when_the_grace_is_over) {
  StreamServer server;
  RawClient reading(server.port());
  reading.send(get("/give?size=1000000000&said=1000000000"));
  RawClient sending(server.port());
  sending.send(put("/count", 1000) + made_up(10));
  EXPECT_TRUE(soon([&] { return server.seen.requests == 2; }));
  server.server().shutdown(milliseconds(50));
  EXPECT_EQ(server.server().connections(), 0);
  EXPECT_EQ(server.seen.source.gone, 1);
}

}  // namespace
}  // namespace base::http::testing
