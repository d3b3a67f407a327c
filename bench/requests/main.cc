#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <deque>
#include <exception>

#include "bench/requests/client.h"

namespace {

int fail(const base::Error& error) {
  fmt::print(stderr, "request_load: {} {}\n", error.message(), error.detail());
  return 1;
}

// All clients at once; the first failure of any of them.
base::Status run_all(boost::asio::io_context& loop, std::deque<bench::ScriptedClient>& clients) {
  base::Status all;
  for (auto& client : clients) {
    boost::asio::co_spawn(loop, client.run(), [&](std::exception_ptr error, base::Status done) {
      if (error) std::terminate();
      if (!done && all) all = std::move(done);
    });
  }
  loop.run();
  return all;
}

std::string with_conflicts(std::string report, const std::deque<bench::ScriptedClient>& clients) {
  std::size_t conflicts = 0;
  std::size_t given_up = 0;
  for (const auto& client : clients) {
    conflicts += client.conflicts();
    given_up += client.given_up();
  }
  report.pop_back();
  return fmt::format("{},\"conflicts\":{},\"given_up\":{}}}", report, conflicts, given_up);
}

int run(const std::string& url, const std::string& folder) {
  auto origin = base::http::Origin::parse(url);
  if (!origin) return fail(origin.error());
  auto scripts = bench::read_scripts(folder);
  if (!scripts) return fail(scripts.error());
  bench::Samples samples(scripts->size() * scripts->front().size());
  boost::asio::io_context loop(1);
  std::deque<bench::ScriptedClient> clients;
  for (auto& script : *scripts) {
    const auto number = static_cast<unsigned>(clients.size());
    clients.emplace_back(*origin, std::move(script), samples, number);
  }
  const double cpu = bench::own_cpu_seconds();
  const auto start = bench::Steady::now();
  auto done = run_all(loop, clients);
  const auto total = bench::Steady::now() - start;
  if (!done) return fail(done.error());
  fmt::print("{}\n", with_conflicts(bench::report(samples, total, bench::own_cpu_seconds() - cpu),
                                    clients));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string url;
  std::string folder;
  CLI::App app("Puts an HTTP server under a load of scripts; prints one line of JSON");
  app.add_option("--url", url, "Scheme, host and port of the server")->required();
  app.add_option("folder", folder, "One file for each client")->required();
  CLI11_PARSE(app, argc, argv);
  return run(url, folder);
}
