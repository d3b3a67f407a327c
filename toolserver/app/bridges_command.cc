#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "toolserver/app/command.h"
#include "toolserver/mcp_bridge/sign_in.h"
#include "toolserver/mcp_login/redirect_listener.h"
#include "toolserver/settings/settings.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
using login::LoginStore;
using login::RedirectListener;

// How long a person has for a sign-in.
constexpr std::chrono::minutes kTime{10};

int fail_with(std::string_view message) {
  fmt::print(stderr, "{}\n", base::for_terminal(message));
  return 1;
}

// One bridge of a configuration, and the file of its login.
struct Named {
  settings::Bridge bridge;
  LoginStore store;
};

// Nothing, and said with its exit code, where there is none.
std::optional<Named> find(const ConfigFlags& flags, const std::string& name, int& code) {
  auto loaded = settings::load(flags.places(), settings::Role::kServer);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    code = 2;
    return std::nullopt;
  }
  code = 1;
  const auto& bridges = loaded->config.bridges;
  auto found = std::ranges::find(bridges, name, &settings::Bridge::name);
  if (found == bridges.end() || !found->login) {
    fail_with(name + ": no bridge of this configuration has that name and a section login");
    return std::nullopt;
  }
  auto store = LoginStore::open(loaded->config.logins.path, name);
  if (!store) {
    fail_with(store.error().message());
    return std::nullopt;
  }
  return Named{*found, std::move(*store)};
}

// Printed by itself on a line, so that a terminal makes a link of it. It holds
// no secret: the code verifier stays here.
void show(std::string_view url) {
  fmt::print("Open this address in a browser and sign in:\n\n  {}\n\nWaiting for it here.\n",
             base::for_terminal(url));
  std::fflush(stdout);
}

login::Person person_at(RedirectListener& listener) {
  return {listener.redirect_uri(), [&listener](login::AuthorizationRequest request) {
            listener.expect(std::move(request.state));
            show(request.url);
            return listener.wait(std::chrono::steady_clock::now() + kTime);
          }};
}

Outcome<std::size_t> run(Named& named, RedirectListener& listener) {
  base::SystemClock clock;
  base::SystemRandom random;
  base::BlockingPool pool(1);
  asio::io_context loop(1);
  login::LoginParts parts{loop.get_executor(), clock, random, pool, named.store,
                          person_at(listener)};
  auto done = asio::co_spawn(loop, bridge::sign_in(named.bridge, std::move(parts), kTime),
                             asio::use_future);
  loop.run();
  return done.get();
}

}  // namespace

int login_bridge(const ConfigFlags& flags, const BridgeFlags& which) {
  int code = 0;
  auto named = find(flags, which.name, code);
  if (!named) return code;
  if (named->bridge.login->grant == settings::LoginGrant::kClientCredentials) {
    return fail_with(which.name + ": the service signs in itself (grant = client_credentials)");
  }
  auto listener = RedirectListener::start(named->bridge.login->redirect_port);
  if (!listener) return fail_with(listener.error().message());
  auto tools = run(*named, **listener);
  if (!tools) {
    return fail_with(fmt::format("{}: {}{}{}", which.name, tools.error().message,
                                 tools.error().detail.empty() ? "" : ": ", tools.error().detail));
  }
  fmt::print("signed in at {}; it lists {} tools\n", which.name, *tools);
  return 0;
}

int logout_bridge(const ConfigFlags& flags, const BridgeFlags& which) {
  int code = 0;
  auto named = find(flags, which.name, code);
  if (!named) return code;
  if (auto removed = named->store.remove(); !removed) return fail_with(removed.error().message());
  fmt::print("the login at {} is forgotten here; the authorisation server still knows it\n",
             which.name);
  return 0;
}

}  // namespace tool::app
