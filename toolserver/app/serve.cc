#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>

#include "toolserver/app/command.h"
#include "toolserver/app/secure_server.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;

void reload(SecureServer& server, const ConfigFlags& flags) {
  auto reloaded = server.reload(flags.places());
  if (!reloaded) {
    server.log().error("the new configuration is refused; the old one stays in force",
                       {{"error", reloaded.error().message()}});
    return;
  }
  server.log().info(
      "configuration reloaded",
      {{"changed", fmt::format("{}", fmt::join(reloaded->changed, " "))},
       {"needs_restart", fmt::format("{}", fmt::join(reloaded->needs_restart, " "))}});
}

// Keys and tokens are in this memory: it goes into no core dump, and no other
// process of the same user may look into it. A leak detector has to.
void close_memory() {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

// SIGHUP reloads; SIGINT and SIGTERM end it. Signals are caught from the moment
// it is made, so that one that comes during the start is not lost and does not
// kill: it waits for wait().
class Signals {
 public:
  Signals() : loop_(1), signals_(loop_, SIGINT, SIGTERM, SIGHUP) { std::signal(SIGPIPE, SIG_IGN); }

  void wait(SecureServer& server, const ConfigFlags& flags) {
    listen(server, flags);
    loop_.run();
  }

 private:
  void listen(SecureServer& server, const ConfigFlags& flags) {
    signals_.async_wait([&](boost::system::error_code error, int number) {
      if (error || number != SIGHUP) return;
      reload(server, flags);
      listen(server, flags);
    });
  }

  asio::io_context loop_;
  asio::signal_set signals_;
};

}  // namespace

int serve(const ConfigFlags& flags, Extensions extensions) {
  close_memory();
  Signals signals;
  auto loaded = settings::load(flags.places(), settings::Role::kServer);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  const settings::SecureConfig config = loaded->config;
  auto server = SecureServer::start(config, std::move(extensions));
  if (!server) {
    bool running = server.error().kind() == base::ErrorKind::kConflict;
    fmt::print(stderr, "securetool: {}{}{}{}\n", server.error().message(),
               server.error().detail().empty() ? "" : ": ", server.error().detail(),
               running ? "; another `securetool serve` is running with this configuration" : "");
    return 1;
  }
  (*server)->log().info("listening", {{"host", config.server.host},
                                      {"port", (*server)->port()},
                                      {"mode", name(config.core.mode)},
                                      {"node", config.core.node_id}});
  signals.wait(**server, flags);
  (*server)->log().info("stopping");
  (*server)->stop();
  (*server)->log().info("stopped");
  return 0;
}

}  // namespace tool::app
