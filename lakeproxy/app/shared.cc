#include "lakeproxy/app/shared.h"

#include <algorithm>

#include "base/json/json.h"
#include "lakeproxy/app/gateway_server.h"

namespace lake::app {

namespace {

exporter::EnginePool make_pool(std::size_t threads, exporter::EngineWork work, const char* name,
                               base::metrics::Registry& metrics,
                               const exporter::EngineWatch* watch) {
  return {static_cast<unsigned>(std::max<std::size_t>(1, threads)), work, {metrics, name}, watch};
}

}  // namespace

EnginePools::EnginePools(const settings::Engine& settings, base::metrics::Registry& metrics,
                         const exporter::EngineWatch* watch)
    : load(make_pool(settings.load_threads, exporter::EngineWork::kLoad, "load", metrics, watch)),
      commit(make_pool(settings.commit_threads, exporter::EngineWork::kCommit, "commit", metrics,
                       watch)),
      background(make_pool(settings.background_threads, exporter::EngineWork::kBackground,
                           "background", metrics, watch)),
      count(make_pool(settings.background_threads, exporter::EngineWork::kCount, "count", metrics,
                      watch)),
      copy(make_pool(settings.background_threads, exporter::EngineWork::kCopy, "copy", metrics,
                     watch)),
      mask(make_pool(settings.background_threads, exporter::EngineWork::kMask, "mask", metrics,
                     watch)) {}

base::pg::PoolOptions pool_options(const settings::Settings& settings) {
  const settings::Postgres& from = settings.postgres;
  base::pg::PoolOptions options;
  options.host = from.hosts;
  options.port = std::to_string(from.port);
  options.user = from.user;
  options.database = from.database;
  options.password = from.password;
  options.application_name = "lakeproxy";
  options.connections = from.connections_per_worker;
  options.idle_transaction_time =
      std::chrono::duration_cast<std::chrono::milliseconds>(from.idle_transaction_timeout);
  options.tls_mode = from.tls_mode;
  options.tls_root_certificates = from.tls_roots;
  return options;
}

base::pg::PoolOptions background_pool_options(const settings::Settings& settings) {
  base::pg::PoolOptions options = pool_options(settings);
  options.connections = settings.postgres.background_connections_per_worker;
  return options;
}

storage::StoreOptions store_options(const settings::Settings& settings) {
  const settings::Storage& from = settings.storage;
  storage::StoreOptions options;
  options.endpoint = from.endpoint;
  options.region = from.region;
  options.bucket = from.bucket;
  options.access_key = from.root_key.reveal();
  options.secret_key = from.root_secret;
  options.addressing = from.addressing == settings::Addressing::kPath
                           ? storage::Addressing::kPath
                           : storage::Addressing::kVirtualHost;
  options.ca_file = from.ca_file;
  options.connections = from.connections_per_worker;
  return options;
}

base::Result<delegation::SignerOptions> signer_options(const settings::Settings& settings) {
  const storage::StoreOptions store = store_options(settings);
  delegation::SignerOptions options;
  ASSIGN_OR_RETURN(options.address.origin, base::http::Origin::parse(store.endpoint));
  options.address.addressing = store.addressing;
  options.address.bucket = store.bucket;
  options.credentials = {
      .access_key = store.access_key, .secret_key = store.secret_key, .session_token = {}};
  options.region = store.region;
  options.cache_time = settings.storage.signer_cache;
  return options;
}

exporter::LakeAccess lake_access(const settings::Settings& settings, std::string scratch) {
  const settings::Storage& storage = settings.storage;
  exporter::LakeAccess access;
  access.extensions = settings.engine.extensions;
  access.pg_host = settings.postgres.hosts;
  access.pg_port = std::to_string(settings.postgres.port);
  access.pg_user = settings.postgres.user;
  access.pg_database = settings.postgres.database;
  access.pg_password = settings.postgres.password;
  access.pg_tls_mode = settings.postgres.tls_mode;
  access.pg_tls_roots = settings.postgres.tls_roots;
  access.s3_endpoint = storage.endpoint;
  access.s3_region = storage.region;
  access.s3_key = storage.root_key.reveal();
  access.s3_secret = storage.root_secret;
  access.s3_style = storage.addressing == settings::Addressing::kPath
                        ? exporter::UrlStyle::kPath
                        : exporter::UrlStyle::kVirtualHost;
  access.s3_ca_file = storage.ca_file;
  access.memory_bytes = settings.engine.memory_bytes;
  access.threads = static_cast<unsigned>(settings.engine.threads);
  access.scratch_dir = std::move(scratch);
  return access;
}

ducklake::ReaderOptions reader_options(const settings::Settings& settings) {
  return {.group_role = settings.readers.group_role, .life = settings.readers.lifetime};
}

operation::DirectReading direct_reading(const settings::Settings& settings) {
  const settings::Postgres& from = settings.postgres;
  const std::string& own = settings.readers.pg_host;
  const std::string& hosts = own.empty() ? from.hosts : own;
  const auto port = settings.readers.pg_port == 0 ? from.port : settings.readers.pg_port;
  std::string server = hosts.empty() ? "" : "host=" + hosts + " ";
  server += "port=" + std::to_string(port) + " dbname=" + from.database;
  // What libpq does by itself need not be said.
  if (from.tls_mode != "prefer") server += " sslmode=" + from.tls_mode;
  return {.server = std::move(server),
          .owner = from.user,
          .owner_password = from.password,
          .transparent_masking = settings.readers.transparent_masking};
}

std::string bucket_location(const settings::Settings& settings) {
  return "s3://" + settings.storage.bucket + "/";
}

std::vector<storage::Location> file_prefixes(const settings::Settings& settings) {
  std::vector<storage::Location> places;
  for (const std::string& text : settings.storage.file_prefixes) {
    // The setting's rule is as strict; a place that is none lets nothing in.
    if (auto place = storage::Location::parse(text)) places.push_back(std::move(*place));
  }
  return places;
}

ducklake::LakeOptions lake_options(const settings::Settings& settings) {
  ducklake::LakeOptions options;
  options.catalog = settings.catalog.name;
  options.metadata_schema = "public";
  options.data_path = bucket_location(settings) + settings.storage.prefix;
  options.default_format_version = settings.catalog.default_format_version;
  options.readable_copies = settings.engine.readable_copies == settings::ReadableCopies::kMade;
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

namespace {

base::json::Object store_config(const settings::Settings& settings) {
  const settings::Storage& storage = settings.storage;
  bool path_style = storage.addressing == settings::Addressing::kPath;
  base::json::Object config{{"s3.endpoint", storage.endpoint},
                            {"s3.region", storage.region},
                            {"client.region", storage.region},
                            {"s3.path-style-access", path_style ? "true" : "false"}};
  // PyIceberg's name for it: without it every store that has an address of its own is path-style.
  if (!path_style) config["s3.force-virtual-addressing"] = "true";
  const settings::ScanPlanning planning = settings.catalog.scan_planning;
  if (planning != settings::ScanPlanning::kAny) {
    config["scan-planning-mode"] =
        planning == settings::ScanPlanning::kServer ? "server" : "client";
  }
  return config;
}

}  // namespace

masked::MaskedRetention masked_retention(const settings::Settings& settings) {
  const settings::Masking& from = settings.masking;
  return {.states = static_cast<std::int64_t>(from.states), .grace = from.grace, .idle = from.idle};
}

std::string client_config(const settings::Settings& settings) {
  base::json::Object config = store_config(settings);
  for (const auto& key : client_keys(settings)) config[key.key()] = key.value();
  return base::json::write(config);
}

delegation::DelegationOptions delegation_options(const settings::Settings& settings) {
  const settings::Storage& from = settings.storage;
  delegation::DelegationOptions options;
  options.config = store_config(settings);
  options.issuer = settings.auth.issuer;
  if (from.sts.endpoint.empty() && settings.gateway.state == settings::GatewayState::kOn) {
    options.gateway_config = options.config;
    options.gateway_config["s3.endpoint"] = gateway_url(settings);
    options.gateway_config["s3.path-style-access"] = "true";
    if (auto* is_forced = options.gateway_config.if_contains("s3.force-virtual-addressing")) {
      *is_forced = "false";
    }
  }
  if (from.sts.endpoint.empty()) return options;
  storage::StsOptions& sts = options.sts.emplace();
  sts.endpoint = from.sts.endpoint;
  sts.region = from.region;
  sts.credentials = {from.root_key.reveal(), from.root_secret, {}};
  sts.role_arn = from.sts.role_arn;
  sts.duration = from.sts.max_duration;
  sts.client.ca_file = from.ca_file;
  sts.client.connections = from.connections_per_worker;
  sts.client.body_bytes = std::size_t{256} << 10;
  return options;
}

std::string client_credentials(const settings::Settings& settings) {
  auto keys = client_keys(settings);
  return keys.empty() ? "" : base::json::write(keys);
}

}  // namespace lake::app
