#include "lakeproxy/model/catalog_names.h"
#include "lakeproxy/settings/settings.h"
#include "lakeproxy/settings/text_rules.h"

namespace lake::settings {
namespace {

using base::config::BytesType;
using base::config::ChoiceType;
using base::config::DurationType;
using base::config::FlagType;
using base::config::IntegerType;
using base::config::ListType;
using base::config::SecretType;
using base::config::Setting;
using base::config::TextType;
using base::config::UrlType;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

using Rows = std::vector<Setting>;

Rows server_rows() {
  return {
      {"HOST", TextType{listen_host_rule, "an address"}, "127.0.0.1", "Server",
       "Address to listen on. Only this machine can connect by default."},
      {"PORT", IntegerType{0, 65535}, "8181", "Server", "Port to listen on; 0 takes a free one."},
      {"PRESET", ChoiceType{{"default", "high-throughput"}}, "default", "Server",
       "high-throughput starts 4 workers unless WORKERS says otherwise."},
      {"WORKERS", IntegerType{0, 256}, "0", "Server", "Event loops; 0 starts one on each core."},
      {"TLS_CERT", TextType{}, "", "Server",
       "PEM file with the certificate chain; with TLS_KEY it turns TLS on."},
      {"TLS_KEY", TextType{}, "", "Server", "PEM file with the private key."},
      {"PUBLIC_URL", UrlType{}, "", "Server",
       "Address of this service as clients see it; the request's own address when not set."},
      {"MAX_BODY_BYTES", BytesType{1024, 1024 * kMiB}, "16MiB", "Server",
       "Largest body of a request."},
      {"MAX_CONNECTIONS", IntegerType{1, 1'000'000}, "10000", "Server",
       "Connections open at once, all workers together."},
      {"REQUEST_TIMEOUT", DurationType{milliseconds(100), hours(1)}, "60", "Server",
       "Time for one request from its last byte to the answer."},
      {"IDLE_TIMEOUT", DurationType{seconds(1), hours(1)}, "75", "Server",
       "Time that a connection without a request stays open."},
      {"MAX_REQUESTS_PER_SECOND", IntegerType{0, 1'000'000}, "0", "Server",
       "Requests that one principal may make, as many at once and so many each second, over all "
       "workers of a server; more are 429. On an open server of one address. 0 takes any number."},
      {"CONSOLE", FlagType{}, "1", "Server",
       "1 serves the governance console at /ui: a page without data, whose user signs in with a "
       "token of the API; 0 answers 404 there."},
  };
}

Rows postgres_rows() {
  return {
      {"PG_HOST", ListType{postgres_host_rule, "a host or a socket folder", 16}, "", "PostgreSQL",
       "Hosts of the metadata database; the local socket when not set. Of several the first that "
       "takes writes is used, so a failover needs no restart."},
      {"PG_PORT", IntegerType{1, 65535}, "55432", "PostgreSQL", "Port of the metadata database."},
      {"PG_USER", TextType{model::identifier_rule, model::kIdentifierRule}, "lake", "PostgreSQL",
       "Role that owns the lake's tables."},
      {"PG_DATABASE", TextType{model::identifier_rule, model::kIdentifierRule}, "lake",
       "PostgreSQL", "Database of the lake's tables."},
      {"PG_PASSWORD", SecretType{password_rule, "free of spaces, quotes and backslashes"}, "",
       "PostgreSQL", "Password of the role."},
      {"PG_CONNECTIONS", IntegerType{1, 100}, "4", "PostgreSQL",
       "Connections that each worker may open for requests."},
      {"PG_BACKGROUND_CONNECTIONS", IntegerType{2, 100}, "2", "PostgreSQL",
       "Connections besides these that each worker may open for compactions, and for what prepares "
       "tables after commits of others."},
      {"PG_IDLE_TRANSACTION_TIMEOUT", DurationType{seconds(1), hours(1)}, "30", "PostgreSQL",
       "Time after which PostgreSQL ends a transaction that hears nothing from this server, so "
       "that one which froze does not hold up the others."},
      {"PG_TLS_MODE",
       ChoiceType{{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}}, "prefer",
       "PostgreSQL", "The sslmode of libpq; verify-full for a database on another machine."},
      {"PG_TLS_ROOTS", TextType{}, "", "PostgreSQL",
       "PEM file with the authorities that are trusted."},
  };
}

Rows storage_rows() {
  return {
      {"S3_ENDPOINT", UrlType{}, "http://127.0.0.1:9000", "Object storage",
       "Address of the S3 service, without a path."},
      {"S3_REGION", TextType{region_rule, "letters, digits and '-'"}, "us-east-1", "Object storage",
       "Region that requests are signed for."},
      {"S3_BUCKET", TextType{bucket_rule, kBucketRule}, "lakehouse", "Object storage",
       "Bucket of all catalogs."},
      {"S3_PREFIX", TextType{model::prefix_rule, model::kPrefixRule}, "data/", "Object storage",
       "Prefix of the default catalog's objects."},
      {"S3_ROOT_KEY", SecretType{not_empty_rule, "not empty"}, "minioadmin", "Object storage",
       "Access key that every derived credential comes from."},
      {"S3_ROOT_SECRET", SecretType{not_empty_rule, "not empty"}, "minioadmin", "Object storage",
       "Secret of the access key; take it from a secret manager in production."},
      {"S3_PATH_STYLE", FlagType{}, "1", "Object storage",
       "1 puts the bucket into the path, 0 before the host."},
      {"S3_CA_FILE", TextType{}, "", "Object storage",
       "PEM file with the authorities that are trusted; the system's when not set."},
      {"S3_CONNECTIONS", IntegerType{1, 10'000}, "32", "Object storage",
       "Connections that each worker may open. A store that takes 50 ms for a request gives a "
       "worker "
       "20 requests a second for each."},
      {"STS_ENDPOINT", TextType{sts_rule, kStsRule}, "", "Object storage",
       "Where temporary keys for clients come from: the S3 service when not set, aws for that of "
       "the region, none where the store makes no keys, or an address without a path."},
      {"STS_ROLE_ARN", TextType{not_empty_rule, "not empty", 2048},
       "arn:aws:iam::000000000000:role/lakeproxy", "Object storage",
       "Role that temporary keys are made with; MinIO passes over it."},
      {"STS_MAX_DURATION", IntegerType{900, 43'200}, "43200", "Object storage",
       "Seconds that temporary keys live; where the role allows less, 3600. They are told to "
       "clients for half of it."},
      {"FILE_PREFIXES", ListType{folder_rule, kFolderRule}, "", "Object storage",
       "Folders besides a table's own that Iceberg clients may add files from, to any table that "
       "they may write: whoever may read or write one table can read all that lies there."},
      {"SIGNER_CACHE_TTL", DurationType{seconds(0), seconds(300)}, "10.0", "Object storage",
       "Remote signing: time that what a caller may do with a table's objects is remembered, and "
       "so the longest time until the signer knows of a change; 0 asks each time."},
  };
}

Rows gateway_rows() {
  return {
      {"S3_GATEWAY", FlagType{}, "0", "S3 gateway",
       "1 starts an S3 service of our own in front of the store, whose short-lived keys clients "
       "get where the store makes none."},
      {"S3_GATEWAY_PORT", IntegerType{1, 65535}, "8182", "S3 gateway",
       "Port to listen on, at the address of HOST."},
      {"S3_GATEWAY_URL", UrlType{}, "", "S3 gateway",
       "Address of the gateway as clients see it, without a path; HOST and the port when not set. "
       "Clients sign it, so what stands in front must not change the Host field."},
      {"S3_GATEWAY_SECRET", SecretType{token_secret_rule, "32 bytes or more"}, "", "S3 gateway",
       "Secret that keys are made under, the same for all servers of a lake; OAUTH_JWT_SECRET, "
       "and OAUTH_JWT_SECRET_OTHER beside it, when not set."},
      {"S3_GATEWAY_SECRET_OTHER", SecretType{token_secret_rule, "32 bytes or more"}, "",
       "S3 gateway", "A second secret whose keys are taken too while secrets are changed."},
      {"S3_GATEWAY_KEY_SECONDS", IntegerType{1, 43'200}, "3600", "S3 gateway", "Lifetime of keys."},
      {"S3_GATEWAY_CONNECTIONS", IntegerType{1, 10'000}, "64", "S3 gateway",
       "Connections to the store that each worker may open for the gateway; each body that "
       "streams holds one."},
  };
}

Rows catalog_rows() {
  return {
      {"CATALOG", TextType{model::identifier_rule, model::kIdentifierRule}, "lake", "Catalog",
       "Name of the default catalog and its REST prefix."},
      {"DEFAULT_FORMAT_VERSION", IntegerType{2, 3}, "2", "Catalog",
       "Iceberg format version of tables that ask for none."},
      {"CACHE_MAX", IntegerType{0, 1'000'000}, "1024", "Catalog",
       "Tables whose metadata is kept in memory."},
      {"CACHE_MAX_BYTES", BytesType{kMiB / 16, kMiB << 20}, "512MiB", "Catalog",
       "Memory for the metadata of these tables; the one used longest ago makes room."},
      {"MANIFEST_CACHE_MAX_BYTES", BytesType{kMiB / 16, kMiB << 20}, "256MiB", "Catalog",
       "Memory for manifests and manifest lists, which the next commit to a table and the next "
       "plan "
       "of a scan need again."},
      {"MAX_ACTIVE_CATALOGS", IntegerType{1, 100'000}, "32", "Catalog",
       "Registered catalogs that stay attached; the one used longest ago makes room."},
      {"SUPPRESS_ROOT_CREDS", FlagType{}, "1", "Catalog",
       "0 sends the root keys to clients that ask for no delegation; for development only."},
      {"DISABLE_NOTIFY", FlagType{}, "0", "Catalog",
       "1 turns off the listener that prepares metadata right after a commit."},
      {"SCAN_PLANNING", ChoiceType{{"any", "client", "server"}}, "any", "Catalog",
       "Who plans scans: each client chooses, or it is told with each table that clients must, or "
       "that the server must (scan-planning-mode)."},
  };
}

Rows upkeep_rows() {
  return {
      {"FILE_GRACE", DurationType{seconds(0), hours(24 * 90)}, "86400", "Upkeep",
       "Time that files stay after the last snapshot let go of them. Longer than any credential "
       "of a client lives and than any of its reads lasts."},
  };
}

Rows auth_rows() {
  return {
      {"OAUTH_CLIENTS", SecretType{nullptr, "", 64 * 1024}, "", "Authentication",
       "Clients that may ask for tokens, id:secret|scope|roles|account each, parted by commas. "
       "Without clients everybody may do everything."},
      {"OAUTH_CLIENTS_FILE", TextType{}, "", "Authentication",
       "JSON file with a list of clients: id, secret, scope, roles, account, may_act_for. A secret "
       "may be a hash: argon2id or bcrypt."},
      {"OAUTH_JWT_SECRET", SecretType{token_secret_rule, "32 bytes or more"}, "", "Authentication",
       "Secret that tokens are signed with; required with clients, the same for all servers of a "
       "lake."},
      {"OAUTH_JWT_SECRET_OTHER", SecretType{token_secret_rule, "32 bytes or more"}, "",
       "Authentication",
       "A second secret whose tokens are taken too while secrets are changed: the next one before "
       "the change, the last one after it."},
      {"OAUTH_TTL_SECONDS", IntegerType{1, 604'800}, "3600", "Authentication",
       "Lifetime of tokens."},
      {"OAUTH_RENEWAL_SECONDS", IntegerType{0, 31'536'000}, "604800", "Authentication",
       "Time from a client's secret on in which its tokens can be exchanged for new ones, as "
       "Iceberg's Java client does; 0 exchanges none."},
      {"OAUTH_ISSUER", TextType{not_empty_rule, "not empty", 255}, "lakeproxy", "Authentication",
       "Issuer and audience of tokens."},
      {"OAUTH_MAX_GUESSES", IntegerType{0, 1'000'000}, "20", "Authentication",
       "Wrong secrets for one client that one address may send in a minute; more are 429. Five "
       "times as many for all clients together, and fifty times as many for one client from all "
       "addresses. 0 takes any number."},
      {"REQUIRE_AUTH", FlagType{}, "0", "Authentication",
       "1 refuses to start without clients or an identity provider, so that a setting which is "
       "missing opens nothing."},
      {"OIDC_ISSUER", TextType{nullptr, "", 2048}, "", "Authentication",
       "Issuer of an identity provider whose tokens are taken too, as its tokens have it."},
      {"OIDC_AUDIENCE", TextType{nullptr, "", 2048}, "", "Authentication",
       "Audience that the provider's tokens must have: the name of this catalog there."},
      {"OIDC_JWKS_URL", UrlType{{"https"}}, "", "Authentication",
       "Address of the provider's keys (jwks_uri)."},
      {"OIDC_CA_FILE", TextType{}, "", "Authentication",
       "PEM file with the authorities that the provider's certificate is checked by; the system's "
       "when not set."},
      {"OIDC_ALGORITHM", ChoiceType{{"rs256", "es256"}}, "rs256", "Authentication",
       "The one algorithm that the provider's tokens may be signed with."},
      {"OIDC_ROLES_CLAIM", TextType{not_empty_rule, "not empty", 255}, "roles", "Authentication",
       "Claim with the roles, a text of words or a list; a.b is the member b of the claim a."},
      {"OIDC_ACCOUNT_CLAIM", TextType{not_empty_rule, "not empty", 255}, "account",
       "Authentication", "Claim with the account, a text or a list of one."},
  };
}

Rows reader_rows() {
  return {
      {"RLS", FlagType{}, "1", "Direct readers",
       "1 makes a login of its own for each who reads the lake with DuckDB itself, which sees what "
       "its principal may see; 0 gives everybody the owner's login, which reads and changes "
       "everything: for development only."},
      {"READER_GROUP_ROLE", TextType{role_rule, "1 to 40 lower-case letters, digits or '_'"},
       "lakeproxy_reader", "Direct readers",
       "Role without a login that holds the rights of these logins. Lakes in other databases of "
       "the same PostgreSQL need roles of their own."},
      {"READER_TTL_SECONDS", IntegerType{1, 43'200}, "3600", "Direct readers",
       "Lifetime of these logins and of the keys that are given with them; STS_MAX_DURATION where "
       "that is shorter. Sessions that are open then are ended."},
      {"READER_PG_HOST", TextType{postgres_host_rule, "a host or a socket folder"}, "",
       "Direct readers",
       "Host of the metadata database as readers reach it; PG_HOST when not set."},
      {"READER_PG_PORT", IntegerType{0, 65535}, "0", "Direct readers",
       "Port of the metadata database as readers reach it; 0 for PG_PORT."},
      {"TRANSPARENT_MASKING", FlagType{}, "1", "Direct readers",
       "1 has the statements of ducklake-credentials set the session's search path to the masking "
       "views, so that a table's name alone is the masked table; 0 only makes the views."},
  };
}

Rows audit_rows() {
  return {
      {"AUDIT_RETENTION_DAYS", IntegerType{0, 36'500}, "0", "Audit",
       "Days that records of the audit trail are kept; 0 keeps them for ever."},
  };
}

Rows engine_and_log_rows() {
  return {
      {"ENGINE_MEMORY", BytesType{16 * kMiB, kMiB << 20}, "256MB", "Engine",
       "Memory of the embedded engine."},
      {"ENGINE_THREADS", IntegerType{1, 256}, "1", "Engine",
       "Threads that one statement of the embedded engine may use."},
      {"ENGINE_LOAD_THREADS", IntegerType{1, 256}, "2", "Engine",
       "Jobs of the engine at once that loads of tables wait for. The jobs of all kinds share "
       "ENGINE_MEMORY."},
      {"ENGINE_COMMIT_THREADS", IntegerType{1, 256}, "1", "Engine",
       "Jobs of the engine at once that commits wait for: the rows that equality deletes and other "
       "deletes of clients mean."},
      {"ENGINE_BACKGROUND_THREADS", IntegerType{1, 256}, "1", "Engine",
       "Jobs of the engine at once that prepare tables after commits of others, and as many that "
       "count NaNs."},
      {"NAN_COUNT_MAX_BYTES", BytesType{0, kMiB << 20}, "128MiB", "Engine",
       "Bytes of data files that are read at most to count the NaNs of what DuckDB has added to a "
       "table; what does not fit is shown without that count. 0 counts nothing."},
      {"READABLE_COPIES", ChoiceType{{"on", "off"}}, "on", "Engine",
       "on makes copies of data files that not every Iceberg client reads right (unsigned numbers, "
       "intervals, milliseconds, changed types, defaults), so that each table opens; off refuses "
       "such tables, and says which column it is."},
      {"READABLE_COPIES_MAX_BYTES", BytesType{0, kMiB << 24}, "100GiB", "Engine",
       "Bytes of data files of one table that may wait for copies at once; a table with more is "
       "refused."},
      {"GOVERNANCE_FAIL_CLOSED", FlagType{}, "0", "Governance",
       "1 answers 503 where the policies of a table cannot be told; 0 shows the table unmasked "
       "then, "
       "with a line in the audit trail. Masks in files hold either way."},
      {"ACTOR_FILE_MASKING", FlagType{}, "1", "Governance",
       "1 keeps every policy in files for tokens with which somebody acts for another, such as an "
       "agent for its user: nothing is left to the engine that reads. 0 treats them as all "
       "others."},
      {"MASKED_RETAIN_SNAP_DIRS", IntegerType{1, 1000}, "2", "Governance",
       "States of a table that are kept for readers of one set of masks."},
      {"MASKED_RETAIN_GRACE_SECONDS", IntegerType{0, 31'536'000}, "3900", "Governance",
       "Seconds for which masked copies and states stay that no newest state needs; readers with "
       "vended keys may still read them."},
      {"MASKED_EXPORT_FILE_SIZE", BytesType{kMiB, kMiB << 20}, "256MB", "Governance",
       "Bytes of one object of a masked copy; the copy of a larger data file has several. One ends "
       "with the row group that reaches it."},
      {"MASKED_EXPORT_TTL_DAYS", IntegerType{1, 36'500}, "7", "Governance",
       "Days after which the masked copies of a set of masks go that nobody has asked for."},
      {"ENGINE_EXTENSIONS", TextType{absolute_path_rule, "an absolute path"}, "", "Engine",
       "Folder with the engine's extensions ducklake, httpfs and postgres_scanner, of its own "
       "version; tables are compacted only where it is set."},
      {"SCRATCH_DIR", TextType{absolute_path_rule, "an absolute path"}, "", "Engine",
       "Folder for the engine's temporary files; the system's temporary folder when not set."},
      {"LOG_FORMAT", ChoiceType{{"json", "text"}}, "json", "Log", "Form of the lines on stderr."},
      {"LOG_LEVEL", ChoiceType{{"debug", "info", "warning", "error"}}, "INFO", "Log",
       "The least important lines that are written."},
  };
}

}  // namespace

base::config::SettingsTable make_table() {
  Rows all;
  for (auto* rows : {server_rows, auth_rows, reader_rows, postgres_rows, storage_rows, gateway_rows,
                     catalog_rows, upkeep_rows, audit_rows, engine_and_log_rows}) {
    for (auto& row : rows()) all.push_back(std::move(row));
  }
  return {"LAKEPROXY_", std::move(all)};
}

}  // namespace lake::settings
