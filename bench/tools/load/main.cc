#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <exception>
#include <optional>

#include "base/json/json.h"
#include "bench/tools/load/loads.h"
#include "bench/tools/load/raw_echo.h"
#include "bench/tools/load/target.h"

namespace {

int fail(std::string_view message) {
  fmt::print(stderr, "tool_load: {}\n", message);
  return 1;
}

// Runs `task` to its end and prints what it reports.
int run(base::Task<tool::Outcome<std::string>> task) {
  boost::asio::io_context loop(1);
  std::optional<tool::Outcome<std::string>> outcome;
  boost::asio::co_spawn(loop, std::move(task),
                        [&](std::exception_ptr error, tool::Outcome<std::string> result) {
                          if (error) std::terminate();
                          outcome = std::move(result);
                        });
  loop.run();
  if (!outcome) return fail("the load did not end");
  if (!*outcome) {
    const auto& fault = outcome->error();
    return fail(fmt::format("{}: {} {}", tool::name(fault.code), fault.message, fault.detail));
  }
  fmt::print("{}\n", **outcome);
  return 0;
}

struct Flags {
  bench::RawEcho raw;
  bench::Target target;
  bench::CallLoad load;
  std::string tool = "echo.say";
  std::string args = R"({"text":""})";
  bool streams = false;
  std::size_t sessions = 1000;
};

void add_target(CLI::App& command, bench::Target& target) {
  command.add_option("--url", target.url, "Address of the service")->required();
  command.add_option("--mode", target.mode, "encrypted or simple");
  command.add_option("--ca", target.ca_file, "Roots for wss");
}

int run_chosen(const CLI::App& app, Flags& flags) {
  if (app.got_subcommand("raw")) {
    auto text = bench::raw_echo(flags.raw);
    if (!text) return fail(text.error().message());
    fmt::print("{}\n", *text);
    return 0;
  }
  auto options = bench::client_options(flags.target);
  if (!options) return fail(options.error().message());
  auto args = base::json::parse(flags.args);
  if (!args || !args->is_object()) return fail("--args: must be a JSON object");
  flags.load.payload = {{"tool", flags.tool}, {"args", std::move(*args)}};
  if (flags.streams) flags.load.payload["stream"] = true;
  if (app.got_subcommand("lists")) {
    constexpr int kLargestPage = 1'000;
    flags.load.op = tool::session::Op::kCapList;
    flags.load.payload = {{"limit", kLargestPage}};
  }
  base::SystemClock clock;
  base::SystemRandom random;
  bench::Bench bench{*options, clock, random};
  if (app.got_subcommand("handshakes")) return run(bench::run_handshakes(bench, flags.sessions));
  if (app.got_subcommand("idle")) return run(bench::run_idle(bench, flags.sessions));
  return run(bench::run_calls(bench, flags.load));
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Puts a tool service under load; prints one line of JSON");
  app.require_subcommand(1);
  auto* raw = app.add_subcommand("raw", "Echo over bare TCP");
  raw->add_option("--bytes", flags.raw.bytes, "Of a message")->check(CLI::Range(1, 65'536));
  raw->add_option("--count", flags.raw.count, "Messages")->check(CLI::PositiveNumber);
  raw->add_option("--in-flight", flags.raw.in_flight, "Messages")->check(CLI::Range(1, 1024));
  auto* calls = app.add_subcommand("calls", "Calls of a tool");
  add_target(*calls, flags.target);
  calls->add_option("--tool", flags.tool, "Its id");
  calls->add_option("--args", flags.args, "JSON object");
  calls->add_flag("--stream", flags.streams, "Large content comes before the answer, in chunks");
  calls->add_option("--in-flight", flags.load.in_flight, "Calls")->check(CLI::PositiveNumber);
  calls->add_option("--connections", flags.load.connections, "Sessions")
      ->check(CLI::PositiveNumber);
  auto* lists = app.add_subcommand("lists", "Lists of all tools, 1,000 on a page");
  add_target(*lists, flags.target);
  for (auto* command : {calls, lists}) {
    command->add_option("--count", flags.load.count, "Requests")->check(CLI::PositiveNumber);
  }
  for (const char* name : {"handshakes", "idle"}) {
    auto* command = app.add_subcommand(name, "Sessions without calls");
    add_target(*command, flags.target);
    command->add_option("--count", flags.sessions, "Sessions")->check(CLI::PositiveNumber);
  }
  CLI11_PARSE(app, argc, argv);
  return run_chosen(app, flags);
}
