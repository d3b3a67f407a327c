#pragma once

// What the operations of one event loop work with. app/ makes it; operations
// borrow it for the length of a request.

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/auth/principal.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/commit/idempotency_records.h"
#include "lakeproxy/ducklake/maintenance/table_upkeep.h"
#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/maintenance/compaction/compactor.h"
#include "lakeproxy/measure/wait_meter.h"
#include "lakeproxy/operation/catalog/commit_metrics.h"
#include "lakeproxy/operation/catalog/reported_metrics.h"
#include "lakeproxy/policy/read_plan.h"
#include "lakeproxy/storage/removal_queue.h"
#include "lakeproxy/storage/store.h"
#include "lakeproxy/table_cache/loaded_tables.h"
#include "lakeproxy/to_iceberg/masked/masked_tables.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"
#include "lakeproxy/views/view_store.h"

namespace lake::planning {
class ScanPlans;
}
namespace lake::audit {
class AuditLog;
class AuditTrail;
}  // namespace lake::audit

namespace lake::delegation {
class AccessDelegation;
}
namespace lake::governance {
class GovernanceStore;
class Resolver;
}  // namespace lake::governance

namespace lake::operation {

class CompactionMetrics;
struct Catalog;

/// Starts work behind an answer. Such work outlives the request that held the
/// catalog, and a registered catalog that nobody has used for long dies when
/// nobody holds it. So this is the one way to start it, and it takes the owner
/// along: a task that borrows the catalog without holding it cannot come about
/// by leaving something out.
/// Of one event loop; not thread-safe.
class CatalogTasks {
 public:
  CatalogTasks() = default;
  CatalogTasks(const CatalogTasks&) = delete;
  CatalogTasks& operator=(const CatalogTasks&) = delete;

  /// Once, before the first spawn(). `tasks` outlives the catalog; `owner` is what the
  /// catalog and all that it points to belong to.
  void bind(base::TaskGroup& tasks, std::weak_ptr<Catalog> owner) {
    tasks_ = &tasks;
    owner_ = std::move(owner);
  }

  /// Starts `work(catalog, arguments...)`, which the catalog outlives. `work` is a
  /// plain function; its arguments are moved into it. To be called while the catalog
  /// is held, as by every request.
  template <class... Parameters, class... Arguments>
  void spawn(base::Task<void> (*work)(Catalog*, Parameters...), Arguments&&... arguments) {
    static_assert((!std::is_reference_v<Parameters> && ...), "a task owns what it works on");
    std::shared_ptr<Catalog> owner = owner_.lock();
    if (owner == nullptr) std::abort();
    tasks_->spawn(hold(owner, work(owner.get(), std::forward<Arguments>(arguments)...)));
  }

 private:
  // The owner is let go after the last line of the work, with this frame.
  static base::Task<void> hold([[maybe_unused]] std::shared_ptr<Catalog> owner,
                               base::Task<void> work) {
    co_await std::move(work);
  }

  base::TaskGroup* tasks_ = nullptr;
  std::weak_ptr<Catalog> owner_;
};

/// What governance leaves of a loaded table to a principal. Errors: it cannot be told now.
using FindReadPlan = std::function<base::Task<base::Result<policy::ReadPlan>>(
    base::RequestContext, auth::Principal, publish::LoadedTablePtr)>;

struct Catalog {
  ducklake::LakeReader* reader = nullptr;
  ducklake::LakeWriter* writer = nullptr;
  ducklake::ViewStore* view_store = nullptr;
  ducklake::IdempotencyRecords* idempotency_records = nullptr;
  ducklake::LakeUpkeep* upkeep = nullptr;
  ducklake::TableUpkeep* table_upkeep = nullptr;
  publish::LoadedTables* loaded_tables = nullptr;
  masked::MaskedTables* masked_tables = nullptr;
  FindReadPlan read_plan;
  bool governance_fails_closed = false;  ///< No read where read_plan() fails.
  publish::ManifestStore* manifests = nullptr;
  exporter::Exporter* exporter = nullptr;
  std::size_t previews = 0;  ///< Of rows, that are being read.
  storage::ObjectStore* store = nullptr;
  storage::RemovalQueue* removals = nullptr;
  CatalogTasks background;  ///< Work behind an answer.
  /// The same catalog for long work and for work that nobody waits for: with PostgreSQL
  /// connections and engine threads that requests do not use. Null in that one itself.
  std::shared_ptr<Catalog> unhurried;
  audit::AuditTrail* audit = nullptr;                 ///< Null only in tests.
  const audit::AuditLog* audit_log = nullptr;         ///< The same.
  governance::GovernanceStore* governance = nullptr;  ///< The same.
  governance::Resolver* resolver = nullptr;           ///< The same.
  measure::WaitMeter* meter = nullptr;
  planning::ScanPlans* scan_plans = nullptr;
  CommitMetrics* commit_metrics = nullptr;
  ReportedMetrics* reported_metrics = nullptr;
  exporter::Compactor* compactor = nullptr;
  CompactionMetrics* compaction_metrics = nullptr;
  const base::Clock* clock = nullptr;
  base::Random* random = nullptr;
  std::optional<base::log::Logger> log;
  const ducklake::StepWatch* steps = nullptr;                   ///< Null but in tests.
  const exporter::CompactionWatch* compaction_steps = nullptr;  ///< The same.
  ducklake::LakeOptions lake;
  /// Who gets keys of its own; null in tests without any.
  delegation::AccessDelegation* delegation = nullptr;
  /// How clients reach the object store that get no keys: the end of a LoadTableResult.
  std::shared_ptr<const publish::ClientConfig> client_config;
  /// "config" of a storage credential, as JSON; empty when none is handed out.
  std::string client_credentials;
  /// Besides its own folder, where files lie that clients add to any table.
  std::vector<storage::Location> file_prefixes;
  std::string public_url;  ///< As clients see this service; empty when not set.
  std::int32_t default_format_version = 2;
  /// How long files stay that the lake has let go of.
  std::chrono::microseconds file_grace{};
  /// Whose clients alone may reach it; nothing: every client.
  std::optional<std::string> account_id;
};

}  // namespace lake::operation
