#include "base/http/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_future.hpp>
#include <deque>
#include <thread>

#include "base/testing/scripted_server.h"

namespace base::http {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using testing::Act;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedServer;

std::string ok(std::string_view body) { return testing::http_ok(body); }

Origin origin_of(const ScriptedServer& server) {
  return {.host = "127.0.0.1", .port = server.port()};
}

RequestContext within(milliseconds time) {
  return {.deadline = std::chrono::steady_clock::now() + time};
}

ClientRequest get(std::string target = "/") { return {.target = std::move(target)}; }

struct ClientTest : ::testing::Test {
  void serve(std::deque<std::vector<Act>> script) {
    server = std::make_unique<ScriptedServer>(loop, std::move(script));
    options.response_time = milliseconds(5000);
  }
  Client& client() {
    if (client_ == nullptr) client_ = Client::create(origin_of(*server), options);
    return *client_;
  }
  // Runs the loop until this request is answered.
  Result<Response> send(ClientRequest request, milliseconds limit = milliseconds(5000)) {
    auto future =
        asio::co_spawn(loop, client().send(within(limit), std::move(request)), asio::use_future);
    return finish(future);
  }
  template <class T>
  T finish(std::future<T>& future) {
    while (future.wait_for(milliseconds(0)) != std::future_status::ready) {
      if (loop.stopped()) loop.restart();
      loop.run_one();
    }
    return future.get();
  }
  // Lets what the loop has ready happen.
  void settle() {
    loop.restart();
    loop.run_for(milliseconds(20));
  }

  asio::io_context loop{1};
  ClientOptions options;
  std::unique_ptr<ScriptedServer> server;
  std::unique_ptr<Client> client_;
};

ErrorKind kind_of(const Result<Response>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorKind::kInternal : result.error().kind();
}

TEST_F(ClientTest, sends_the_request_and_reads_the_answer) {
  serve(
      {{{.answer = "HTTP/1.1 404 Not Found\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nno"}}});
  ClientRequest request{.method = Method::kPut, .target = "/a?b=c", .body = Body("data")};
  request.headers.add("X-Test", "v");
  auto answer = send(request);
  ASSERT_TRUE(answer) << answer.error().detail();
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body.view(), "no");
  EXPECT_EQ(answer->headers.get("x-A"), "1");
  EXPECT_THAT(server->requests(),
              ElementsAre("PUT /a?b=c HTTP/1.1\r\nHost: " + origin_of(*server).authority() +
                          "\r\nX-Test: v\r\nContent-Length: 4\r\n\r\ndata"));
}

TEST_F(ClientTest, reads_a_chunked_answer) {
  serve({{{.answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n"},
          {.answer = ok("next")}}});
  auto answer = send(get());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body.view(), "abcde");
  EXPECT_EQ(send(get())->body.view(), "next");
  EXPECT_THAT(server->connections(), ElementsAre(1, 1));
}

TEST_F(ClientTest, reads_an_answer_that_ends_with_its_connection) {
  serve({{{.answer = "HTTP/1.1 200 OK\r\n\r\nto the end", .then = Act::kClose}},
         {{.answer = ok("next")}}});
  EXPECT_EQ(send(get())->body.view(), "to the end");
  EXPECT_EQ(send(get())->body.view(), "next");
  EXPECT_THAT(server->connections(), ElementsAre(1, 2));
}

