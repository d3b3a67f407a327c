#pragma once

// What the operations of one event loop work with. app/ makes it; operations
// borrow it for the length of a request.

#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/runtime/task_group.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/commit/receipts.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/ducklake/upkeep/table_upkeep.h"
#include "lakeproxy/ducklake/upkeep/upkeep.h"
#include "lakeproxy/ducklake/views/view_store.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/export/compaction/compactor.h"
#include "lakeproxy/measure/wait_meter.h"
#include "lakeproxy/objects/removal_queue.h"
#include "lakeproxy/objects/store.h"
#include "lakeproxy/operation/catalog/commit_metrics.h"
#include "lakeproxy/operation/catalog/reported_metrics.h"
#include "lakeproxy/publish/manifest_store.h"
#include "lakeproxy/publish/table_views.h"

namespace lake::operation {

class CompactionMetrics;

struct Catalog {
  /// What all below belongs to; see keep_alive().
  std::weak_ptr<void> owner;
  ducklake::LakeReader* reader = nullptr;
  ducklake::LakeWriter* writer = nullptr;
  ducklake::ViewStore* view_store = nullptr;
  ducklake::Receipts* receipts = nullptr;
  ducklake::LakeUpkeep* upkeep = nullptr;
  ducklake::TableUpkeep* table_upkeep = nullptr;
  publish::TableViews* views = nullptr;
  publish::ManifestStore* manifests = nullptr;
  exporter::Exporter* exporter = nullptr;
  objects::ObjectStore* store = nullptr;
  objects::RemovalQueue* removals = nullptr;
  base::TaskGroup* background = nullptr;
  measure::WaitMeter* meter = nullptr;
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
  /// How clients reach the object store: "config" of every LoadTableResult, as JSON.
  std::string client_config;
  /// "config" of a storage credential, as JSON; empty when none is handed out.
  std::string client_credentials;
  std::string public_url;  ///< As clients see this service; empty when not set.
  std::int32_t default_format_version = 2;
  /// How long files stay that the lake has let go of.
  std::chrono::microseconds file_grace{};
  /// Whose clients alone may reach it; nothing: every client.
  std::optional<std::string> account_id;

  /// For work behind an answer: a catalog that is not used for long is let go
  /// when nobody holds it.
  [[nodiscard]] std::shared_ptr<void> keep_alive() const { return owner.lock(); }
};

}  // namespace lake::operation
