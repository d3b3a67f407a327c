#pragma once

// What an operator can set, as values that are checked already. The table in
// settings_table.cc is the one place that names a setting, its default and its
// range; docs/configuration.md is made from it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/config/settings_table.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/log/line.h"

namespace lake::settings {

enum class Console { kOff, kOn };

struct Server {
  std::string host;
  std::uint16_t port = 0;   ///< 0 takes a free port.
  std::size_t workers = 0;  ///< Event loops; 0 for one on each core.
  std::string tls_cert;     ///< PEM file; plain HTTP when both are empty.
  std::string tls_key;
  std::string public_url;  ///< Without '/' at its end; empty: the request's own.
  std::size_t max_body_bytes = 0;
  std::size_t max_connections = 0;
  std::chrono::microseconds request_timeout{};
  std::chrono::microseconds idle_timeout{};
  std::size_t max_requests_per_second = 0;  ///< Of one principal; 0: any number.
  Console console = Console::kOn;           ///< The page at /ui.
};

struct Postgres {
  /// Parted by commas; empty for the local socket, a folder where one begins with '/'.
  std::string hosts;
  std::uint16_t port = 0;  ///< Of every host.
  std::string user;
  std::string database;
  base::Secret password;
  std::size_t connections_per_worker = 0;
  std::size_t background_connections_per_worker = 0;  ///< Besides these.
  std::chrono::microseconds idle_transaction_timeout{};
  std::string tls_mode;   ///< libpq's sslmode.
  std::string tls_roots;  ///< PEM file; libpq's default when empty.
};

enum class Addressing { kPath, kVirtualHost };

/// Where temporary keys come from.
struct Sts {
  std::string endpoint;  ///< Empty: there is none.
  std::string role_arn;
  std::chrono::seconds max_duration{0};  ///< Of keys, 900 to 43,200.
};

struct Storage {
  std::string endpoint;
  std::string region;
  std::string bucket;
  std::string prefix;  ///< Ends with '/'.
  base::Secret root_key;
  base::Secret root_secret;
  Addressing addressing = Addressing::kPath;
  std::string ca_file;                     ///< PEM file; the system's roots when empty.
  std::size_t connections_per_worker = 0;  ///< Requests at once.
  Sts sts;
  /// Where clients may add files from to any table: "s3://bucket/raw/".
  std::vector<std::string> file_prefixes;
  std::chrono::microseconds signer_cache{};  ///< How long rights are remembered; 0: not at all.
};

enum class GatewayState { kOff, kOn };

/// The S3 service of our own.
struct Gateway {
  GatewayState state = GatewayState::kOff;
  std::uint16_t port = 0;
  std::string url;            ///< As clients see it, without '/' at its end; empty: host and port.
  base::Secret secret;        ///< That its keys are made under; not empty where it is on.
  base::Secret secret_other;  ///< Of keys that are taken as well; or empty.
  std::chrono::seconds key_lifetime{};
  std::size_t connections_per_worker = 0;  ///< To the store.
};

enum class RootCredentials { kSuppressed, kSentToClients };
enum class Listener { kOn, kOff };
/// What clients are told about who plans scans: nothing, so that each chooses, or who must.
enum class ScanPlanning { kAny, kClient, kServer };

struct Catalog {
  std::string name;  ///< The default catalog and REST prefix.
  int default_format_version = 2;
  std::size_t cache_max = 0;                 ///< Tables in the metadata cache; 0 for no cache.
  std::size_t cache_max_bytes = 0;           ///< Of these tables, estimated.
  std::size_t manifest_cache_max_bytes = 0;  ///< Of manifests and lists, estimated.
  std::size_t max_active = 1;  ///< Catalogs besides the default one that stay attached.
  RootCredentials root_credentials = RootCredentials::kSuppressed;
  Listener listener = Listener::kOn;
  ScanPlanning scan_planning = ScanPlanning::kAny;
};

enum class ReadableCopies { kNone, kMade };

struct Engine {
  std::uint64_t memory_bytes = 0;
  std::size_t threads = 1;                ///< Of one statement.
  std::size_t load_threads = 1;           ///< Jobs at once that loads wait for.
  std::size_t commit_threads = 1;         ///< That commits wait for.
  std::size_t background_threads = 1;     ///< That nobody waits for; as many count NaNs.
  std::uint64_t nan_count_max_bytes = 0;  ///< Of data files, read by one publication.
  ReadableCopies readable_copies = ReadableCopies::kMade;
  std::uint64_t readable_copies_max_bytes = 0;  ///< Of one table's files that need copies at once.
  std::string scratch_dir;  ///< Empty for a folder of its own in the system's temporary one.
  std::string extensions;   ///< Folder; empty: tables are not compacted.
};

/// Of what is made for principals whose masks are in files.
struct Masking {
  std::size_t states = 0;        ///< Kept of each signature.
  std::uint64_t part_bytes = 0;  ///< Of one object of a copy.
  std::chrono::seconds grace{};  ///< How long what is no longer needed stays.
  std::chrono::seconds idle{};   ///< How long a signature stays that nobody asks for.
  bool fail_closed = false;      ///< No read where the policies cannot be told.
  bool actors_in_files = true;   ///< Whoever is acted for reads masks in files alone.
};

struct Upkeep {
  std::chrono::microseconds file_grace{};  ///< How long clients may read files that were let go.
};

enum class TokenAlgorithm { kRs256, kEs256 };

/// An identity provider whose tokens are taken. None where the issuer is empty.
struct Provider {
  std::string issuer;
  std::string audience;
  std::string keys_url;
  std::string ca_file;  ///< PEM file; the system's roots when empty.
  TokenAlgorithm algorithm = TokenAlgorithm::kRs256;
  std::string roles_claim;
  std::string account_claim;
};

/// Who may come in. Without clients and provider authentication is off.
/// Of every lake that has no name of its own.
inline constexpr std::string_view kDefaultIssuer = "lakeproxy";

struct Auth {
  base::Secret clients;      ///< As auth::Clients reads it; or empty.
  std::string clients_file;  ///< JSON; or empty.
  base::Secret jwt_secret;
  base::Secret jwt_secret_other;  ///< Of tokens that are taken as well; or empty.
  std::string issuer;
  std::chrono::seconds token_lifetime{};
  std::chrono::seconds token_renewal{};  ///< From the secret that was shown.
  std::size_t max_guesses = 0;           ///< Wrong secrets in a minute; 0: any number.
  Provider provider;

