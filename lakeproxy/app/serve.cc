#include <fmt/format.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/http/server.h"
#include "lakeproxy/app/gateway_server.h"
#include "lakeproxy/app/subcommands.h"
#include "lakeproxy/app/worker_services.h"
#include "lakeproxy/ducklake/readers/reader_collector.h"
#include "lakeproxy/http/pipeline.h"
#include "lakeproxy/maintenance/eager/eager_listener.h"

namespace lake::app {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kShutdownGrace{30};
constexpr std::chrono::seconds kOpenRetry{1};
constexpr std::chrono::seconds kCollectReaders{10};

unsigned worker_count(const settings::Settings& settings) {
  if (settings.server.workers > 0) return static_cast<unsigned>(settings.server.workers);
  return std::max(1U, std::thread::hardware_concurrency());
}

base::http::ServerOptions server_options(const settings::Settings& settings) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const settings::Server& from = settings.server;
  base::http::ServerOptions options;
  options.address = from.host;
  options.port = from.port;
  options.limits.body_bytes = from.max_body_bytes;
  options.limits.admission.connections = from.max_connections;
  options.limits.idle = duration_cast<milliseconds>(from.idle_timeout);
  options.limits.request_time = duration_cast<milliseconds>(from.request_timeout);
  if (!from.tls_cert.empty()) {
    options.tls =
        std::make_unique<base::http::TlsFiles>(base::http::TlsFiles{from.tls_cert, from.tls_key});
  }
  return options;
}

// For the opening of a lake: indexes are built for as long as they take, one
// connection keeping the lock meanwhile.
base::pg::PoolOptions opening_options(const settings::Settings& settings) {
  base::pg::PoolOptions options = pool_options(settings);
  options.connections = 2;
  options.statement_time = std::chrono::milliseconds(0);
  return options;
}

