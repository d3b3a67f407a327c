#pragma once

// Everything that belongs to one event loop, made in the order of its arrows
// and destroyed the other way round, before the loop.

#include <atomic>
#include <memory>

#include "base/core/clock.h"
#include "base/duckdb/engine.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/session.h"
#include "base/runtime/task_group.h"
#include "base/runtime/workers.h"
#include "lakeproxy/ducklake/lake_catalog.h"
#include "lakeproxy/ducklake/lake_writer.h"
#include "lakeproxy/ducklake/receipts.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/objects/store.h"
#include "lakeproxy/publish/manifest_store.h"
#include "lakeproxy/publish/publisher.h"
#include "lakeproxy/publish/table_views.h"
#include "lakeproxy/route/route.h"
#include "lakeproxy/settings/settings.h"

namespace lake::app {

/// What the event loops of the process share; safe from any thread.
struct Shared {
  const settings::Settings* settings = nullptr;
  const base::Clock* clock = nullptr;
  base::Random* random = nullptr;
  base::log::LogOutput* log = nullptr;
  base::metrics::Registry* metrics = nullptr;
  base::duckdb::Engine* engine = nullptr;
  base::BlockingPool* blocking = nullptr;
  publish::SharedViews* views = nullptr;
  publish::ManifestCache* manifests = nullptr;
  operation::CommitMetrics* commits = nullptr;
  operation::ReportedMetrics* reports = nullptr;
  std::atomic<bool> opened = false;
};

[[nodiscard]] base::pg::PoolOptions pool_options(const settings::Settings& settings);
[[nodiscard]] objects::StoreOptions store_options(const settings::Settings& settings);
[[nodiscard]] ducklake::LakeOptions lake_options(const settings::Settings& settings);
/// "config" of every LoadTableResult. Source: specification, section 2.3.
[[nodiscard]] std::string client_config(const settings::Settings& settings);
/// "config" of a storage credential; empty when no keys are handed out.
[[nodiscard]] std::string client_credentials(const settings::Settings& settings);

/// `shared` and the loop outlive it.
class WorkerServices {
 public:
  /// Errors: kInvalid  a storage setting.
  [[nodiscard]] static base::Result<std::unique_ptr<WorkerServices>> create(
      Shared& shared, boost::asio::any_io_executor loop);

  [[nodiscard]] base::pg::Pool& pool() { return *pool_; }
  [[nodiscard]] objects::ObjectStore& store() { return *store_; }
  [[nodiscard]] route::Services& routes() { return routes_; }
  /// On the loop, after the last request: waits for what runs in the background
  /// and closes the connections.
  [[nodiscard]] base::Task<void> finish();

 private:
  WorkerServices(Shared& shared, boost::asio::any_io_executor loop,
                 std::unique_ptr<objects::ObjectStore> store);
  base::Task<base::Status> ready(base::RequestContext context);

  measure::WaitMeter meter_;
  std::unique_ptr<base::pg::Pool> pool_;
  std::unique_ptr<objects::ObjectStore> store_;
  base::TaskGroup background_;
  ducklake::LakeReader reader_;
  ducklake::LakeWriter writer_;
  ducklake::Receipts receipts_;
  exporter::Exporter exporter_;
  publish::ManifestStore manifests_;
  publish::Publisher publisher_;
  publish::TableViews views_;
  route::Services routes_;
};

}  // namespace lake::app
