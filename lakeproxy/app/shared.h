#pragma once

// What the event loops of the process share, and what the settings mean to
// each folder.

#include <atomic>
#include <string>

#include "base/core/clock.h"
#include "base/duckdb/engine.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/session.h"
#include "lakeproxy/app/authority.h"
#include "lakeproxy/delegation/access_delegation.h"
#include "lakeproxy/delegation/remote_signer.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/engine/files/engine_pool.h"
#include "lakeproxy/maintenance/compaction/compactor.h"
#include "lakeproxy/operation/catalog/commit_metrics.h"
#include "lakeproxy/operation/catalog/reported_metrics.h"
#include "lakeproxy/operation/compact_table.h"
#include "lakeproxy/operation/vend_ducklake.h"
#include "lakeproxy/planning/scan_plans.h"
#include "lakeproxy/settings/settings.h"
#include "lakeproxy/storage/store.h"
#include "lakeproxy/table_cache/loaded_tables.h"
#include "lakeproxy/to_iceberg/masked/masked_tables.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"

namespace lake::app {

class SharedCatalogs;

/// The threads of the embedded engine, by what they are for. Safe from any thread.
struct EnginePools {
  /// `watch` may be null, and outlives it.
  EnginePools(const settings::Engine& settings, base::metrics::Registry& metrics,
              const exporter::EngineWatch* watch);

  exporter::EnginePool load;
  exporter::EnginePool commit;
  exporter::EnginePool background;
  exporter::EnginePool count;
  exporter::EnginePool copy;
  exporter::EnginePool mask;
};

/// Safe from any thread.
struct Shared {
  const settings::Settings* settings = nullptr;
  const base::Clock* clock = nullptr;
  base::Random* random = nullptr;
  base::log::LogOutput* log = nullptr;
  base::metrics::Registry* metrics = nullptr;
  Authority* authority = nullptr;        ///< Null where authentication is off.
  auth::RateLimits* requests = nullptr;  ///< Null: any number.
  base::duckdb::Engine* engine = nullptr;
  EnginePools* engine_pools = nullptr;
  base::BlockingPool* policy_trials = nullptr;  ///< Where bodies of policies are tried.
  const publish::RecordMetrics* records = nullptr;
  delegation::IssuedKeys* issued_keys = nullptr;
  SharedCatalogs* catalogs = nullptr;
  publish::ManifestCache* manifests = nullptr;
  publish::NanCounting* nan_counting = nullptr;
  publish::CopyWork* copies = nullptr;
  masked::MaskWork* masks = nullptr;
  masked::MaskedCache* masked_tables = nullptr;
  planning::ScanPlans* scan_plans = nullptr;
  operation::CommitMetrics* commits = nullptr;
  operation::ReportedMetrics* reports = nullptr;
  exporter::Compactor* compactor = nullptr;
  operation::CompactionMetrics* compactions = nullptr;
  delegation::SharedStrictness* strictness = nullptr;
  const ducklake::StepWatch* steps = nullptr;                   ///< Null but in tests.
  const exporter::CompactionWatch* compaction_steps = nullptr;  ///< The same.
  std::atomic<bool> opened = false;                             ///< The default catalog's lake.
};

[[nodiscard]] base::pg::PoolOptions pool_options(const settings::Settings& settings);
/// Of the connections for what no request waits for.
[[nodiscard]] base::pg::PoolOptions background_pool_options(const settings::Settings& settings);
[[nodiscard]] storage::StoreOptions store_options(const settings::Settings& settings);
/// Errors: kInvalid  the endpoint.
[[nodiscard]] base::Result<delegation::SignerOptions> signer_options(
    const settings::Settings& settings);
/// How an engine attaches the lakes; its scratch folders are made in `scratch`.
[[nodiscard]] exporter::LakeAccess lake_access(const settings::Settings& settings,
                                               std::string scratch);
[[nodiscard]] ducklake::ReaderOptions reader_options(const settings::Settings& settings);
/// Without the logins, which belong to one event loop.
[[nodiscard]] operation::DirectReading direct_reading(const settings::Settings& settings);
/// Of the default catalog.
[[nodiscard]] ducklake::LakeOptions lake_options(const settings::Settings& settings);
/// The bucket of all catalogs as a location: "s3://bucket/".
[[nodiscard]] std::string bucket_location(const settings::Settings& settings);
/// Where clients may add files from to any table.
[[nodiscard]] std::vector<storage::Location> file_prefixes(const settings::Settings& settings);
/// How clients get keys of their own.
[[nodiscard]] delegation::DelegationOptions delegation_options(const settings::Settings& settings);
/// Source: specification, section 8.
[[nodiscard]] masked::MaskedRetention masked_retention(const settings::Settings& settings);
/// "config" of a LoadTableResult without keys. Source: specification, section 2.3.
[[nodiscard]] std::string client_config(const settings::Settings& settings);
/// "config" of a storage credential; empty when no keys are handed out.
[[nodiscard]] std::string client_credentials(const settings::Settings& settings);

}  // namespace lake::app
