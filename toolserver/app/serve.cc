#include <fmt/format.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_future.hpp>
#include <csignal>
#include <cstdio>
#include <future>
#include <thread>

#include "toolserver/app/audit_setup.h"
#include "toolserver/app/command.h"
#include "toolserver/app/connectors_setup.h"
#include "toolserver/app/generation.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
using settings::SecureConfig;

int fail_start(const base::Error& error) {
  fmt::print(stderr, "securetool: {}{}{}\n", error.message(), error.detail().empty() ? "" : ": ",
             error.detail());
  return 1;
}

unsigned worker_count(const SecureConfig& config) {
  if (config.server.workers > 0) return static_cast<unsigned>(config.server.workers);
  return std::max(1U, std::thread::hardware_concurrency());
}

base::http::ServerOptions server_options(const SecureConfig& config) {
  base::http::ServerOptions options;
  options.address = config.server.host;
  options.port = config.server.port;
  options.limits.connections = config.limits.connections;
  options.limits.body_bytes = config.limits.message_bytes;
  if (!config.security.tls_enabled) return options;
  options.tls = std::make_unique<base::http::TlsFiles>();
  options.tls->certificate_chain = config.server.tls_cert;
  options.tls->private_key = config.server.tls_key;
  options.tls->minimum = base::http::TlsVersion::kTls13;
  options.tls->client_ca = config.server.client_ca;
  switch (config.server.client_certificate) {
    case settings::ClientCertificate::kNone: break;
    case settings::ClientCertificate::kOptional:
      options.tls->clients = base::http::ClientCertificates::kOptional;
      break;
    case settings::ClientCertificate::kRequired:
      options.tls->clients = base::http::ClientCertificates::kRequired;
      break;
  }
  return options;
}

session::ReplayLimits replay_limits(const SecureConfig& config) {
  return {std::chrono::duration_cast<std::chrono::seconds>(config.security.replay_window),
          config.security.replay_cache_size};
}

// A connector's work blocks a thread for as long as it takes.
constexpr unsigned kBlockingThreads = 8;

// The process's own services, in the order of their arrows.
class Process {
 public:
  Process(const ConfigFlags& flags, const SecureConfig& config,
          std::unique_ptr<audit::AuditLog> audit)
      : flags_(flags),
        log_({config.log.format, config.log.level}, clock_),
        blocking_(kBlockingThreads),
        audit_(std::move(audit)),
        replay_(replay_limits(config), clock_.now(), random_),
        counts_(connection_limits(config.limits)),
        workers_(worker_count(config)),
        shared_{clock_, random_, log_, metrics_, workers_, *audit_, registry_, replay_, counts_} {}

  base::Status start(SecureConfig config);
  /// Returns when a signal has ended the service.
  void run();

 private:
  base::http::Handler handler(unsigned worker);
  void reload();
  void stop();
  void wait_for_signals();

  const ConfigFlags flags_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::log::LogOutput log_;
  base::metrics::Registry metrics_;
  base::BlockingPool blocking_;
  std::unique_ptr<audit::AuditLog> audit_;
  pipeline::ToolRegistry registry_;
  session::ReplayWindow replay_;
  transport::ConnectionCounts counts_;
  base::Workers workers_;
  Shared shared_;
  std::vector<std::unique_ptr<Generation>> generations_;
  std::atomic<Generation*> current_ = nullptr;
  std::unique_ptr<base::http::Server> server_;
};

base::Status Process::start(SecureConfig config) {
  ASSIGN_OR_RETURN(auto connectors, open_connectors(config.connectors, blocking_, random_));
  for (auto& connector : connectors) {
    if (auto added = registry_.add(std::move(connector)); !added) {
      return base::fail(base::ErrorKind::kInvalid, added.error().message);
    }
  }
  auto options = server_options(config);
  ASSIGN_OR_RETURN(auto generation, Generation::create(shared_, std::move(config)));
  current_ = generation.get();
  generations_.push_back(std::move(generation));
  std::vector<base::http::Handler> handlers;
  for (unsigned i = 0; i < workers_.count(); ++i) handlers.push_back(handler(i));
  ASSIGN_OR_RETURN(server_,
                   base::http::Server::start(std::move(options), workers_, std::move(handlers),
                                             transport::make_refusal()));
  return {};
}

base::http::Handler Process::handler(unsigned worker) {
  return [this, worker](base::RequestContext context, base::http::Request request) {
    return current_.load(std::memory_order_acquire)->handler(worker)(context, std::move(request));
  };
}

void Process::run() {
  base::log::Logger log(log_);
  const auto& config = current_.load()->config();
  log.info("listening", {{"host", config.server.host},
                         {"port", server_->port()},
                         {"mode", name(config.core.mode)},
                         {"node", config.core.node_id},
                         {"workers", workers_.count()}});
  wait_for_signals();
  log.info("stopping");
  stop();
  log.info("stopped");
}

void Process::wait_for_signals() {
  asio::io_context signals(1);
  asio::signal_set set(signals, SIGINT, SIGTERM, SIGHUP);
  std::function<void(boost::system::error_code, int)> on_signal =
      [&](boost::system::error_code error, int number) {
        if (error || number != SIGHUP) return;
        reload();
        set.async_wait(on_signal);
      };
  set.async_wait(on_signal);
  signals.run();
}

// All or nothing: until the whole new generation stands, the old one serves.
void Process::reload() {
  base::log::Logger log(log_);
  const auto& config = current_.load()->config();
  auto reloaded = settings::reload(config, flags_.places(), settings::Role::kServer);
  if (!reloaded) {
    log.error("the new configuration is refused; the old one stays in force",
              {{"error", reloaded.error().message()}});
    return;
  }
  auto limits = connection_limits(reloaded->config.limits);
  auto generation = Generation::create(shared_, std::move(reloaded->config));
  if (!generation) {
    log.error("the new configuration is refused; the old one stays in force",
              {{"error", generation.error().message()}});
    return;
  }
  counts_.set_limits(limits);
  current_.store(generation->get(), std::memory_order_release);
  generations_.push_back(std::move(*generation));
  log.info("configuration reloaded",
           {{"changed", fmt::format("{}", fmt::join(reloaded->changed, " "))},
            {"needs_restart", fmt::format("{}", fmt::join(reloaded->needs_restart, " "))}});
}

void Process::stop() {
  shared_.draining = true;
  auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(
      current_.load()->config().server.drain_timeout);
  server_->shutdown(grace);
  std::vector<std::future<void>> finished;
  for (auto& generation : generations_) {
    for (unsigned i = 0; i < workers_.count(); ++i) {
      finished.push_back(asio::co_spawn(workers_.loop(i), generation->finish(i), asio::use_future));
    }
  }
  for (auto& one : finished) one.wait();
  workers_.join();
  generations_.clear();
}

}  // namespace

int serve(const ConfigFlags& flags) {
  std::signal(SIGPIPE, SIG_IGN);
  auto loaded = settings::load(flags.places(), settings::Role::kServer);
  if (!loaded) {
    fmt::print(stderr, "{}\n", loaded.error().message());
    return 2;
  }
  auto signer = checkpoint_signer(loaded->config);
  if (!signer) return fail_start(signer.error());
  base::SystemClock clock;
  base::SystemRandom random;
  auto audit =
      audit::AuditLog::open(audit_options(loaded->config), std::move(*signer), clock, random);
  if (!audit) return fail_start(audit.error());
  Process process(flags, loaded->config, std::move(*audit));
  auto started = process.start(std::move(loaded->config));
  if (!started) return fail_start(started.error());
  process.run();
  return 0;
}

}  // namespace tool::app
