#pragma once

// The one place that chooses how a client reaches a table's objects, and tells it so: by temporary
// keys that are cut to the table, by signatures for each request, or not at all. What is told is
// the end of an answer about the table; the answer's body is everybody's and knows nothing of it.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/delegation/storage_rights.h"
#include "lakeproxy/delegation/table_rights.h"
#include "lakeproxy/ducklake/readers/reader_logins.h"
#include "lakeproxy/ducklake/registry/static_keys.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/storage/sts.h"
#include "lakeproxy/table_cache/single_flight.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"

namespace lake::delegation {

/// The ways that a client says it can take, of X-Iceberg-Access-Delegation.
/// Source: Iceberg REST description, "data-access".
struct Asked {
  bool vended_credentials = false;
  bool remote_signing = false;
  std::string signer_url = {};  ///< This service as the client sees it; empty: no signatures.

  [[nodiscard]] bool nothing() const { return !vended_credentials && !remote_signing; }
};
/// Words that nobody knows are passed over. `header` is the field's value, if it is there.
[[nodiscard]] Asked asked_of(std::optional<std::string_view> header);

/// What one client is told of the store. Never changes; shared by answers until its keys are half
/// spent.
struct ClientAccess {
  std::shared_ptr<const publish::ClientConfig> config;  ///< The end of an answer.
  /// JSON list of one: Iceberg's Java client takes no more when it renews its keys.
  std::string credentials;
  std::string state;  ///< Of the table when it was made: LoadedTable::etag.
  /// Of the policies when it was made: they may since have closed another table's folder within.
  std::optional<policy::PolicyVersion> version;
  std::string policy;          ///< That its keys were cut by.
  base::WallTime reuse_until;  ///< From then on others are made.
  base::WallTime expires;
  bool degraded = false;
};
using ClientAccessPtr = std::shared_ptr<const ClientAccess>;

/// What is answered. After a change the client is told the keys that it has, where they are still
/// good: a session of the store for each commit would be one that nobody uses.
enum class Occasion : std::uint8_t { kLoad, kChange };

/// The table that an answer is about.
struct ClientTable {
  model::TableIdentifier identifier;
  operation::SeenTable seen;         ///< As the client sees it; of nothing for one that is staged.
  std::string staged_location = {};  ///< Of such a one.
  std::optional<base::Uuid> staged = {};  ///< The same.
};

/// What the event loops share: who has which keys. Safe from any thread; outlives their tasks.
struct IssuedKeys {
  explicit IssuedKeys(base::metrics::Registry& metrics);

  publish::LruCache<ClientAccessPtr> entries;
  publish::SingleFlight single_flight;
  base::metrics::Counter reused;
  base::metrics::Counter issued;
  base::metrics::Counter degraded;  ///< Of `issued`.
  base::metrics::Counter failed;
};

/// Makes keys of the S3 gateway without asking anybody: for that caller and that table alone.
using MintKeys = std::function<base::Result<storage::TemporaryKeys>(
    const operation::Catalog&, const auth::Principal&, const ClientTable&, KeyAccess)>;

/// Keys of a direct reader, and where they are good.
struct ReaderKeys {
  storage::TemporaryKeys keys;
  base::json::Object config;  ///< How each client reaches the store, in Iceberg's words.
};

struct DelegationOptions {
  base::json::Object config;               ///< How each client reaches the store; no keys.
  std::optional<storage::StsOptions> sts;  ///< Nothing: there is no STS.
  std::string issuer;                      ///< Of the clients that static keys belong to.
  MintKeys mint = nullptr;                 ///< Where there is no STS; null: nor a gateway.
  base::json::Object gateway_config = {};  ///< As `config`, of the gateway.
};

/// One event loop's.
class AccessDelegation {
 public:
  /// `issued` and `clock` outlive it. Errors: those of StsClient::create().
  [[nodiscard]] static base::Result<std::unique_ptr<AccessDelegation>> create(
      DelegationOptions options, IssuedKeys& issued, const base::Clock& clock);

