#include "toolserver/app/secure_server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "toolserver/app/audit_setup.h"
#include "toolserver/app/connectors_setup.h"
#include "toolserver/app/generation.h"
#include "toolserver/settings/validate.h"

namespace tool::app {
namespace {

namespace asio = boost::asio;
using settings::SecureConfig;

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

// Every fault on a line of its own.
base::Status check(const SecureConfig& config) {
  auto findings = settings::validate(config, settings::Role::kServer);
  for (auto& finding : settings::check_files(config, settings::Role::kServer)) {
    findings.push_back(std::move(finding));
  }
  if (findings.empty()) return {};
  std::string lines;
  for (const auto& finding : findings) {
    lines += fmt::format("{}{}: {}", lines.empty() ? "" : "\n", finding.setting, finding.rule);
  }
  return base::fail(base::ErrorKind::kInvalid, std::move(lines));
}

}  // namespace

// Everything the process has one of, in the order of its arrows.
class SecureServer::Parts {
 public:
  explicit Parts(const SecureConfig& config)
      : log_({config.log.format, config.log.level}, clock_),
        blocking_(kBlockingThreads),
        replay_(replay_limits(config), clock_.now(), random_),
        counts_(connection_limits(config.limits)),
        workers_(worker_count(config)) {}
  ~Parts() { stop(); }

  base::Status start(SecureConfig config);
  base::Result<settings::Reloaded> reload(const base::config::Places& places);
  void stop();
  [[nodiscard]] std::uint16_t port() const { return server_->port(); }
  [[nodiscard]] base::log::Logger log() { return base::log::Logger(log_); }

 private:
  base::Status open_parts(const SecureConfig& config);
  base::http::Handler handler(unsigned worker);

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
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Generation>> generations_;
  std::atomic<Generation*> current_ = nullptr;
  std::unique_ptr<base::http::Server> server_;
};

base::Status SecureServer::Parts::open_parts(const SecureConfig& config) {
  ASSIGN_OR_RETURN(auto signer, checkpoint_signer(config));
  ASSIGN_OR_RETURN(
      audit_, audit::AuditLog::open(audit_options(config), std::move(signer), clock_, random_));
  ASSIGN_OR_RETURN(auto connectors, open_connectors(config.connectors, blocking_, random_));
  for (auto& connector : connectors) {
    if (auto added = registry_.add(std::move(connector)); !added) {
      return base::fail(base::ErrorKind::kInvalid, added.error().message);
    }
  }
  shared_.reset(
      new Shared{clock_, random_, log_, metrics_, workers_, *audit_, registry_, replay_, counts_});
  return {};
}

base::Status SecureServer::Parts::start(SecureConfig config) {
  RETURN_IF_ERROR(open_parts(config));
  auto options = server_options(config);
  ASSIGN_OR_RETURN(auto generation, Generation::create(*shared_, std::move(config)));
  current_ = generation.get();
  generations_.push_back(std::move(generation));
  std::vector<base::http::Handler> handlers;
  for (unsigned i = 0; i < workers_.count(); ++i) handlers.push_back(handler(i));
  ASSIGN_OR_RETURN(server_,
                   base::http::Server::start(std::move(options), workers_, std::move(handlers),
                                             transport::make_refusal()));
  return {};
}

base::http::Handler SecureServer::Parts::handler(unsigned worker) {
  return [this, worker](base::RequestContext context, base::http::Request request) {
    return current_.load(std::memory_order_acquire)->handler(worker)(context, std::move(request));
  };
}

// Until the whole new generation stands, the old one serves.
base::Result<settings::Reloaded> SecureServer::Parts::reload(const base::config::Places& places) {
  ASSIGN_OR_RETURN(auto reloaded,
                   settings::reload(current_.load()->config(), places, settings::Role::kServer));
  ASSIGN_OR_RETURN(auto generation, Generation::create(*shared_, reloaded.config));
  counts_.set_limits(connection_limits(reloaded.config.limits));
  current_.store(generation.get(), std::memory_order_release);
  generations_.push_back(std::move(generation));
  return reloaded;
}

void SecureServer::Parts::stop() {
  if (!server_) return;
  shared_->draining = true;
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
  server_.reset();
}

SecureServer::SecureServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SecureServer::~SecureServer() = default;

base::Result<std::unique_ptr<SecureServer>> SecureServer::start(SecureConfig config) {
  RETURN_IF_ERROR(check(config));
  auto parts = std::make_unique<Parts>(config);
  RETURN_IF_ERROR(parts->start(std::move(config)));
  return std::unique_ptr<SecureServer>(new SecureServer(std::move(parts)));
}

std::uint16_t SecureServer::port() const { return parts_->port(); }
base::log::Logger SecureServer::log() const { return parts_->log(); }
void SecureServer::stop() { parts_->stop(); }

base::Result<settings::Reloaded> SecureServer::reload(const base::config::Places& places) {
  return parts_->reload(places);
}

}  // namespace tool::app
