#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <utility>

#include "base/core/text.h"
#include "toolserver/app/client_tools.h"
#include "toolserver/app/command.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/client/secure_client.h"
#include "toolserver/mcp_ingress/few_tools.h"
#include "toolserver/mcp_ingress/stdio_server.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;

// Standard output is the protocol's.
int say(std::string_view message) {
  fmt::print(stderr, "securetool mcp: {}\n", base::for_terminal(message));
  return 1;
}

// The service knows who calls; here it is one client, which is this process's own.
std::shared_ptr<const Principal> owner() {
  Principal principal;
  principal.subject = "stdio";
  principal.expires_at = base::WallTime::max();
  return std::make_shared<const Principal>(std::move(principal));
}

base::Task<int> serve(client::SecureClient& client, const mcp_ingress::Dispatcher& dispatcher,
                      mcp_ingress::ToolsWanted wanted) {
  auto session = co_await client.connect();
  if (!session) {
    co_return say(fmt::format("{}: {}", name(session.error().code), session.error().message));
  }
  mcp_ingress::StdioOptions options;
  options.caller = owner();
  options.wanted = wanted;
  auto served = co_await mcp_ingress::serve_lines(dispatcher, std::move(options));
  co_await client.disconnect();
  co_return served ? 0 : say(served.error().message());
}

}  // namespace

int serve_mcp(const ConfigFlags& flags, const McpFlags& mcp) {
  std::signal(SIGPIPE, SIG_IGN);
  auto loaded = settings::load(flags.places(), settings::Role::kClient);
  if (!loaded) {
    say(loaded.error().message());
    return 2;
  }
  base::SystemClock clock;
  base::SystemRandom random;
  auto options = client_options(loaded->config);
  if (!options) {
    say(options.error().message());
    return 2;
  }
  asio::io_context loop(1);
  auto client = client::SecureClient::create(std::move(*options), clock, random);
  if (!client) {
    say(client.error().message());
    return 2;
  }
  ClientTools tools(**client);
  mcp_ingress::FewTools few(tools, loaded->config.mcp.search_above);
  mcp_ingress::RequestStates states(clock, random);
  mcp_ingress::DispatchOptions dispatch;
  dispatch.server_version = SECURETOOL_VERSION;
  if (auto oldest = mcp::revision_of(loaded->config.mcp.minimum_version)) {
    dispatch.minimum = *oldest;
  }
  mcp_ingress::Dispatcher dispatcher(std::move(dispatch), few, {}, states);
  auto wanted = mcp_ingress::tools_wanted(mcp.tools).value_or(mcp_ingress::ToolsWanted::kDefault);
  std::optional<int> code;
  asio::co_spawn(loop, serve(**client, dispatcher, wanted),
                 [&](std::exception_ptr error, int result) {
                   if (error) std::terminate();
                   code = result;
                 });
  loop.run();
  return code.value_or(1);
}

}  // namespace tool::app
