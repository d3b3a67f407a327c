#include "lakeproxy/settings/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/core/loopback.h"

namespace lake::settings {
namespace {

using base::config::SettingValues;

constexpr std::size_t kHighThroughputWorkers = 4;

std::size_t count(const SettingValues& values, std::string_view name) {
  return static_cast<std::size_t>(values.integer(name));
}

std::uint16_t port(const SettingValues& values, std::string_view name) {
  return static_cast<std::uint16_t>(values.integer(name));
}

Server server(const SettingValues& values) {
  bool preset = values.text("PRESET") == "high-throughput" && values.is_default("WORKERS");
  return {
      .host = values.text("HOST"),
      .port = port(values, "PORT"),
      .workers = preset ? kHighThroughputWorkers : count(values, "WORKERS"),
      .tls_cert = values.text("TLS_CERT"),
      .tls_key = values.text("TLS_KEY"),
      .public_url = values.text("PUBLIC_URL"),
      .max_body_bytes = values.bytes("MAX_BODY_BYTES").count,
      .max_connections = count(values, "MAX_CONNECTIONS"),
      .request_timeout = values.duration("REQUEST_TIMEOUT"),
      .idle_timeout = values.duration("IDLE_TIMEOUT"),
      .max_requests_per_second = count(values, "MAX_REQUESTS_PER_SECOND"),
      .console = values.flag("CONSOLE") ? Console::kOn : Console::kOff,
  };
}

Postgres postgres(const SettingValues& values) {
  return {
      .hosts = fmt::format("{}", fmt::join(values.list("PG_HOST"), ",")),
      .port = port(values, "PG_PORT"),
      .user = values.text("PG_USER"),
      .database = values.text("PG_DATABASE"),
      .password = values.secret("PG_PASSWORD"),
      .connections_per_worker = count(values, "PG_CONNECTIONS"),
      .background_connections_per_worker = count(values, "PG_BACKGROUND_CONNECTIONS"),
      .idle_transaction_timeout = values.duration("PG_IDLE_TRANSACTION_TIMEOUT"),
      .tls_mode = values.text("PG_TLS_MODE"),
      .tls_roots = values.text("PG_TLS_ROOTS"),
  };
}

Sts sts(const SettingValues& values) {
  std::string endpoint = values.text("STS_ENDPOINT");
  if (endpoint.empty()) {
    endpoint = values.text("S3_ENDPOINT");
  } else if (endpoint == "aws") {
    endpoint = fmt::format("https://sts.{}.amazonaws.com", values.text("S3_REGION"));
  } else if (endpoint == "none") {
    endpoint.clear();
  }
  return {.endpoint = std::move(endpoint),
          .role_arn = values.text("STS_ROLE_ARN"),
          .max_duration = std::chrono::seconds(values.integer("STS_MAX_DURATION"))};
}

Storage storage(const SettingValues& values) {
  return {
      .endpoint = values.text("S3_ENDPOINT"),
      .region = values.text("S3_REGION"),
      .bucket = values.text("S3_BUCKET"),
      .prefix = values.text("S3_PREFIX"),
      .root_key = values.secret("S3_ROOT_KEY"),
      .root_secret = values.secret("S3_ROOT_SECRET"),
      .addressing = values.flag("S3_PATH_STYLE") ? Addressing::kPath : Addressing::kVirtualHost,
      .ca_file = values.text("S3_CA_FILE"),
      .connections_per_worker = count(values, "S3_CONNECTIONS"),
      .sts = sts(values),
      .file_prefixes = values.list("FILE_PREFIXES"),
      .signer_cache = values.duration("SIGNER_CACHE_TTL"),
  };
}

ScanPlanning scan_planning(std::string_view word) {
  if (word == "client") return ScanPlanning::kClient;
  return word == "server" ? ScanPlanning::kServer : ScanPlanning::kAny;
}

Gateway gateway(const SettingValues& values) {
  const bool own = !values.is_default("S3_GATEWAY_SECRET");
  std::string url = values.text("S3_GATEWAY_URL");
  while (url.ends_with('/')) url.pop_back();
  return {
      .state = values.flag("S3_GATEWAY") ? GatewayState::kOn : GatewayState::kOff,
      .port = static_cast<std::uint16_t>(values.integer("S3_GATEWAY_PORT")),
      .url = std::move(url),
      .secret = values.secret(own ? "S3_GATEWAY_SECRET" : "OAUTH_JWT_SECRET"),
      .secret_other = values.secret(own ? "S3_GATEWAY_SECRET_OTHER" : "OAUTH_JWT_SECRET_OTHER"),
      .key_lifetime = std::chrono::seconds(values.integer("S3_GATEWAY_KEY_SECONDS")),
      .connections_per_worker = count(values, "S3_GATEWAY_CONNECTIONS"),
  };
}

Catalog catalog(const SettingValues& values) {
  return {
      .name = values.text("CATALOG"),
      .default_format_version = static_cast<int>(values.integer("DEFAULT_FORMAT_VERSION")),
      .cache_max = count(values, "CACHE_MAX"),
      .cache_max_bytes = values.bytes("CACHE_MAX_BYTES").count,
      .manifest_cache_max_bytes = values.bytes("MANIFEST_CACHE_MAX_BYTES").count,
      .max_active = count(values, "MAX_ACTIVE_CATALOGS"),
      .root_credentials = values.flag("SUPPRESS_ROOT_CREDS") ? RootCredentials::kSuppressed
                                                             : RootCredentials::kSentToClients,
      .listener = values.flag("DISABLE_NOTIFY") ? Listener::kOff : Listener::kOn,
      .scan_planning = scan_planning(values.text("SCAN_PLANNING")),
  };
}

Engine engine(const SettingValues& values) {
  return {
      .memory_bytes = values.bytes("ENGINE_MEMORY").count,
      .threads = count(values, "ENGINE_THREADS"),
      .load_threads = count(values, "ENGINE_LOAD_THREADS"),
      .commit_threads = count(values, "ENGINE_COMMIT_THREADS"),
      .background_threads = count(values, "ENGINE_BACKGROUND_THREADS"),
      .nan_count_max_bytes = values.bytes("NAN_COUNT_MAX_BYTES").count,
      .readable_copies =
          values.text("READABLE_COPIES") == "on" ? ReadableCopies::kMade : ReadableCopies::kNone,
      .readable_copies_max_bytes = values.bytes("READABLE_COPIES_MAX_BYTES").count,
      .scratch_dir = values.text("SCRATCH_DIR"),
      .extensions = values.text("ENGINE_EXTENSIONS"),
  };
}

Masking masking(const SettingValues& values) {
  return {
      .states = count(values, "MASKED_RETAIN_SNAP_DIRS"),
      .part_bytes = values.bytes("MASKED_EXPORT_FILE_SIZE").count,
      .grace = std::chrono::seconds(count(values, "MASKED_RETAIN_GRACE_SECONDS")),
      .idle = std::chrono::days(count(values, "MASKED_EXPORT_TTL_DAYS")),
      .fail_closed = values.flag("GOVERNANCE_FAIL_CLOSED"),
      .actors_in_files = values.flag("ACTOR_FILE_MASKING"),
  };
}

Upkeep upkeep(const SettingValues& values) { return {.file_grace = values.duration("FILE_GRACE")}; }

Provider provider(const SettingValues& values) {
  return {
      .issuer = values.text("OIDC_ISSUER"),
      .audience = values.text("OIDC_AUDIENCE"),
      .keys_url = values.text("OIDC_JWKS_URL"),
      .ca_file = values.text("OIDC_CA_FILE"),
      .algorithm = values.text("OIDC_ALGORITHM") == "es256" ? TokenAlgorithm::kEs256
                                                            : TokenAlgorithm::kRs256,
      .roles_claim = values.text("OIDC_ROLES_CLAIM"),
      .account_claim = values.text("OIDC_ACCOUNT_CLAIM"),
  };
}

Auth auth(const SettingValues& values) {
  return {
      .clients = values.secret("OAUTH_CLIENTS"),
      .clients_file = values.text("OAUTH_CLIENTS_FILE"),
      .jwt_secret = values.secret("OAUTH_JWT_SECRET"),
      .jwt_secret_other = values.secret("OAUTH_JWT_SECRET_OTHER"),
      .issuer = values.text("OAUTH_ISSUER"),
      .token_lifetime = std::chrono::seconds(values.integer("OAUTH_TTL_SECONDS")),
      .token_renewal = std::chrono::seconds(values.integer("OAUTH_RENEWAL_SECONDS")),
      .max_guesses = count(values, "OAUTH_MAX_GUESSES"),
      .provider = provider(values),
  };
}

Readers readers(const SettingValues& values) {
  return {
      .row_security = values.flag("RLS") ? RowSecurity::kOn : RowSecurity::kOff,
      .group_role = values.text("READER_GROUP_ROLE"),
      .lifetime = std::chrono::seconds(values.integer("READER_TTL_SECONDS")),
      .pg_host = values.text("READER_PG_HOST"),
      .pg_port = port(values, "READER_PG_PORT"),
      .transparent_masking = values.flag("TRANSPARENT_MASKING"),
  };
}

Audit audit(const SettingValues& values) {
  return {.retention = std::chrono::days(values.integer("AUDIT_RETENTION_DAYS"))};
}

Log log(const SettingValues& values) {
  using base::log::Level;
  Level level = Level::kInfo;
  for (Level each : {Level::kDebug, Level::kInfo, Level::kWarning, Level::kError}) {
    if (values.text("LOG_LEVEL") == base::log::to_string(each)) level = each;
  }
  bool json = values.text("LOG_FORMAT") == "json";
  return {.format = json ? base::log::Format::kJson : base::log::Format::kText, .level = level};
}

bool has_path(std::string_view url) {
  return url.find('/', url.find("://") + 3) != std::string_view::npos;
}

// Whoever listens on the way has the tokens.
bool may_be_public(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  if (!url.starts_with(kPlain)) return true;
  std::string_view host = url.substr(kPlain.size());
  host = host.substr(0, host.find('/'));
  const bool is_bracketed = host.starts_with('[');
  host = is_bracketed ? host.substr(1, host.find(']') - 1) : host.substr(0, host.find(':'));
  return host == "localhost" || base::is_loopback_address(host);
}

template <class Fault>
void add_auth_faults(const Auth& auth, bool required, Fault fault) {
  if (required && !auth.is_on()) {
    fault("REQUIRE_AUTH",
          "needs clients in LAKEPROXY_OAUTH_CLIENTS or LAKEPROXY_OAUTH_CLIENTS_FILE, or an issuer "
          "in LAKEPROXY_OIDC_ISSUER");
  }
  if (auth.has_clients() && auth.jwt_secret.empty()) {
    fault("OAUTH_JWT_SECRET", "is required with clients");
  }
  const Provider& provider = auth.provider;
  if (provider.issuer.empty()) {
    // Set alone, they would be taken for a provider that is asked.
    if (!provider.audience.empty()) fault("OIDC_AUDIENCE", "needs LAKEPROXY_OIDC_ISSUER too");
    if (!provider.keys_url.empty()) fault("OIDC_JWKS_URL", "needs LAKEPROXY_OIDC_ISSUER too");
    return;
  }
  if (provider.audience.empty()) fault("OIDC_AUDIENCE", "is required with LAKEPROXY_OIDC_ISSUER");
  if (provider.keys_url.empty()) fault("OIDC_JWKS_URL", "is required with LAKEPROXY_OIDC_ISSUER");
  // A subject is unique with its issuer alone.
  if (provider.issuer == auth.issuer) fault("OIDC_ISSUER", "must not be LAKEPROXY_OAUTH_ISSUER");
}

// One that every interface listens on is nobody's address.
bool is_any_address(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

template <class Fault>
void add_gateway_faults(const Settings& settings, const SettingValues& values, Fault fault) {
  const Gateway& gateway = settings.gateway;
  if (!values.is_default("S3_GATEWAY_SECRET_OTHER") && values.is_default("S3_GATEWAY_SECRET")) {
    fault("S3_GATEWAY_SECRET_OTHER", "needs LAKEPROXY_S3_GATEWAY_SECRET too");
  }
  if (gateway.state == GatewayState::kOff) return;
  if (gateway.secret.empty()) {
    fault("S3_GATEWAY_SECRET",
          "is required with LAKEPROXY_S3_GATEWAY, or LAKEPROXY_OAUTH_JWT_SECRET");
  }
  if (gateway.url.empty() && is_any_address(settings.server.host)) {
    fault("S3_GATEWAY_URL", "is required where LAKEPROXY_HOST is no single address");
  }
  if (has_path(gateway.url)) fault("S3_GATEWAY_URL", "must have no path");
  if (gateway.port == settings.server.port) {
    fault("S3_GATEWAY_PORT", "must differ from LAKEPROXY_PORT");
  }
}

// The faults that no single setting shows.
std::vector<std::string> faults_between(const Settings& settings, const SettingValues& values) {
  std::vector<std::string> out;
  auto fault = [&](std::string_view name, std::string_view rule) {
    out.push_back(fmt::format("{}: LAKEPROXY_{}: {}", values.source(name), name, rule));
  };
  if (!settings.server.tls_cert.empty() && settings.server.tls_key.empty()) {
    fault("TLS_CERT", "needs LAKEPROXY_TLS_KEY too");
  }
  if (settings.server.tls_cert.empty() && !settings.server.tls_key.empty()) {
    fault("TLS_KEY", "needs LAKEPROXY_TLS_CERT too");
  }
  if (!may_be_public(settings.server.public_url)) {
    fault("PUBLIC_URL", "must be https where it is not on this machine: tokens go there");
  }
  if (has_path(settings.storage.endpoint)) fault("S3_ENDPOINT", "must have no path");
  if (values.text("STS_ENDPOINT") == "aws" && values.is_default("STS_ROLE_ARN")) {
    fault("STS_ROLE_ARN", "is required with LAKEPROXY_STS_ENDPOINT=aws");
  }
  bool verified = settings.postgres.tls_mode.starts_with("verify-");
  if (!settings.postgres.tls_roots.empty() && !verified) {
    // With a weaker mode libpq may pass over the file and trust anyone.
    fault("PG_TLS_ROOTS", "needs LAKEPROXY_PG_TLS_MODE verify-ca or verify-full");
  }
  add_auth_faults(settings.auth, values.flag("REQUIRE_AUTH"), fault);
  add_gateway_faults(settings, values, fault);
  return out;
}

}  // namespace

base::Result<Settings> from_values(const SettingValues& values) {
  Settings settings{
      .server = server(values),
      .postgres = postgres(values),
      .storage = storage(values),
      .gateway = gateway(values),
      .catalog = catalog(values),
      .engine = engine(values),
      .masking = masking(values),
      .upkeep = upkeep(values),
      .auth = auth(values),
      .readers = readers(values),
      .audit = audit(values),
      .log = log(values),
  };
  if (auto faults = faults_between(settings, values); !faults.empty()) {
    return base::fail(base::ErrorKind::kInvalid, fmt::format("{}", fmt::join(faults, "\n")));
  }
  return settings;
}

base::Result<Settings> load(const base::config::Places& places) {
  ASSIGN_OR_RETURN(auto values, base::config::load(make_table(), places));
  return from_values(values);
}

}  // namespace lake::settings
