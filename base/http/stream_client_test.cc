#include "base/http/stream_client.h"

#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include "base/http/stream_fixture_test.h"
#include "base/testing/scripted_server.h"

namespace base::http::testing {
namespace {

namespace asio = boost::asio;
using base::testing::Act;
using base::testing::ScriptedServer;

struct Outcome {
  std::optional<ErrorKind> failed;  ///< Before the head had come.
  unsigned status = 0;
  std::optional<std::uint64_t> length;
  Read body;
};

Task<Outcome> exchange(StreamClient* client, ClientRequest request, BodyStream body) {
  RequestContext context{.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5)};
  auto response = co_await client->send(context, std::move(request), std::move(body));
  if (!response) co_return Outcome{.failed = response.error().kind()};
  Outcome outcome{.status = response->head.status, .length = response->body.length};
  outcome.body = co_await read_all(response->body.source);
  co_return outcome;
}

Task<Result<StreamedResponse>> begin(StreamClient* client, ClientRequest request) {
  co_return co_await client->send(RequestContext{}, std::move(request), {});
}

struct StreamClientTest : ::testing::Test {
  StreamClient& client() {
    if (client_ == nullptr) {
      client_ = StreamClient::create({.host = "127.0.0.1", .port = port}, options);
    }
    return *client_;
  }
  Outcome run(ClientRequest request, BodyStream body = {}) {
    auto future = asio::co_spawn(loop, exchange(&client(), std::move(request), std::move(body)),
                                 asio::use_future);
    return finish(future);
  }
  template <class T>
  T finish(std::future<T>& future) {
    while (future.wait_for(milliseconds(0)) != std::future_status::ready) {
      if (loop.stopped()) loop.restart();
      loop.run_one_for(milliseconds(100));
    }
    return future.get();
  }
  BodyStream made(std::uint64_t size, std::optional<std::uint64_t> said,
                  std::optional<Error> error = std::nullopt) {
    return {std::make_shared<MadeUpBody>(use, size, std::move(error)), said};
  }
  void script(ScriptedServer::Script acts) {
    scripted = std::make_unique<ScriptedServer>(loop, std::move(acts));
    port = scripted->port();
  }