  [[nodiscard]] bool has_clients() const { return !clients.empty() || !clients_file.empty(); }
  [[nodiscard]] bool is_on() const { return has_clients() || !provider.issuer.empty(); }
};

enum class RowSecurity { kOff, kOn };

/// Who reads the lake with DuckDB itself.
struct Readers {
  RowSecurity row_security = RowSecurity::kOn;
  std::string group_role;
  std::chrono::seconds lifetime{};
  std::string pg_host;        ///< Empty: as the server reaches it.
  std::uint16_t pg_port = 0;  ///< 0: the same.
  /// Names without a schema mean masking views, in a session that runs what it was answered.
  bool transparent_masking = true;
};

struct Audit {
  std::chrono::seconds retention{};  ///< 0: for ever.
};

struct Log {
  base::log::Format format = base::log::Format::kJson;
  base::log::Level level = base::log::Level::kInfo;
};

struct Settings {
  Server server;
  Postgres postgres;
  Storage storage;
  Gateway gateway;
  Catalog catalog;
  Engine engine;
  Masking masking;
  Upkeep upkeep;
  Auth auth;
  Readers readers;
  Audit audit;
  Log log;
};

/// All settings with the prefix LAKEPROXY_.
[[nodiscard]] base::config::SettingsTable make_table();

/// The typed settings of `values`, which make_table() has loaded.
/// Errors: kInvalid  settings that do not fit together, one line for each.
[[nodiscard]] base::Result<Settings> from_values(const base::config::SettingValues& values);

/// Loads from `places` and checks everything; called once at start.
/// Errors: kInvalid  one line for each fault, to be shown as it is.
[[nodiscard]] base::Result<Settings> load(const base::config::Places& places);

}  // namespace lake::settings
