#pragma once

// What belongs to one catalog: on one event loop, and shared by all loops.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/postgres/session.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/app/shared.h"
#include "lakeproxy/audit/audit_log.h"
#include "lakeproxy/audit/audit_trail.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/commit/idempotency_records.h"
#include "lakeproxy/ducklake/maintenance/table_upkeep.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/governance/governance_store.h"
#include "lakeproxy/governance/resolver.h"
#include "lakeproxy/measure/wait_meter.h"
#include "lakeproxy/operation/catalog/catalog.h"
#include "lakeproxy/storage/removal_queue.h"
#include "lakeproxy/storage/store.h"
#include "lakeproxy/to_iceberg/publish/publisher.h"
#include "lakeproxy/views/view_store.h"

namespace lake::app {

/// One catalog as all event loops of the process see it; safe from any thread.
struct SharedCatalog {
  SharedCatalog(publish::TableCache& cache, ducklake::LakeOptions options,
                std::optional<std::string> account)
      : lake(std::move(options)), account_id(std::move(account)), tables(cache) {}

  ducklake::LakeOptions lake;
  std::optional<std::string> account_id;
  publish::LakeTableCache tables;
  std::shared_ptr<audit::AuditBatches> audit = std::make_shared<audit::AuditBatches>();
  std::atomic<bool> opened = false;
};

/// The catalogs that some event loop of the process has attached. Safe from any
/// thread.
class SharedCatalogs {
 public:
  /// `cache` outlives it and what it gives.
  explicit SharedCatalogs(publish::TableCache& cache) : cache_(&cache) {}
  /// The one for `lake.catalog`, made when nobody holds it.
  [[nodiscard]] std::shared_ptr<SharedCatalog> get(const ducklake::LakeOptions& lake,
                                                   const std::optional<std::string>& account);

 private:
  publish::TableCache* cache_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedCatalog>> held_;
};

/// One event loop's exporters, by what they are for.
struct LoopExporters {
  exporter::Exporter load;
  exporter::Exporter commit;
  exporter::Exporter background;
  exporter::Exporter count;
  exporter::Exporter copy;
  exporter::Exporter mask;
};

/// What the catalogs of one event loop have in common; it outlives them.
struct LoopTools {
  Shared* shared = nullptr;
  base::pg::Pool* pool = nullptr;
  base::pg::Pool* background_pool = nullptr;
  storage::ObjectStore* store = nullptr;
  storage::RemovalQueue* removals = nullptr;
  publish::RecordQueue* records = nullptr;
  LoopExporters* exporters = nullptr;
  publish::ManifestStore* manifests = nullptr;
  base::TaskGroup* background = nullptr;
  measure::WaitMeter* meter = nullptr;
  publish::CopyMaker* copies = nullptr;
  masked::MaskMaker* masks = nullptr;
  delegation::AccessDelegation* delegation = nullptr;
  /// Of all catalogs of the loop, for its end.
  std::vector<std::weak_ptr<audit::AuditTrail>>* trails = nullptr;
};

/// Who waits for what a catalog's services do.
enum class Pace { kRequests, kUnhurried };

/// One catalog on one event loop.
class CatalogServices {
 public:
  /// Its operations' view, which keeps it alive, as does the unhurried one.
  [[nodiscard]] static std::shared_ptr<operation::Catalog> create(
      const LoopTools& tools, std::shared_ptr<SharedCatalog> shared);

  CatalogServices(const LoopTools& tools, std::shared_ptr<SharedCatalog> shared, Pace pace);
  CatalogServices(const CatalogServices&) = delete;
  CatalogServices& operator=(const CatalogServices&) = delete;

 private:
  publish::PublisherTools publisher_tools(const LoopTools& tools, Pace pace);
  /// Renames and drops by whichever writer go into the audit trail: behind the first request for a
  /// table that sees another version of the lake, since each of them makes one.
  void move_events_behind();

  std::shared_ptr<SharedCatalog> shared_;
  ducklake::LakeReader reader_;
  ducklake::LakeWriter writer_;
  ducklake::ViewStore view_store_;
  ducklake::IdempotencyRecords idempotency_records_;
  ducklake::LakeUpkeep upkeep_;
  ducklake::TableUpkeep table_upkeep_;
  publish::Publisher publisher_;
  publish::LoadedTables loaded_tables_;
  masked::MaskedTables masked_tables_;
  audit::AuditLog audit_log_;
  std::shared_ptr<audit::AuditTrail> audit_;
  governance::GovernanceStore governance_;
  governance::Resolver resolver_;
  std::optional<model::LakeVersion> events_asked_at_;  ///< See move_events_behind().
  operation::Catalog catalog_;
};

}  // namespace lake::app