  /// From now on clients of a store without STS get static keys, where they have some. `pool`
  /// outlives this.
  void use_static_keys(base::pg::Pool& pool) { pool_ = &pool; }
  /// Those of the catalog; after use_static_keys().
  [[nodiscard]] ducklake::StaticKeys static_keys(const operation::Catalog& catalog) const {
    return {*pool_, catalog.lake};
  }

  /// What for_client() would answer, where that is keys of the caller's that are held and good for
  /// `seen` as it is; null otherwise. Asks nobody, and copies nothing: most loads end here.
  [[nodiscard]] ClientAccessPtr held(const operation::Catalog& catalog,
                                     const auth::Principal& principal,
                                     const model::TableIdentifier& identifier,
                                     const operation::SeenTable& seen, const Asked& asked,
                                     Occasion occasion) const;

  /// What the client is told beside the table; null where it is told what everybody is
  /// (Catalog::client_config): it asks for nothing, has no scope that reads, or there is no STS.
  /// `principal` is one whom policy allowed to load or to make the table. Its keys write where it
  /// has a scope that writes the namespace.
  /// Errors: kForbidden  it may not have keys for the table: see storage_rights(), and
  ///         session_policy(); kUnavailable  STS, the store or PostgreSQL is away; kTimeout.
  [[nodiscard]] base::Task<base::Result<ClientAccessPtr>> for_client(base::RequestContext context,
                                                                     operation::Catalog* catalog,
                                                                     auth::Principal principal,
                                                                     ClientTable table, Asked asked,
                                                                     Occasion occasion);

  /// Keys that read the folders of a direct reader alone, until `end` at most, which is his
  /// login's; nothing where there is no STS, or where nothing is read. Where the tables cannot be
  /// named one by one, the namespace's folder without what others have in it.
  /// Errors: kForbidden  that does not fit into a policy either, or a name cannot be said;
  ///         kUnavailable  STS is away.
  [[nodiscard]] base::Task<base::Result<std::optional<ReaderKeys>>> for_direct_reader(
      base::RequestContext context, operation::Catalog* catalog, auth::Principal principal,
      ducklake::ReaderFolders folders, std::optional<base::WallTime> end);

 private:
  AccessDelegation(DelegationOptions options, std::unique_ptr<storage::StsClient> sts,
                   IssuedKeys& issued, const base::Clock& clock);
  base::Task<base::Result<ClientAccessPtr>> vended(base::RequestContext context,
                                                   operation::Catalog* catalog,
                                                   auth::Principal principal, ClientTable table,
                                                   Occasion occasion);
  base::Task<base::Result<ClientAccessPtr>> vend(base::RequestContext context,
                                                 operation::Catalog* catalog,
                                                 auth::Principal principal, ClientTable table,
                                                 ClientAccessPtr before);
  [[nodiscard]] ClientAccessPtr ready(const std::string& key, const operation::SeenTable& seen,
                                      Occasion occasion) const;
  base::Task<base::Result<ClientAccessPtr>> static_key(base::RequestContext context,
                                                       operation::Catalog* catalog,
                                                       auth::Principal principal,
                                                       ClientTable table);
  [[nodiscard]] ClientAccessPtr tell_static(const ducklake::StaticKey& key,
                                            const std::string& location) const;
  [[nodiscard]] bool signs(const Asked& asked) const;
  [[nodiscard]] ClientAccessPtr signing(const operation::Catalog& catalog, const ClientTable& table,
                                        const std::string& url) const;
  base::Task<base::Result<ClientAccessPtr>> mint(base::RequestContext context,
                                                 operation::Catalog* catalog,
                                                 auth::Principal principal, ClientTable table);
  [[nodiscard]] bool has_keys() const { return sts_ != nullptr || options_.mint != nullptr; }
  [[nodiscard]] ClientAccess tell(const storage::TemporaryKeys& keys, const StorageRights& rights,
                                  const std::string& refresh_endpoint) const;

  DelegationOptions options_;
  std::unique_ptr<storage::StsClient> sts_;  ///< Null: there is no STS.
  IssuedKeys& issued_;
  const base::Clock& clock_;
  base::pg::Pool* pool_ = nullptr;  ///< Null: there are no static keys.
};

}  // namespace lake::delegation
