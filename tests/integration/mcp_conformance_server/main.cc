// The tool service with what MCP's conformance suite calls by name, and for the
// rest as it is: the same configuration, the same gate.
//   mcp_conformance_server serve --config FILE

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "tests/integration/mcp_conformance_server/fixture_providers.h"
#include "tests/integration/mcp_conformance_server/fixture_tools.h"
#include "toolserver/app/secure_server.h"

namespace {

int fail(std::string_view message) {
  fmt::print(stderr, "mcp_conformance_server: {}\n", message);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (auto code = tool::app::run_if_child(argc, argv)) return *code;
  if (argc != 4 || std::string_view(argv[1]) != "serve") return fail("usage: serve --config FILE");
  boost::asio::io_context loop(1);
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  base::config::Places places{{fmt::format("SCP_CONFIG_FILE={}", argv[3])}, {}, "."};
  auto loaded = tool::settings::load(places, tool::settings::Role::kServer);
  if (!loaded) return fail(loaded.error().message());
  auto tools = std::make_shared<conformance::FixtureTools>();
  tool::app::Extensions extensions;
  extensions.connectors.push_back(tools);
  extensions.providers = conformance::fixture_providers();
  extensions.providers.only_as_tasks = {"fixture.failing_job"};
  // The tools run when the first client calls, which is after it is set.
  std::atomic<tool::app::SecureServer*> running = nullptr;
  tools->tell = [&running](const tool::mcp_ingress::Change& change) {
    if (auto* server = running.load()) server->tell(change);
  };
  auto server = tool::app::SecureServer::start(loaded->config, std::move(extensions));
  if (!server) return fail(server.error().message());
  running = server->get();
  signals.async_wait([&](boost::system::error_code, int) { loop.stop(); });
  loop.run();
  (*server)->stop();
  return 0;
}
