// A program that keeps one session and calls a tool all the time:
//   lasting_client CONFIG SECONDS [TOKEN_FILE]
// CONFIG is that of a client of securetool; TOKEN_FILE is read for each token.
// Prints what became of the calls, of the last one, and how many sessions there
// were: {"E_EXPIRED": 1, "ok": 120, "last": "ok", "sessions": 1}.

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <set>

#include "base/json/json.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/client/secure_client.h"

namespace {

namespace asio = boost::asio;
using Steady = std::chrono::steady_clock;
using tool::client::SecureClient;

constexpr std::chrono::milliseconds kPause{100};

struct Report {
  std::map<std::string, int> seen;
  std::set<std::string> sessions;
  std::string last;

  void add(std::string what) {
    seen[what] += 1;
    last = std::move(what);
  }
};

base::Task<base::Result<base::Secret>> read_token(std::string file) {
  std::ifstream in(file);
  std::string token;
  if (!std::getline(in, token)) {
    co_return base::fail(base::ErrorKind::kUnavailable, "the token file cannot be read");
  }
  co_return base::Secret(token);
}

base::Task<void> call_until(SecureClient& client, Steady::time_point end, Report& report) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  auto session = co_await client.connect();
  if (!session) {
    report.add(std::string(name(session.error().code)));
    co_return;
  }
  while (Steady::now() < end) {
    auto reply = co_await client.invoke_tool("files.stat", {{"path", "notes/welcome.txt"}});
    report.add(reply ? "ok" : std::string(name(reply.error().code)));
    report.sessions.insert(client.session_id());
    pause.expires_after(kPause);
    co_await pause.async_wait(asio::use_awaitable);
  }
  co_await client.disconnect();
}

int fail(std::string_view message) {
  fmt::print(stderr, "lasting_client: {}\n", message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return fail("usage: lasting_client CONFIG SECONDS [TOKEN_FILE]");
  base::config::Places places{{fmt::format("SCP_CONFIG_FILE={}", argv[1])}, {}, "."};
  auto loaded = tool::settings::load(places, tool::settings::Role::kClient);
  if (!loaded) return fail(loaded.error().message());
  auto options = tool::app::client_options(loaded->config);
  if (!options) return fail(options.error().message());
  if (argc == 4) options->fresh_token = [file = std::string(argv[3])] { return read_token(file); };
  base::SystemClock clock;
  base::SystemRandom random;
  asio::io_context loop(1);
  auto client = SecureClient::create(std::move(*options), clock, random);
  if (!client) return fail(client.error().message());
  Report report;
  auto end = Steady::now() + std::chrono::seconds(std::atoi(argv[2]));
  asio::co_spawn(loop, call_until(**client, end, report), [](std::exception_ptr error) {
    if (error) std::terminate();
  });
  loop.run();
  base::json::Object out{{"last", report.last}, {"sessions", report.sessions.size()}};
  for (const auto& [what, count] : report.seen) out[what] = count;
  fmt::print("{}\n", base::json::write(out));
  return 0;
}