// Tries until the lake is open: a server that starts before its database comes
// up by itself. Has no deadline, since a large lake takes long the first time;
// ends early when `stopping` is set and the pool closed.
base::Task<void> open_lake(Shared* shared, base::pg::Pool* pool, std::atomic<bool>* stopping) {
  base::log::Logger log(*shared->log);
  const std::string& catalog = shared->settings->catalog.name;
  auto watch = [&log, &catalog](std::string_view step) {
    log.info("the lake's tables are brought up to date", {{"catalog", catalog}, {"step", step}});
  };
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (!stopping->load()) {
    base::RequestContext patient;
    auto opened =
        co_await ducklake::open_lake(patient, *pool, lake_options(*shared->settings), watch);
    if (opened) {
      shared->opened.store(true, std::memory_order_release);
      log.info("the lake is open", {{"catalog", catalog}});
      pool->close();
      co_return;
    }
    if (stopping->load()) co_return;
    log.error("the lake cannot be opened yet",
              {{"error", opened.error().message()}, {"detail", opened.error().detail()}});
    timer.expires_after(kOpenRetry);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

// What the process does of its own accord, on its first loop.
base::Task<void> open_and_listen(Shared* shared, base::pg::Pool* opening, WorkerServices* services,
                                 maintenance::EagerListener* listener,
                                 std::atomic<bool>* stopping) {
  co_await open_lake(shared, opening, stopping);
  if (!stopping->load()) co_await services->claim_home();
  bool listens = shared->settings->catalog.listener == settings::Listener::kOn;
  if (listens && !stopping->load()) co_await listener->run();
}

// Returns at SIGINT and SIGTERM; calls `reload` at each SIGHUP.
void wait_for_signal(const std::function<void()>& reload) {
  asio::io_context signals(1);
  asio::signal_set set(signals, SIGINT, SIGTERM, SIGHUP);
  int signal = SIGHUP;
  while (signal == SIGHUP) {
    set.async_wait([&signal](boost::system::error_code, int number) { signal = number; });
    signals.restart();
    signals.run();
    if (signal == SIGHUP) reload();
  }
}

int fail_start(const base::Error& error) {
  fmt::print(stderr, "lakeproxy: {}{}{}\n", error.message(), error.detail().empty() ? "" : ": ",
             error.detail());
  return 1;
}

// The process's own services, in the order of their arrows.
class Process {
 public:
  Process(const settings::Settings& settings, base::duckdb::Engine& engine, StepWatches watches)
      : settings_(settings),
        log_({settings.log.format, settings.log.level}, clock_),
        engine_pools_(settings.engine, metrics_, watches.engine_jobs),
        table_cache_(
            {.values = settings.catalog.cache_max, .bytes = settings.catalog.cache_max_bytes},
            metrics_),
        catalogs_(table_cache_),
        manifests_(settings.catalog.manifest_cache_max_bytes, metrics_),
        nan_counting_(settings.engine.nan_count_max_bytes, metrics_),
        copies_(settings.engine.readable_copies_max_bytes, metrics_),
        masks_(metrics_),
        masked_tables_(
            {.values = settings.catalog.cache_max, .bytes = settings.catalog.cache_max_bytes}),
        records_(metrics_),
        issued_keys_(metrics_),
        commits_(metrics_),
        reports_(metrics_),
        compactor_(lake_access(settings, engine.scratch_dir())),
        compactions_(metrics_),
        workers_(worker_count(settings)) {
    if (settings.server.max_requests_per_second > 0) {
      const auto most = static_cast<double>(settings.server.max_requests_per_second);
      requests_.emplace(most, most);
      shared_.requests = &*requests_;
    }
    shared_.steps = watches.commits;
    shared_.compaction_steps = watches.compactions;
    shared_.settings = &settings_;
    shared_.clock = &clock_;
    shared_.random = &random_;
    shared_.log = &log_;
    shared_.metrics = &metrics_;
    shared_.engine = &engine;
    shared_.engine_pools = &engine_pools_;
    shared_.policy_trials = &policy_trials_;
    shared_.records = &records_;
    shared_.issued_keys = &issued_keys_;
    shared_.catalogs = &catalogs_;
    shared_.manifests = &manifests_;
    shared_.nan_counting = &nan_counting_;
    shared_.copies = &copies_;
    shared_.masks = &masks_;
    shared_.masked_tables = &masked_tables_;
    shared_.scan_plans = &scan_plans_;
    shared_.commits = &commits_;
    shared_.reports = &reports_;
    shared_.compactor = &compactor_;
    shared_.compactions = &compactions_;
    shared_.strictness = &strictness_;
  }

  /// Errors: kInvalid  a setting; kUnavailable  the port is taken.
  base::Status start();
  void run();

 private:
  base::Status start_gateway();
  void stop_servers();
  void finish_workers();
  void reload_certificate();
  void log_who_may_come_in(const base::log::Logger& log) const;

  const settings::Settings& settings_;
  base::SystemClock clock_;
  base::SystemRandom random_;
  base::log::LogOutput log_;
  base::metrics::Registry metrics_;
  EnginePools engine_pools_;
  base::BlockingPool policy_trials_{1};
  publish::TableCache table_cache_;
  SharedCatalogs catalogs_;
  publish::ManifestCache manifests_;
  publish::NanCounting nan_counting_;
  publish::CopyWork copies_;
  masked::MaskWork masks_;
  masked::MaskedCache masked_tables_;
  publish::RecordMetrics records_;
  delegation::IssuedKeys issued_keys_;
  planning::ScanPlans scan_plans_{clock_, random_};
  operation::CommitMetrics commits_;
  operation::ReportedMetrics reports_;
  exporter::Compactor compactor_;
  operation::CompactionMetrics compactions_;
  delegation::SharedStrictness strictness_ = delegation::StoreStrictness::kUnknown;
  std::unique_ptr<Authority> authority_;
  std::optional<auth::RateLimits> requests_;
  Shared shared_;
  base::Workers workers_;
  std::vector<std::unique_ptr<WorkerServices>> services_;
  std::unique_ptr<base::http::Server> server_;
  std::unique_ptr<GatewayServer> gateway_;  ///< Null where it is off.
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<base::pg::Pool> opening_;  ///< Of the first loop.
  std::optional<maintenance::EagerRefresh> refresh_;
  std::optional<maintenance::EagerListener> listener_;
  std::optional<ducklake::ReaderCollector> collector_;
  std::vector<std::future<void>> own_work_;
};

base::Status Process::start() {
  ASSIGN_OR_RETURN(authority_, Authority::create(settings_.auth, clock_, random_));
  shared_.authority = authority_.get();
  std::vector<base::http::Handler> handlers;
  for (unsigned i = 0; i < workers_.count(); ++i) {
    ASSIGN_OR_RETURN(auto services,
                     WorkerServices::create(shared_, workers_.loop(i).get_executor()));
    handlers.push_back(http::make_handler(services->routes(), metrics_));
    services_.push_back(std::move(services));
  }
  ASSIGN_OR_RETURN(server_, base::http::Server::start(server_options(settings_), workers_,
                                                      std::move(handlers), http::make_refusal()));
  RETURN_IF_ERROR(start_gateway());
  WorkerServices* first = services_.front().get();
  refresh_.emplace(
      [first](base::RequestContext context, std::string schema) {
        return first->unhurried_of_schema(context, std::move(schema));
      },
      metrics_);
  listener_.emplace(
      maintenance::EagerOptions{pool_options(settings_), lake_options(settings_).metadata_schema},
      *refresh_, base::log::Logger(log_), metrics_);
  opening_ = base::pg::Pool::create(opening_options(settings_));
  own_work_.push_back(asio::co_spawn(
      workers_.loop(0), open_and_listen(&shared_, opening_.get(), first, &*listener_, &stopping_),
      asio::use_future));
  collector_.emplace(
      first->reader_logins(),
      ducklake::CollectorOptions{
          lake_options(settings_).metadata_schema,
          [this] { return shared_.opened.load(std::memory_order_acquire); },
          std::min<std::chrono::milliseconds>(kCollectReaders, settings_.readers.lifetime)},
      base::log::Logger(log_));
  if (settings_.readers.row_security == settings::RowSecurity::kOn) {
    own_work_.push_back(asio::co_spawn(workers_.loop(0), collector_->run(), asio::use_future));
  }
  return {};
}

base::Status Process::start_gateway() {
  if (settings_.gateway.state == settings::GatewayState::kOff) return {};
  std::vector<http::Services*> routes;
  for (auto& services : services_) routes.push_back(&services->routes());
  ASSIGN_OR_RETURN(gateway_,
                   GatewayServer::start(server_options(settings_), shared_, workers_, routes));
  return {};
}

// Together, so that both have the whole grace.
void Process::stop_servers() {
  std::jthread gateway;
  if (gateway_) {
    gateway = std::jthread([this] { gateway_->server().shutdown(kShutdownGrace); });
  }
  server_->shutdown(kShutdownGrace);
}

void Process::run() {
  base::log::Logger log(log_);
  log.info("listening", {{"host", settings_.server.host},
                         {"port", server_->port()},
                         {"workers", workers_.count()},
                         {"catalog", settings_.catalog.name}});
  if (gateway_) log.info("the S3 gateway is on", {{"url", gateway_url(settings_)}});
  log_who_may_come_in(log);
  wait_for_signal([this] { reload_certificate(); });
  log.info("stopping");
  stopping_ = true;
  asio::post(workers_.loop(0), [this] {
    opening_->close();
    listener_->stop();
    collector_->stop();
  });
  stop_servers();
  for (auto& work : own_work_) work.wait();
  finish_workers();
  log.info("stopped");
}

// Connections that are there keep theirs; a file that is broken changes nothing.
void Process::reload_certificate() {
  base::log::Logger log(log_);
  const settings::Server& from = settings_.server;
  if (from.tls_cert.empty()) {
    log.info("nothing to reload", {{"setting", "LAKEPROXY_TLS_CERT"}});
    return;
  }
  auto changed = server_->reload_tls({from.tls_cert, from.tls_key});
  if (!changed) {
    log.error("the certificate was not reloaded",
              {{"error", changed.error().message()}, {"detail", changed.error().detail()}});
    return;
  }
  log.info("the certificate was reloaded", {{"changed", *changed}});
}

void Process::log_who_may_come_in(const base::log::Logger& log) const {
  if (settings_.readers.row_security == settings::RowSecurity::kOff) {
    log.warning(
        "row security is off: whoever may read a namespace gets the login that owns the lake, and "
        "reads and changes everything with it; not for production",
        {{"setting", "LAKEPROXY_RLS"}});
  }
  if (!settings_.masking.fail_closed) {
    log.warning(
        "a table whose policies cannot be told is shown unmasked, unless its masks are in files; 1 "
        "answers 503 instead",
        {{"setting", "LAKEPROXY_GOVERNANCE_FAIL_CLOSED"}});
  }
  if (authority_ == nullptr) {
    log.warning(
        "authentication is off: every caller may do everything; `lakeproxy init` makes an "
        "administrator",
        {{"setting", "LAKEPROXY_OAUTH_CLIENTS_FILE"}});
    return;
  }
  log.info("authentication is on", {{"clients", authority_->clients().size()},
                                    {"provider", settings_.auth.provider.issuer}});
  if (authority_->file_is_open()) {
    log.warning("others on this machine may read the file of clients",
                {{"setting", "LAKEPROXY_OAUTH_CLIENTS_FILE"}});
  }
  const bool in_clear = settings_.server.tls_cert.empty() && settings_.server.host != "127.0.0.1" &&
                        settings_.server.host != "::1" && settings_.server.host != "localhost";
  if (in_clear) {
    log.warning(
        "tokens and secrets travel in clear text beyond this machine, unless something "
        "in front of this server encrypts",
        {{"setting", "LAKEPROXY_TLS_CERT"}});
  }
}

void Process::finish_workers() {
  std::vector<std::future<void>> finished;
  for (unsigned i = 0; i < workers_.count(); ++i) {
    finished.push_back(asio::co_spawn(workers_.loop(i), services_[i]->finish(), asio::use_future));
  }
  for (auto& one : finished) one.wait();
  workers_.join();
  gateway_.reset();
  opening_.reset();
  services_.clear();
}

/// A private folder for the embedded engine, removed with everything in it at
/// the end. Movable, not copyable.
class ScratchFolder {
 public:
  /// Below `parent`, or below the system's temporary folder when it is empty.
  /// Errors: kInvalid  it cannot be made.
  [[nodiscard]] static base::Result<ScratchFolder> create(const std::string& parent);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

base::Result<ScratchFolder> ScratchFolder::create(const std::string& parent) {
  std::error_code error;
  std::filesystem::path base = parent.empty() ? std::filesystem::temp_directory_path(error)
                                              : std::filesystem::absolute(parent, error);
  if (error) {
    return base::fail(base::ErrorKind::kInvalid, "no scratch folder: " + error.message());
  }
  std::string name = (base / "lakeproxy-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return base::fail(base::ErrorKind::kInvalid, "LAKEPROXY_SCRATCH_DIR: cannot make a folder in " +
                                                     base.string() + ": " + std::strerror(errno));
  }
  return ScratchFolder(std::move(name));
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;  // What is left is in the temporary folder.
  std::filesystem::remove_all(path_, ignored);
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

// Secrets of clients, of the store and of PostgreSQL are in memory: no core file, and no other
// process of this user may look. A leak detector has to.
void keep_memory_private() {
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

}  // namespace

int serve(const settings::Settings& settings, StepWatches watches) {
  std::signal(SIGPIPE, SIG_IGN);
  keep_memory_private();
  auto scratch = ScratchFolder::create(settings.engine.scratch_dir);
  if (!scratch) return fail_start(scratch.error());
  base::duckdb::EngineOptions options;
  options.memory_bytes = settings.engine.memory_bytes;
  options.threads = static_cast<unsigned>(settings.engine.threads);
  options.scratch_dir = scratch->path();
  auto engine = base::duckdb::Engine::open(options);
  if (!engine) return fail_start(engine.error());
  Process process(settings, **engine, watches);
  auto started = process.start();
  if (!started) return fail_start(started.error());
  process.run();
  return 0;
}

}  // namespace lake::app
