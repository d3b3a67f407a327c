#pragma once

// Puts what Iceberg clients need of a table into the object store: for each
// lake commit that is not published yet its manifests and manifest list, and
// the metadata file that shows them all. Commit and load run the same code;
// two servers doing it at once make the same objects.

#include <memory>
#include <optional>
#include <vector>

#include "base/log/logger.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"
#include "lakeproxy/to_iceberg/publish/copy_maker.h"
#include "lakeproxy/to_iceberg/publish/loaded_table.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"
#include "lakeproxy/to_iceberg/publish/nan_counts.h"
#include "lakeproxy/to_iceberg/publish/record_queue.h"
#include "lakeproxy/to_iceberg/publish/snapshot_series.h"

namespace lake::publish {

/// What a publisher works with; all outlive it.
struct PublisherTools {
  ducklake::LakeReader* reader = nullptr;
  ducklake::LakeWriter* writer = nullptr;
  RecordQueue* records = nullptr;
  exporter::Exporter* exporter = nullptr;  ///< Of what an answer waits for.
  exporter::Exporter* counter = nullptr;   ///< Of NaN counts.
  ManifestStore* manifests = nullptr;
  const NanCounting* nan_counting = nullptr;
  const ducklake::StepWatch* steps = nullptr;  ///< May be null.
  CopyMaker* copies = nullptr;                 ///< Null where no readable copies are made.
};

/// One event loop's publisher of one lake.
class Publisher {
 public:
  explicit Publisher(PublisherTools tools, std::optional<base::log::Logger> log = std::nullopt)
      : tools_(tools), log_(std::move(log)) {}

  /// Publishes what is pending and returns the loaded table; what it names is put. It is
  /// recorded as well, unless its record has failed: then it may be told, and nothing
  /// may be built on it. `before` is an earlier one of the same table, recorded, or null.
  /// Errors: those of LakeReader, Exporter, ObjectStore and of the encoders;
  ///         kConflict with reason kStale  another server published first: read
  ///         the table again.
  [[nodiscard]] base::Task<base::Result<LoadedTablePtr>> publish(base::RequestContext context,
                                                                 model::LakeTable table,
                                                                 LoadedTablePtr before);
  /// The same after a commit of this process; record() is left to be done. `changes` are those of
  /// the pending snapshots, and are read where they are not known. `before` may be unrecorded.
  /// Errors: as publish(); kStale only where `changes` are read.
  [[nodiscard]] base::Task<base::Result<LoadedTablePtr>> publish_committed(
      base::RequestContext context, model::LakeTable table,
      std::optional<model::LakeChanges> changes, LoadedTablePtr before);
  /// Records a publication. Errors: as RecordQueue::record().
  [[nodiscard]] base::Task<base::Status> record(LoadedTablePtr loaded, RecordTime time);

 private:
  /// A loaded table, and those of its objects that are not yet put.
  struct Prepared {
    std::shared_ptr<LoadedTable> loaded;
    std::vector<materialize::NewObject> objects;
  };
  /// Puts all that a loaded table names, side by side: nobody is told of it before it is there.
  base::Task<base::Status> put(base::RequestContext context, Prepared* prepared);
  base::Task<base::Result<Prepared>> prepare(base::RequestContext context, model::LakeTable table,
                                             std::optional<model::LakeChanges> changes,
                                             LoadedTablePtr before);
  /// Snapshots that were never published cannot be shown from files that hold rows of later ones.
  void hide_unpublished(const base::RequestContext& context, const model::LakeTable& table,
                        model::LakeChanges& changes) const;
  /// Gives the table a spec without fields where a file needs one.
  base::Task<base::Result<std::vector<materialize::SnapshotChange>>> split_changes(
      base::RequestContext context, model::LakeTable* table, const model::LakeChanges* changes,
      const materialize::ExportPlan* plan, const materialize::Exported* exported);
  base::Task<base::Result<SnapshotSeries>> build_pending(base::RequestContext context,
                                                         model::LakeTable* table,
                                                         model::LakeChanges changes);
  base::Task<base::Result<model::LakeChanges>> read_pending(base::RequestContext context,
                                                            const model::LakeTable* table);

  PublisherTools tools_;
  std::optional<base::log::Logger> log_;
};

}  // namespace lake::publish
