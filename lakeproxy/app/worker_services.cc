#include "lakeproxy/app/worker_services.h"

#include "base/json/json.h"
#include "lakeproxy/measure/measured_pool.h"

namespace lake::app {

base::pg::PoolOptions pool_options(const settings::Settings& settings) {
  const settings::Postgres& from = settings.postgres;
  base::pg::PoolOptions options;
  options.host = from.host;
  options.port = std::to_string(from.port);
  options.user = from.user;
  options.database = from.database;
  options.password = from.password;
  options.application_name = "lakeproxy";
  options.connections = from.connections_per_worker;
  options.tls_mode = from.tls_mode;
  options.tls_root_certificates = from.tls_roots;
  return options;
}

objects::StoreOptions store_options(const settings::Settings& settings) {
  const settings::Storage& from = settings.storage;
  objects::StoreOptions options;
  options.endpoint = from.endpoint;
  options.region = from.region;
  options.bucket = from.bucket;
  options.access_key = from.root_key.reveal();
  options.secret_key = from.root_secret;
  options.addressing = from.addressing == settings::Addressing::kPath
                           ? objects::Addressing::kPath
                           : objects::Addressing::kVirtualHost;
  options.ca_file = from.ca_file;
  return options;
}

ducklake::LakeOptions lake_options(const settings::Settings& settings) {
  ducklake::LakeOptions options;
  options.catalog = settings.catalog.name;
  options.metadata_schema = "public";
  options.data_path = "s3://" + settings.storage.bucket + "/" + settings.storage.prefix;
  options.default_format_version = settings.catalog.default_format_version;
  return options;
}

namespace {

base::json::Object client_keys(const settings::Settings& settings) {
  const settings::Storage& storage = settings.storage;
  if (settings.catalog.root_credentials != settings::RootCredentials::kSentToClients) return {};
  return {{"s3.access-key-id", storage.root_key.reveal()},
          {"s3.secret-access-key", storage.root_secret.reveal()}};
}

}  // namespace

std::string client_config(const settings::Settings& settings) {
  const settings::Storage& storage = settings.storage;
  bool path_style = storage.addressing == settings::Addressing::kPath;
  base::json::Object config{{"s3.endpoint", storage.endpoint},
                            {"s3.region", storage.region},
                            {"client.region", storage.region},
                            {"s3.path-style-access", path_style ? "true" : "false"}};
  for (const auto& key : client_keys(settings)) config[key.key()] = key.value();
  return base::json::write(config);
}

std::string client_credentials(const settings::Settings& settings) {
  auto keys = client_keys(settings);
  return keys.empty() ? "" : base::json::write(keys);
}

base::Result<std::unique_ptr<WorkerServices>> WorkerServices::create(
    Shared& shared, boost::asio::any_io_executor loop) {
  ASSIGN_OR_RETURN(auto store, objects::ObjectStore::create(store_options(*shared.settings),
                                                            *shared.clock, *shared.random));
  return std::unique_ptr<WorkerServices>(
      new WorkerServices(shared, std::move(loop), std::move(store)));
}

WorkerServices::WorkerServices(Shared& shared, boost::asio::any_io_executor loop,
                               std::unique_ptr<objects::ObjectStore> store)
    : pool_(measure::measured(base::pg::Pool::create(pool_options(*shared.settings)), meter_)),
      store_(std::move(store)),
      background_(std::move(loop)),
      reader_(*pool_, lake_options(*shared.settings)),
      writer_(*pool_, lake_options(*shared.settings), *shared.clock, *shared.random),
      receipts_(*pool_, lake_options(*shared.settings).metadata_schema),
      exporter_(*shared.engine, *shared.blocking, *store_),
      manifests_(*store_, *shared.manifests),
      publisher_(reader_, writer_, exporter_, manifests_, client_config(*shared.settings)),
      views_(reader_, publisher_, *shared.views) {
  store_->measure_with(meter_);
  operation::Catalog& catalog = routes_.catalog;
  catalog.reader = &reader_;
  catalog.writer = &writer_;
  catalog.receipts = &receipts_;
  catalog.views = &views_;
  catalog.manifests = &manifests_;
  catalog.exporter = &exporter_;
  catalog.store = store_.get();
  catalog.background = &background_;
  catalog.meter = &meter_;
  catalog.commit_metrics = shared.commits;
  catalog.reported_metrics = shared.reports;
  catalog.clock = shared.clock;
  catalog.random = shared.random;
  catalog.log.emplace(*shared.log);
  catalog.lake = lake_options(*shared.settings);
  catalog.client_config = client_config(*shared.settings);
  catalog.client_credentials = client_credentials(*shared.settings);
  catalog.public_url = shared.settings->server.public_url;
  catalog.default_format_version = shared.settings->catalog.default_format_version;
  routes_.metrics = shared.metrics;
  routes_.ready = [this](base::RequestContext context) { return ready(context); };
  routes_.opened = [&shared] { return shared.opened.load(std::memory_order_acquire); };
}

base::Task<base::Status> WorkerServices::ready(base::RequestContext context) {
  context.deadline =
      std::min(context.deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  CO_RETURN_IF_ERROR(co_await pool_->query(context, {{"SELECT 1"}, {}}));
  CO_RETURN_IF_ERROR(co_await store_->ready(context));
  if (!routes_.opened()) {
    co_return base::fail(base::ErrorKind::kUnavailable, "The lake is not open yet.");
  }
  co_return base::Status{};
}

base::Task<void> WorkerServices::finish() {
  co_await background_.wait();
  pool_->close();
}

}  // namespace lake::app
