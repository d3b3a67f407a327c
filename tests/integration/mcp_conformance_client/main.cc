// The client of MCP's conformance suite: what a bridge is made of, without the
// service around it. The suite names the scenario in the environment.
//   mcp_conformance_client URL
// Connects, lists the tools, and calls each that a bridge would offer. Ends with
// 0 when the server answered all of it, and with 1 and a reason when not.

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>

#include "base/core/clock.h"
#include "tests/integration/mcp_conformance_client/browser.h"
#include "tests/integration/mcp_conformance_client/scenario.h"
#include "toolserver/mcp_bridge/http_link.h"
#include "toolserver/mcp_login/login.h"
#include "toolserver/mcp_login/redirect_listener.h"

namespace {

namespace asio = boost::asio;
using conformance::Scenario;
using tool::Code;
using tool::Outcome;
using tool::bridge::ForeignTool;
using tool::bridge::HttpLink;
using tool::bridge::ServerSession;

constexpr std::chrono::seconds kTime{60};
constexpr int kRounds = 8;  // Of one call that asks for input.

tool::bridge::LinkEvents events_of(tool::bridge::Unasked& unasked) {
  tool::bridge::LinkEvents events;
  events.asked = [](const tool::mcp::Request& request) {
    return conformance::answer_to(request.method, request.params);
  };
  events.notified = [&unasked](const tool::mcp::Notification& one) { unasked.take(one); };
  return events;
}

tool::bridge::SessionOptions options_of(const Scenario& scenario) {
  tool::bridge::SessionOptions options;
  options.timeout = kTime;
  options.capabilities = {{"elicitation", base::json::Object()}};
  // A server of the older era would answer the newer one's question as it likes.
  options.skip_newest = !tool::mcp::is_stateless(scenario.revision);
  return options;
}

base::Task<Outcome<void>> call_once(ServerSession& session, const ForeignTool& one,
                                    base::json::Object arguments) {
  auto headers = one.headers.of(arguments);
  if (!headers) co_return tool::to_fault(headers.error());
  std::optional<tool::Inputs> inputs;
  for (int round = 0; round < kRounds; ++round) {
    ServerSession::Call call;
    call.name = one.capability.origin_tool;
    call.args = arguments;
    call.deadline = std::chrono::steady_clock::now() + kTime;
    call.headers = *headers;
    call.inputs = std::move(inputs);
    auto result = co_await session.call(std::move(call));
    if (!result) co_return std::move(result).error();
    if (!result->input_needed) co_return Outcome<void>();
    inputs = conformance::inputs_for(*result->input_needed);
    if (!inputs) co_return tool::refuse(Code::kPolicy, "it asks for more than this client has");
  }
  co_return tool::refuse(Code::kLimit, "it asks without end");
}

base::Task<Outcome<void>> use(HttpLink& link, tool::bridge::Unasked& unasked, Scenario scenario) {
  auto options = options_of(scenario);
  auto session = co_await ServerSession::open(link, unasked, options);
  if (!session) co_return std::move(session).error();
  auto listed = co_await (*session)->list(tool::bridge::Listed::kTools);
  if (!listed) co_return std::move(listed).error();
  tool::settings::Bridge bridge;
  bridge.name = "suite";
  bridge.kind = tool::settings::BridgeKind::kHttp;
  auto tools = tool::bridge::read_tools(bridge, *listed);
  for (const auto& [id, seen] : tools.seen) {
    if (!seen.note.empty()) fmt::print(stderr, "{}: left out: {}\n", id, seen.note);
  }
  for (const auto& one : tools.usable) {
    for (auto& arguments : conformance::calls_of(scenario, one, *listed)) {
      auto called = co_await call_once(**session, one, std::move(arguments));
      if (!called) co_return std::move(called).error();
    }
  }
  co_return Outcome<void>();
}

// What the suite gives to the client, as an operator would configure it.
tool::login::LoginOptions login_of(const Scenario& scenario, std::string url) {
  tool::login::LoginOptions options;
  options.bridge = "suite";
  options.server_url = std::move(url);
  options.client_id = scenario.text("client_id");
  options.client_secret = base::Secret(scenario.text("client_secret"));
  options.private_key = base::Secret(scenario.text("private_key_pem"));
  options.client_url = "https://conformance-test.local/client-metadata.json";
  if (scenario.name.starts_with("auth/client-credentials")) {
    options.grant = tool::login::Grant::kClientCredentials;
  }
  return options;
}

// What outlives every connection.
struct Standing {
  base::SystemClock clock;
  base::SystemRandom random;
  base::BlockingPool pool{1};
};

base::Task<int> run(std::string url, Scenario scenario, Standing& standing,
                    tool::login::RedirectListener& listener) {
  co_await asio::this_coro::throw_if_cancelled(false);
  tool::bridge::Unasked unasked;
  tool::bridge::HttpLinkOptions options;
  options.url = url;
  options.timeout = kTime;
  auto loop = co_await asio::this_coro::executor;
  tool::login::LoginParts parts{loop, standing.clock, standing.random, standing.pool};
  parts.person = conformance::browser(listener);
  auto login = tool::login::Login::create(login_of(scenario, url), std::move(parts));
  if (!login) {
    fmt::print(stderr, "{}\n", login.error().message());
    co_return 2;
  }
  options.login = std::move(*login);
  auto held = options.login;
  auto link = HttpLink::create(std::move(options), events_of(unasked), loop);
  if (!link) {
    fmt::print(stderr, "{}\n", link.error().message());
    co_return 2;
  }
  auto used = co_await use(**link, unasked, std::move(scenario));
  (*link)->close();
  co_await (*link)->finish();
  co_await held->wait();
  if (used) co_return 0;
  fmt::print(stderr, "{}: {}: {}\n", name(used.error().code), used.error().message,
             used.error().detail);
  co_return 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto scenario = conformance::read_scenario();
  if (argc != 2 || !scenario) {
    fmt::print(stderr, "usage: mcp_conformance_client URL: {}\n",
               scenario ? "" : scenario.error().message());
    return 2;
  }
  auto listener = tool::login::RedirectListener::start(0);
  if (!listener) {
    fmt::print(stderr, "{}\n", listener.error().message());
    return 2;
  }
  Standing standing;
  asio::io_context loop(1);
  auto code = asio::co_spawn(loop, run(argv[1], std::move(*scenario), standing, **listener),
                             asio::use_future);
  loop.run();
  return code.get();
}
