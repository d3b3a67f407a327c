#include "base/http/server.h"
#include "base/http/server_fixture_test.h"

namespace base::http {
namespace {

using namespace testing;  // NOLINT: the fixture of this folder.

constexpr milliseconds kShort{60};

// A request whose head has exactly `bytes` bytes.
std::string head_of_size(std::size_t bytes) {
  std::string start = "GET / HTTP/1.1\r\nHost: h\r\nA: ";
  return start + std::string(bytes - start.size() - 4, 'x') + "\r\n\r\n";
}

std::string sized(std::size_t announced, std::string_view body) {
  return fmt::format("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}", announced, body);
}

std::string chunked(std::string_view chunks) {
  return fmt::format("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunks);
}

// Each request on a connection of its own, which ends with the answer.
void expect_refused(const TestServer& server, const std::vector<std::string>& requests,
                    unsigned status) {
  for (const std::string& request : requests) {
    RawClient client(server.port());
    EXPECT_EQ(client.ask(request).status, status) << request.substr(0, 100);
    EXPECT_EQ(client.end(), End::kClosed);
  }
}

TEST(ServerLimitsTest, head_at_the_limit_passes_and_one_byte_more_is_refused) {
  for (std::size_t limit : {std::size_t{100}, std::size_t{16 * 1024}}) {
    ServerLimits limits = patient();
    limits.header_bytes = limit;
    TestServer server(limits);
    RawClient fits(server.port());
    EXPECT_EQ(fits.ask(head_of_size(limit) + head_of_size(limit)).status, 200u);
    EXPECT_EQ(fits.read().status, 200u);
    expect_refused(server, {head_of_size(limit + 1)}, 431);
  }
}

TEST(ServerLimitsTest, head_without_an_end_is_refused_at_the_limit) {
  ServerLimits limits = patient();
  limits.header_bytes = 1000;
  TestServer server(limits);
  RawClient client(server.port());
  EXPECT_EQ(client.ask(head_of_size(1004).substr(0, 1000)).status, 431u);
}

TEST(ServerLimitsTest, body_at_the_limit_passes_and_one_byte_more_is_refused) {
  ServerLimits limits = patient();
  limits.body_bytes = 100'000;
  TestServer server(limits);
  RawClient fits(server.port());
  EXPECT_EQ(fits.ask(sized(100'000, std::string(100'000, 'x'))).status, 200u);
  EXPECT_EQ(
      fits.ask(chunked(fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", 100'000, std::string(100'000, 'x'))))
          .status,
      200u);
  EXPECT_EQ(server.seen.requests, 2);
  expect_refused(server, {chunked("186a1\r\n")}, 413);
  EXPECT_EQ(server.seen.requests, 2);
}

TEST(ServerLimitsTest, announced_body_over_the_limit_is_refused_before_it_is_sent) {
  ServerLimits limits = patient();
  limits.body_bytes = 10;
  TestServer server(limits);
  for (std::string_view length : {"11", "9223372036854775807"}) {
    RawClient client(server.port());
    client.send(fmt::format(
        "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n", length));
    EXPECT_EQ(client.read().status, 413u);
    EXPECT_EQ(client.end(), End::kClosed);
  }
  EXPECT_EQ(server.seen.requests, 0);
}

TEST(ServerLimitsTest, a_client_that_sends_its_large_body_anyway_still_reads_the_refusal) {
  ServerLimits limits = patient();
  limits.body_bytes = 10;
  TestServer server(limits);
  RawClient client(server.port());
  EXPECT_TRUE(client.send(sized(4 << 20, std::string(4 << 20, 'x'))));
  EXPECT_EQ(client.read().status, 413u);
  EXPECT_EQ(client.end(), End::kClosed);
}

TEST(ServerLimitsTest, chunk_extensions_are_bounded) {
  ServerLimits limits = patient();
  limits.header_bytes = 200;
  TestServer server(limits);
  RawClient client(server.port());
  EXPECT_EQ(client.ask(chunked("1;" + std::string(201, 'x'))).status, 413u);
}

TEST(ServerLimitsTest, slow_head_is_told_408_from_its_first_byte_on) {
  ServerLimits limits = patient();
  limits.header_time = kShort;
  TestServer server(limits);
  RawClient slow(server.port());
  EXPECT_EQ(slow.ask("GET / HTTP/1.1\r\nHost").status, 408u);
  EXPECT_EQ(slow.end(), End::kClosed);
  RawClient second(server.port());
  EXPECT_EQ(second.ask(get("/") + "G").status, 200u);
  EXPECT_EQ(second.read().status, 408u);
}

TEST(ServerLimitsTest, bytes_that_drip_do_not_extend_the_time_for_the_head) {
  ServerLimits limits = patient();
  limits.header_time = kShort;
  TestServer server(limits);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nA: ");
  auto start = std::chrono::steady_clock::now();
  while (client.send("x") && std::chrono::steady_clock::now() - start < milliseconds(5'000)) {
    std::this_thread::sleep_for(milliseconds(5));
    if (server.server().connections() == 0) break;
    if (std::chrono::steady_clock::now() - start > 4 * kShort) break;
  }
  EXPECT_EQ(client.read().status, 408u);
}

TEST(ServerLimitsTest, slow_body_is_told_408) {
  ServerLimits limits = patient();
  limits.body_time = kShort;
  TestServer server(limits);
  expect_refused(server, {sized(10, "abc"), chunked("a\r\nabc")}, 408);
  EXPECT_EQ(server.seen.requests, 0);
}

TEST(ServerLimitsTest, idle_connection_is_closed_without_a_word) {
  ServerLimits limits = patient();
  limits.idle = kShort;
  TestServer server(limits);
  RawClient fresh(server.port());
  EXPECT_EQ(fresh.end(), End::kClosed);
  EXPECT_EQ(fresh.held(), "");
  RawClient used(server.port());
  EXPECT_EQ(used.ask(get("/")).status, 200u);
  EXPECT_EQ(used.end(), End::kClosed);
  EXPECT_EQ(used.held(), "");
}

TEST(ServerLimitsTest, a_client_that_does_not_read_is_dropped) {
  ServerLimits limits = patient();
  limits.write_time = kShort;
  TestServer server(limits);
  RawClient client(server.port());
  for (int i = 0; i < 4; ++i) client.send(get("/large"));
  server.wait_for_connections(1);
  server.wait_for_connections(0);
  EXPECT_LT(server.seen.requests, 4);
}

TEST(ServerLimitsTest, a_slow_handler_is_not_bounded_by_the_times_of_the_client) {
  ServerLimits limits = patient();
  limits.idle = limits.header_time = limits.body_time = limits.write_time = kShort;
  TestServer server(limits);
  RawClient client(server.port());
  client.send(get("/hold"));
  server.wait_for_holding(1);
  std::this_thread::sleep_for(3 * kShort);
  server.seen.released = true;
  EXPECT_EQ(client.read().status, 200u);
}

TEST(ServerLimitsTest, where_no_body_is_taken_the_head_alone_is_refused) {
  ServerLimits limits = patient();
  limits.body_bytes = 0;
  TestServer server(limits);
  expect_refused(server, {sized(1, ""), chunked("")}, 413);
  RawClient without(server.port());
  EXPECT_EQ(without.ask(sized(0, "") + get("/")).status, 200u);
  EXPECT_EQ(without.read().status, 200u);
}

TEST(ServerLimitsTest, time_for_the_first_head_runs_from_accept) {
  ServerLimits limits = patient();
  limits.header_time = kShort;
  TestServer server(limits);
  RawClient silent(server.port());
  EXPECT_EQ(silent.end(), End::kClosed);
  EXPECT_EQ(silent.held(), "");
  // Between two requests the connection may rest for longer.
  RawClient resting(server.port());
  EXPECT_EQ(resting.ask(get("/")).status, 200u);
  std::this_thread::sleep_for(3 * kShort);
  EXPECT_EQ(resting.ask(get("/")).status, 200u);
}

TEST(ServerLimitsTest, a_newcomer_takes_the_place_of_the_oldest_stranger) {
  ServerLimits limits = patient();
  limits.admission = {.connections = 2, .when_full = WhenFull::kReplaceStranger};
  TestServer server(limits);
  RawClient oldest(server.port());
  EXPECT_EQ(oldest.ask(get("/")).status, 200u);
  RawClient second(server.port());
  EXPECT_EQ(second.ask(get("/")).status, 200u);
  RawClient newcomer(server.port());
  EXPECT_EQ(newcomer.ask(get("/")).status, 200u);
  EXPECT_NE(oldest.end(), End::kStillOpen);
  EXPECT_EQ(second.ask(get("/")).status, 200u);
  server.server().set_limits({.connections = 2});
  EXPECT_EQ(RawClient(server.port()).ask(get("/")).status, 503u);
}

TEST(ServerLimitsTest, a_thousand_silent_connections_keep_nobody_out) {
  ServerLimits limits = patient();
  limits.admission = {.connections = 50, .when_full = WhenFull::kReplaceStranger};
  TestServer server(limits);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 1'000; ++i) silent.push_back(std::make_unique<RawClient>(server.port()));
  for (int i = 0; i < 20; ++i) {
    RawClient client(server.port());
    EXPECT_EQ(client.ask(get("/")).status, 200u);
  }
  while (server.server().connections() > 50) std::this_thread::sleep_for(milliseconds(1));
}

TEST(ServerLimitsTest, connection_over_the_cap_is_told_503_until_one_ends) {
  ServerLimits limits = patient();
  limits.admission.connections = 2;
  TestServer server(limits);
  RawClient first(server.port());
  auto second = std::make_unique<RawClient>(server.port());
  EXPECT_EQ(first.ask(get("/")).status, 200u);
  EXPECT_EQ(second->ask(get("/")).status, 200u);
  {
    RawClient third(server.port());
    EXPECT_EQ(third.ask(get("/")).status, 503u);
    EXPECT_EQ(third.end(), End::kClosed);
  }
  server.wait_for_connections(2);
  second.reset();
  server.wait_for_connections(1);
  RawClient fourth(server.port());
  EXPECT_EQ(fourth.ask(get("/")).status, 200u);
}

}  // namespace
}  // namespace base::http