  asio::io_context loop{1};
  ClientOptions options{.body_bytes = std::size_t{1} << 40};
  std::uint16_t port = 0;
  SourceUse use;
  std::unique_ptr<ScriptedServer> scripted;
  std::unique_ptr<StreamClient> client_;
};

ClientRequest get_of(std::string target) { return {.target = std::move(target)}; }
ClientRequest put_to(std::string target) {
  return {.method = Method::kPut, .target = std::move(target)};
}

TEST_F(StreamClientTest, reads_answers_of_each_framing_on_one_connection) {
  StreamServer server;
  port = server.port();
  for (const char* target : {"/give?size=3000000&said=3000000", "/give?size=3000000"}) {
    Outcome outcome = run(get_of(target));
    EXPECT_EQ(outcome.status, 200);
    EXPECT_EQ(outcome.body.bytes, 3'000'000);
    EXPECT_TRUE(outcome.body.as_made_up);
    EXPECT_FALSE(outcome.body.failed);
  }
  Outcome head = run({.method = Method::kHead, .target = "/head"});
  EXPECT_EQ(head.length, 1U << 30);
  EXPECT_EQ(head.body.bytes, 0);
  EXPECT_EQ(server.server().connections(), 1);
  client_.reset();
  EXPECT_TRUE(soon([&] { return server.server().connections() == 0; }));
}

TEST_F(StreamClientTest, sends_bodies_of_known_and_of_unknown_length) {
  StreamServer server;
  port = server.port();
  for (std::uint64_t size : {0U, 1U, 2'000'000U}) {
    for (bool said : {true, false}) {
      Outcome outcome =
          run(put_to("/count"), made(size, said ? std::optional(size) : std::nullopt));
      EXPECT_EQ(outcome.status, 200);
      EXPECT_EQ(outcome.body.bytes, std::to_string(size).size());
    }
  }
  EXPECT_EQ(server.seen.failed, -1);
  EXPECT_EQ(server.server().connections(), 1);
}

// The server must never take what was sent for a whole request.
TEST_F(StreamClientTest, breaks_off_a_body_that_is_not_what_it_was_said_to_be) {
  StreamServer server;
  port = server.port();
  Error broke = fail(ErrorKind::kForbidden, "no");
  int bodies = 0;
  auto refused = [&](BodyStream body, ErrorKind kind) {
    Outcome outcome = run(put_to("/count"), std::move(body));
    EXPECT_EQ(outcome.failed, kind);
    ++bodies;
    EXPECT_TRUE(soon([&] { return server.seen.bodies == bodies; }));
    EXPECT_NE(server.seen.failed, -1);
    server.seen.failed = -1;
  };
  refused(made(999'999, 1'000'000), ErrorKind::kInvalid);
  refused(made(1'000'001, 1'000'000), ErrorKind::kInvalid);
  refused(made(1'000'000, 1'000'000, broke), ErrorKind::kForbidden);
  refused(made(1'000'000, std::nullopt, broke), ErrorKind::kForbidden);
  EXPECT_EQ(run(put_to("/count"), made(5, 5)).status, 200);
  // Nor is an empty one sent before its source has said so.
  EXPECT_EQ(run(put_to("/count"), made(0, 0, broke)).failed, ErrorKind::kForbidden);
  EXPECT_EQ(run(put_to("/count"), made(1, 0)).failed, ErrorKind::kInvalid);
}

TEST_F(StreamClientTest, reports_an_answer_that_ends_too_early) {
  const std::string half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcde";
  const std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n";
  script({{{.answer = half, .then = Act::kClose}}, {{.answer = chunks, .then = Act::kClose}}});
  for (int i = 0; i < 2; ++i) {
    Outcome outcome = run(get_of("/"));
    EXPECT_EQ(outcome.status, 200);
    EXPECT_EQ(outcome.body.bytes, 5);
    EXPECT_EQ(outcome.body.failed, ErrorKind::kUnavailable);
  }
}

TEST_F(StreamClientTest, reads_what_ends_with_the_connection) {
  script({{{.answer = "HTTP/1.1 200 OK\r\n\r\nabcde", .then = Act::kClose}}});
  Outcome outcome = run(get_of("/"));
  EXPECT_EQ(outcome.body.bytes, 5);
  EXPECT_FALSE(outcome.body.failed);
}

TEST_F(StreamClientTest, waits_for_each_step_no_longer_than_it_may) {
  options.response_time = milliseconds(50);
  script({{{.answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabcde", .then = Act::kHang}},
          {{.answer = "", .then = Act::kHang}}});
  EXPECT_EQ(run(get_of("/")).body.failed, ErrorKind::kTimeout);
  EXPECT_EQ(run(get_of("/")).failed, ErrorKind::kTimeout);
}

TEST_F(StreamClientTest, bounds_an_answer) {
  options.body_bytes = 4;
  script({{{.answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde"}},
          {{.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"}},
          {{.answer = "HTTP/1.1 200 OK\r\n\r\nabcde", .then = Act::kClose}}});
  EXPECT_EQ(run(get_of("/")).failed, ErrorKind::kTooLarge);
  EXPECT_EQ(run(get_of("/")).body.failed, ErrorKind::kTooLarge);
  EXPECT_EQ(run(get_of("/")).body.failed, ErrorKind::kTooLarge);
}

TEST_F(StreamClientTest, asks_again_where_a_kept_connection_was_closed) {
  const std::string ok = base::testing::http_ok("abc");
  script({{{.answer = ok}, {.answer = "", .then = Act::kClose}}, {{.answer = ok}}});
  EXPECT_EQ(run(get_of("/")).body.bytes, 3);
  EXPECT_EQ(run(get_of("/")).body.bytes, 3);
  EXPECT_EQ(scripted->requests().size(), 3);
}

TEST_F(StreamClientTest, does_not_send_a_body_twice) {
  const std::string ok = base::testing::http_ok("abc");
  script({{{.answer = ok}, {.answer = "", .then = Act::kClose}}, {{.answer = ok}}});
  EXPECT_EQ(run(get_of("/")).body.bytes, 3);
  EXPECT_EQ(run(put_to("/"), made(5, 5)).failed, ErrorKind::kOutcomeUnknown);
  EXPECT_EQ(use.made, 1);
  EXPECT_EQ(scripted->requests().size(), 2);
}

TEST_F(StreamClientTest, hears_a_refusal_of_a_body_that_it_has_not_sent) {
  StreamServer server;
  port = server.port();
  Outcome outcome = run(put_to("/refuse"), made(4'000'000, 4'000'000));
  EXPECT_EQ(outcome.status, 403);
  EXPECT_EQ(run(put_to("/count"), made(5, 5)).status, 200);
}

TEST_F(StreamClientTest, closes_the_connection_of_an_answer_that_is_dropped) {
  StreamServer server;
  port = server.port();
  auto future = asio::co_spawn(
      loop, begin(&client(), get_of("/give?size=1000000000&said=1000000000")), asio::use_future);
  auto response = finish(future);
  ASSERT_TRUE(response.has_value());
  response->body.source.reset();
  EXPECT_TRUE(soon([&] { return server.seen.source.gone == 1; }));
  EXPECT_EQ(run(get_of("/give?size=5&said=5")).body.bytes, 5);
}

TEST_F(StreamClientTest, an_answer_may_outlive_its_client) {
  StreamServer server;
  port = server.port();
  auto future = asio::co_spawn(loop, begin(&client(), get_of("/give?size=900000&said=900000")),
                               asio::use_future);
  auto response = finish(future);
  ASSERT_TRUE(response.has_value());
  client_.reset();
  auto body = asio::co_spawn(loop, read_all(std::move(response->body.source)), asio::use_future);
  EXPECT_EQ(finish(body).bytes, 900'000);
}

// A server that gives what another one gives: bytes go from socket to socket.
struct Relay {
  explicit Relay(std::uint16_t behind, ServerLimits limits = StreamServer::roomy()) {
    auto handler = [this, behind](RequestContext context, StreamedRequest request) {
      return relay(this, behind, context, std::move(request));
    };
    ServerOptions server_options{.limits = limits};
    auto started = start_stream_server(std::move(server_options), workers,
                                       std::vector<StreamHandler>(1, handler), refusal);
    EXPECT_TRUE(started.has_value());
    server = std::move(*started);
  }
  static Task<StreamedResponse> relay(Relay* self, std::uint16_t behind, RequestContext context,
                                      StreamedRequest request) {
    if (self->client == nullptr) {
      self->client = StreamClient::create({.host = "127.0.0.1", .port = behind},
                                          {.body_bytes = std::size_t{1} << 40});
    }
    ClientRequest next{.method = request.head.method, .target = request.head.target};
    auto response = co_await self->client->send(context, std::move(next), request.body);
    if (!response) co_return StreamedResponse{.head = refusal(503, "behind")};
    co_return std::move(*response);
  }

  Workers workers{1};
  std::unique_ptr<StreamClient> client;  // Used on the worker's loop; ends after the server.
  std::unique_ptr<Server> server;
};

TEST_F(StreamClientTest, a_relay_gives_the_bytes_as_they_are) {
  StreamServer behind;
  Relay relay(behind.port());
  port = relay.server->port();
  for (std::uint64_t size : {0U, 1U, 999'999U, 1'048'576U, 30'000'001U}) {
    for (const char* form : {"/give?size={}&said={}", "/give?size={}"}) {
      Outcome outcome = run(get_of(fmt::format(fmt::runtime(form), size, size)));
      EXPECT_EQ(outcome.status, 200);
      EXPECT_EQ(outcome.body.bytes, size);
      EXPECT_TRUE(outcome.body.as_made_up);
      EXPECT_FALSE(outcome.body.failed);
    }
    EXPECT_EQ(run(put_to("/count"), made(size, size)).body.bytes, std::to_string(size).size());
  }
  EXPECT_EQ(behind.server().connections(), 1) << "each was read to its end";
}

TEST_F(StreamClientTest, a_relay_breaks_off_where_the_other_server_did) {
  StreamServer behind;
  Relay relay(behind.port());
  port = relay.server->port();
  Outcome outcome = run(get_of("/give?size=5000000&said=9000000&fail=1"));
  EXPECT_EQ(outcome.status, 200);
  EXPECT_EQ(outcome.body.failed, ErrorKind::kUnavailable);
  EXPECT_TRUE(outcome.body.as_made_up);
  EXPECT_EQ(run(get_of("/give?size=5000000&said=5000000")).body.bytes, 5'000'000);
}

TEST_F(StreamClientTest, a_relay_lets_go_of_a_client_that_takes_nothing_or_goes) {
  ServerLimits limits = StreamServer::roomy();
  limits.write_time = milliseconds(60);
  StreamServer behind;
  Relay relay(behind.port(), limits);
  RawClient silent(relay.server->port());
  silent.send(get("/give?size=1000000000&said=1000000000"));
  EXPECT_TRUE(soon([&] { return behind.seen.source.gone == 1; }));
  {
    RawClient gone(relay.server->port());
    gone.send(get("/give?size=1000000000&said=1000000000"));
    EXPECT_TRUE(soon([&] { return behind.seen.source.made == 2; }));
  }
  EXPECT_TRUE(soon([&] { return behind.seen.source.gone == 2; }));
  relay.server->shutdown(milliseconds(0));
}

TEST_F(StreamClientTest, ends_with_a_cancellation) {
  script({{{.answer = "", .then = Act::kHang}}});
  asio::cancellation_signal cancel;
  scripted->on_next_request([&] { cancel.emit(asio::cancellation_type::terminal); });
  auto future = asio::co_spawn(loop, exchange(&client(), get_of("/"), {}),
                               asio::bind_cancellation_slot(cancel.slot(), asio::use_future));
  EXPECT_EQ(finish(future).failed, ErrorKind::kCancelled);
}

}  // namespace
}  // namespace base::http::testing
