#pragma once

// Everything that belongs to one event loop, made in the order of its arrows
// and destroyed the other way round, before the loop.

#include <memory>

#include "lakeproxy/app/catalog_services.h"
#include "lakeproxy/auth/authenticator.h"
#include "lakeproxy/console/console_files.h"
#include "lakeproxy/ducklake/readers/reader_logins.h"
#include "lakeproxy/ducklake/registry/catalog_registry.h"
#include "lakeproxy/http/route.h"
#include "lakeproxy/to_iceberg/masked/mask_maker.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"

namespace lake::app {

/// Whether PostgreSQL is there and takes writes: a standby, or a server that an
/// operator has made read-only, is no place for a catalog.
/// Errors: kUnavailable, kTimeout.
[[nodiscard]] base::Task<base::Status> check_takes_writes(base::RequestContext context,
                                                          base::pg::Pool* pool);

/// `shared` and the loop outlive it.
class WorkerServices {
 public:
  /// Errors: kInvalid  a storage setting.
  [[nodiscard]] static base::Result<std::unique_ptr<WorkerServices>> create(
      Shared& shared, boost::asio::any_io_executor loop);

  [[nodiscard]] storage::ObjectStore& store() { return *store_; }
  [[nodiscard]] http::Services& routes() { return routes_; }
  [[nodiscard]] ducklake::ReaderLogins& reader_logins() { return reader_logins_; }
  /// The catalog whose lake stands in a PostgreSQL schema.
  /// Errors: kNotFound (kNoSuchCatalog); those of open_lake.
  [[nodiscard]] base::Task<base::Result<std::shared_ptr<operation::Catalog>>> catalog_of_schema(
      base::RequestContext context, std::string schema);
  /// The same for what nobody waits for. Errors: the same.
  [[nodiscard]] base::Task<base::Result<std::shared_ptr<operation::Catalog>>> unhurried_of_schema(
      base::RequestContext context, std::string schema);
  /// Makes this database the owner of the default catalog's prefix if nobody is; logs
  /// where another is. Once, when the lake is open.
  [[nodiscard]] base::Task<void> claim_home();
  /// On the loop, after the last request: waits for what runs in the background
  /// and closes the connections.
  [[nodiscard]] base::Task<void> finish();

 private:
  WorkerServices(Shared& shared, boost::asio::any_io_executor loop,
                 std::unique_ptr<storage::ObjectStore> store,
                 std::unique_ptr<delegation::AccessDelegation> delegation,
                 delegation::SignerOptions signer);
  base::Task<base::Result<std::shared_ptr<operation::Catalog>>> attach(
      base::RequestContext context, model::RegisteredCatalog registered);
  base::Task<void> claim(base::RequestContext context, std::shared_ptr<operation::Catalog> catalog);
  base::Task<base::Status> ready(base::RequestContext context);
  base::Status set_up_authentication(Authority* authority, boost::asio::any_io_executor loop,
                                     const base::Clock& clock);

  measure::WaitMeter meter_;
  std::unique_ptr<base::pg::Pool> pool_;
  std::unique_ptr<base::pg::Pool> background_pool_;
  std::unique_ptr<storage::ObjectStore> store_;
  std::unique_ptr<delegation::AccessDelegation> delegation_;
  storage::RemovalQueue removals_;
  base::TaskGroup background_;
  publish::RecordQueue records_;
  LoopExporters exporters_;
  publish::CopyMaker copies_;
  masked::MaskMaker masks_;
  publish::ManifestStore manifests_;
  ducklake::CatalogRegistry registry_;
  delegation::RemoteSigner signer_;
  ducklake::ReaderLogins reader_logins_;
  operation::DirectReading direct_;
  std::optional<auth::Authenticator> authenticator_;  ///< Nothing where authentication is off.
  std::vector<std::weak_ptr<audit::AuditTrail>> trails_;
  LoopTools tools_;
  /// What was used last; a catalog that falls out lives on while it is in use.
  publish::LruCache<std::shared_ptr<operation::Catalog>> attached_;
  console::ConsoleFiles console_;
  http::Services routes_;
};

}  // namespace lake::app