TEST_F(ClientTest, expects_no_body_in_the_answer_to_head) {
  serve({{{.answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"}, {.answer = ok("x")}}});
  auto answer = send({.method = Method::kHead, .target = "/"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body.size(), 0);
  EXPECT_EQ(answer->headers.get("Content-Length"), "1000000");
  EXPECT_EQ(send(get())->body.view(), "x");
  EXPECT_THAT(server->connections(), ElementsAre(1, 1));
}

TEST_F(ClientTest, reads_past_interim_answers) {
  serve({{{.answer = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("final")}}});
  EXPECT_EQ(send(get())->body.view(), "final");
}

TEST_F(ClientTest, gives_up_on_endless_interim_answers) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += "HTTP/1.1 103 Early Hints\r\n\r\n";
  serve({{{.answer = many + ok("final")}}});
  EXPECT_EQ(kind_of(send(get())), ErrorKind::kOutcomeUnknown);
}

TEST_F(ClientTest, opens_a_new_connection_when_the_server_asks_to_close) {
  serve({{{.answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"}},
         {{.answer = ok("b")}}});
  ASSERT_TRUE(send(get()));
  ASSERT_TRUE(send(get()));
  EXPECT_THAT(server->connections(), ElementsAre(1, 2));
}

TEST_F(ClientTest, does_not_reuse_a_connection_with_bytes_nobody_asked_for) {
  serve({{{.answer = ok("a") + ok("forged")}, {.answer = ok("late")}}, {{.answer = ok("b")}}});
  ASSERT_TRUE(send(get()));
  EXPECT_EQ(send(get())->body.view(), "b");
}

TEST_F(ClientTest, does_not_use_a_kept_connection_that_was_closed_meanwhile) {
  serve({{{.answer = ok("a"), .then = Act::kClose}}, {{.answer = ok("b")}}});
  ASSERT_TRUE(send(get()));
  settle();
  // Not even for a method that could not be repeated.
  auto answer = send({.method = Method::kPost, .target = "/"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body.view(), "b");
}

// The server reads the second request on the kept connection and closes.
std::deque<std::vector<Act>> closes_on_second_request() {
  return {{{.answer = ok("a")}, {.then = Act::kClose}}, {{.answer = ok("b")}}};
}

TEST_F(ClientTest, repeats_idempotent_requests_when_a_kept_connection_is_closed) {
  for (Method method : {Method::kGet, Method::kHead, Method::kPut, Method::kDelete}) {
    client_.reset();
    serve(closes_on_second_request());
    ASSERT_TRUE(send(get()));
    auto answer = send({.method = method, .target = "/", .body = Body("x")});
    ASSERT_TRUE(answer) << to_string(method);
    EXPECT_THAT(server->connections(), ElementsAre(1, 1, 2)) << to_string(method);
  }
}

TEST_F(ClientTest, does_not_repeat_a_post) {
  serve(closes_on_second_request());
  ASSERT_TRUE(send(get()));
  EXPECT_EQ(kind_of(send({.method = Method::kPost, .target = "/"})), ErrorKind::kOutcomeUnknown);
  EXPECT_THAT(server->connections(), ElementsAre(1, 1));
}

TEST_F(ClientTest, repeats_only_once_and_only_on_a_kept_connection) {
  serve({{{.then = Act::kClose}}, {{.answer = ok("b")}}});
  EXPECT_EQ(kind_of(send(get())), ErrorKind::kOutcomeUnknown);
  client_.reset();
  serve({{{.answer = ok("a")}, {.then = Act::kClose}},
         {{.then = Act::kClose}},
         {{.answer = ok("c")}}});
  ASSERT_TRUE(send(get()));
  EXPECT_EQ(kind_of(send(get())), ErrorKind::kOutcomeUnknown);
  EXPECT_THAT(server->connections(), ElementsAre(1, 1, 2));
}

TEST_F(ClientTest, does_not_repeat_when_part_of_an_answer_came) {
  for (std::string part :
       {"H", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    client_.reset();
    serve({{{.answer = ok("a")}, {.answer = part, .then = Act::kClose}}, {{.answer = ok("b")}}});
    ASSERT_TRUE(send(get()));
    EXPECT_EQ(kind_of(send(get())), ErrorKind::kOutcomeUnknown) << part;
    EXPECT_THAT(server->connections(), ElementsAre(1, 1)) << part;
  }
}

TEST_F(ClientTest, refuses_an_answer_that_is_not_http) {
  for (std::string text : {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                           "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"}) {
    client_.reset();
    serve({{{.answer = text, .then = Act::kClose}}});
    EXPECT_EQ(kind_of(send(get())), ErrorKind::kOutcomeUnknown) << text;
  }
}

TEST_F(ClientTest, bounds_the_answer) {
  struct Case {
    const char* name;
    std::string answer;
    bool fits;
  };
  std::string exact(100, 'x');
  std::string over(101, 'x');
  std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  auto header = [](std::size_t total) {
    std::string start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
    return start + std::string(total - start.size() - 4, 'x') + "\r\n\r\n";
  };
  for (const Case& c : std::vector<Case>{
           {"body at the bound", ok(exact), true},
           {"body over the bound", ok(over), false},
           {"chunked at the bound", chunked + "64\r\n" + exact + "\r\n0\r\n\r\n", true},
           {"chunked over the bound", chunked + "65\r\n" + over + "\r\n0\r\n\r\n", false},
           {"endless", "HTTP/1.1 200 OK\r\n\r\n" + over, false},
           {"claimed length", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", false},
           {"header under the bound", header(1000), true},
           {"header over the bound", header(1100), false}}) {
    client_.reset();
    options.body_bytes = 100;
    options.header_bytes = 1024;
    serve({{{.answer = c.answer}}});
    auto answer = send(get());
    EXPECT_EQ(answer.has_value(), c.fits) << c.name;
    if (!c.fits) {
      EXPECT_EQ(kind_of(answer), ErrorKind::kTooLarge) << c.name;
    }
  }
}

TEST_F(ClientTest, a_read_that_is_not_answered_in_time_is_a_timeout) {
  serve({{{.then = Act::kHang}}, {{.answer = ok("b")}}});
  EXPECT_EQ(kind_of(send(get(), milliseconds(30))), ErrorKind::kTimeout);
  EXPECT_EQ(send(get())->body.view(), "b");
  EXPECT_THAT(server->connections(), ElementsAre(1, 2));
}

TEST_F(ClientTest, response_time_bounds_a_request_without_a_deadline) {
  serve({{{.answer = "HTTP/1.1 200 OK\r\n", .then = Act::kHang}}});
  options.response_time = milliseconds(30);
  auto future = asio::co_spawn(loop, client().send(RequestContext{}, get()), asio::use_future);
  EXPECT_EQ(kind_of(finish(future)), ErrorKind::kTimeout);
}

TEST_F(ClientTest, a_change_that_is_not_answered_in_time_is_unknown) {
  for (Method method : {Method::kPut, Method::kPost, Method::kDelete}) {
    client_.reset();
    serve({{{.then = Act::kHang}}});
    EXPECT_EQ(kind_of(send({.method = method, .target = "/"}, milliseconds(30))),
              ErrorKind::kOutcomeUnknown);
  }
}

TEST_F(ClientTest, a_body_the_server_does_not_take_in_time_was_not_carried_out) {
  serve({{{.answer = "", .then = Act::kHang, .when = Act::kAtOnce}}});
  ClientRequest request{.method = Method::kPut, .target = "/"};
  request.body = Body(std::string(32 * 1024 * 1024, 'x'));
  EXPECT_EQ(kind_of(send(request, milliseconds(200))), ErrorKind::kTimeout);
}

// One turn is the connection's: then all is sent although the time is up, and nobody may wait for
// the answer any more.
TEST_F(ClientTest, time_may_run_out_at_any_turn_of_the_loop) {
  for (int turns = 0; turns < 30; ++turns) {
    client_.reset();
    serve({{{.then = Act::kHang}}});
    ClientRequest request{.method = Method::kPut, .target = "/", .body = Body("data")};
    auto future = asio::co_spawn(loop, client().send(within(milliseconds(10)), std::move(request)),
                                 asio::use_future);
    loop.restart();
    for (int i = 0; i < turns; ++i) loop.poll_one();
    std::this_thread::sleep_for(milliseconds(12));
    EXPECT_THAT(kind_of(finish(future)), AnyOf(ErrorKind::kTimeout, ErrorKind::kOutcomeUnknown))
        << turns;
  }
}

TEST_F(ClientTest, an_expired_deadline_is_a_timeout) {
  serve({{{.answer = ok("a")}}});
  EXPECT_EQ(kind_of(send(get(), milliseconds(-1))), ErrorKind::kTimeout);
}

TEST_F(ClientTest, a_server_that_is_not_there_is_unavailable) {
  serve({});
  Origin origin = origin_of(*server);
  server->close();
  client_ = Client::create(origin, options);
  EXPECT_EQ(kind_of(send(get())), ErrorKind::kUnavailable);
  client_ = Client::create({.host = "name.invalid", .port = 1}, options);
  EXPECT_EQ(kind_of(send(get())), ErrorKind::kUnavailable);
}

TEST_F(ClientTest, takes_an_early_refusal_while_the_body_is_still_on_its_way) {
  serve({{{.answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n",
           .then = Act::kHang,
           .when = Act::kAtOnce}}});
  ClientRequest request{.method = Method::kPut, .target = "/", .body = Body("small")};
  auto answer = send(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
}

TEST_F(ClientTest, requests_wait_for_a_connection_in_order) {
  serve({{{.answer = ok("0")}, {.answer = ok("1")}, {.answer = ok("2")}, {.answer = ok("3")}}});
  options.connections = 1;
  std::vector<std::future<Result<Response>>> futures;
  for (int i = 0; i < 4; ++i) {
    futures.push_back(
        asio::co_spawn(loop, client().send(within(milliseconds(5000)), get(fmt::format("/{}", i))),
                       asio::use_future));
  }
  for (int i = 0; i < 4; ++i) {
    auto answer = finish(futures[static_cast<std::size_t>(i)]);
    ASSERT_TRUE(answer) << answer.error().detail();
    EXPECT_EQ(answer->body.view(), std::to_string(i));
    EXPECT_TRUE(
        server->requests()[static_cast<std::size_t>(i)].starts_with(fmt::format("GET /{} ", i)));
  }
  EXPECT_THAT(server->connections(), ElementsAre(1, 1, 1, 1));
}

TEST_F(ClientTest, a_request_that_waits_too_long_leaves_the_queue) {
  serve({{{.then = Act::kHang}}, {{.answer = ok("b")}}});
  options.connections = 1;
  auto first = asio::co_spawn(loop, client().send(within(milliseconds(100)), get("/first")),
                              asio::use_future);
  auto second = asio::co_spawn(loop, client().send(within(milliseconds(20)), get("/second")),
                               asio::use_future);
  auto third = asio::co_spawn(loop, client().send(within(milliseconds(5000)), get("/third")),
                              asio::use_future);
  EXPECT_EQ(kind_of(finish(second)), ErrorKind::kTimeout);
  EXPECT_EQ(kind_of(finish(first)), ErrorKind::kTimeout);
  EXPECT_EQ(finish(third)->body.view(), "b");
  EXPECT_EQ(server->requests().size(), 2);
}

TEST_F(ClientTest, a_cancelled_request_ends_and_its_connection_is_not_reused) {
  serve({{{.then = Act::kHang}}, {{.answer = ok("b")}}});
  options.connections = 1;
  asio::cancellation_signal cancel;
  server->on_next_request(
      [&] { asio::post(loop, [&] { cancel.emit(asio::cancellation_type::terminal); }); });
  std::optional<Result<Response>> first;
  asio::co_spawn(loop, client().send(within(milliseconds(5000)), get("/first")),
                 asio::bind_cancellation_slot(
                     cancel.slot(), [&](std::exception_ptr thrown, Result<Response> result) {
                       EXPECT_FALSE(thrown);
                       first.emplace(std::move(result));
                     }));
  EXPECT_EQ(send(get("/second"))->body.view(), "b");
  ASSERT_TRUE(first);
  EXPECT_EQ(kind_of(*first), ErrorKind::kCancelled);
  EXPECT_THAT(server->connections(), ElementsAre(1, 2));
}

TEST_F(ClientTest, a_request_cancelled_in_the_queue_gives_up_its_place) {
  serve({{{.answer = ok("0")}, {.answer = ok("2")}}});
  options.connections = 1;
  asio::cancellation_signal cancel;
  auto first =
      asio::co_spawn(loop, client().send(within(milliseconds(5000)), get("/0")), asio::use_future);
  std::optional<Result<Response>> second;
  asio::co_spawn(
      loop, client().send(within(milliseconds(5000)), get("/1")),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr, Result<Response> result) {
        second.emplace(std::move(result));
      }));
  server->on_next_request([&] { cancel.emit(asio::cancellation_type::terminal); });
  EXPECT_EQ(finish(first)->body.view(), "0");
  EXPECT_EQ(send(get("/2"))->body.view(), "2");
  ASSERT_TRUE(second);
  EXPECT_EQ(kind_of(*second), ErrorKind::kCancelled);
  EXPECT_EQ(server->requests().size(), 2);
}

TEST_F(ClientTest, names_below_localhost_are_this_machine) {
  for (const char* name : {"lakehouse.localhost", "a.b.LocalHost"}) {
    serve({{{.answer = ok("here")}}});
    client_ = Client::create({.host = name, .port = server->port()}, options);
    auto answer = send(get());
    ASSERT_TRUE(answer) << name << ": " << answer.error().detail();
    // The server is told the name that was asked for.
    EXPECT_THAT(server->requests()[0], HasSubstr(std::string("Host: ") + name + ":"));
  }
  for (const char* name : {"localhost.invalid", "lakehouselocalhost.invalid"}) {
    client_ = Client::create({.host = name, .port = server->port()}, options);
    EXPECT_FALSE(send(get(), milliseconds(1000))) << name;
  }
}

TEST_F(ClientTest, requests_left_waiting_are_torn_down_with_their_loop) {
  auto own = std::make_unique<asio::io_context>(1);
  auto silent =
      std::make_unique<ScriptedServer>(*own, std::deque<std::vector<Act>>{{{.then = Act::kHang}}});
  options.connections = 1;
  auto client = Client::create(origin_of(*silent), options);
  for (int i = 0; i < 3; ++i) {
    asio::co_spawn(*own, client->send(within(milliseconds(60'000)), get()), asio::detached);
  }
  own->run_for(milliseconds(50));
  client.reset();
  silent.reset();
  own.reset();
}

TEST_F(ClientTest, refuses_what_would_break_out_of_its_line) {
  struct Case {
    const char* name;
    ClientRequest request;
  };
  auto with = [](const char* name, const char* value) {
    ClientRequest request = get();
    request.headers.add(name, value);
    return request;
  };
  serve({{{.answer = ok("a")}}});
  for (const Case& c :
       std::vector<Case>{{"no target", get("")},
                         {"target without slash", get("a")},
                         {"target with a space", get("/a b")},
                         {"target with a line break", get("/a\r\nX: y")},
                         {"target with a fragment", get("/a#b")},
                         {"target with a high byte", get("/\xc3\xa4")},
                         {"field value with a line break", with("X", "a\r\nY: b")},
                         {"field value with a null", with("X", "a\x01")},
                         {"empty field name", with("", "a")},
                         {"field name with a colon", with("X: y", "a")},
                         {"framing of its own", with("transfer-encoding", "chunked")},
                         {"a method without a name", {.method = Method::kOther, .target = "/"}}}) {
    EXPECT_EQ(kind_of(send(c.request)), ErrorKind::kInvalid) << c.name;
  }
  EXPECT_TRUE(server->requests().empty());
  ASSERT_TRUE(send(with("Content-Length", "77")));
  EXPECT_EQ(server->requests()[0].find("Content-Length: 77"), std::string::npos);
}

}  // namespace
}  // namespace base::http
