#pragma once

// Puts what Iceberg clients need of a table into the object store: for each
// lake commit that is not published yet its manifests and manifest list, and
// the metadata file that shows them all. Commit and load run the same code;
// two servers doing it at once make the same objects.

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/ducklake/commit/commit_step.h"
#include "lakeproxy/ducklake/read/lake_reader.h"
#include "lakeproxy/ducklake/write/lake_writer.h"
#include "lakeproxy/export/exporter.h"
#include "lakeproxy/publish/manifest_store.h"
#include "lakeproxy/publish/nan_counts.h"
#include "lakeproxy/publish/snapshot_series.h"
#include "lakeproxy/publish/table_view.h"

namespace lake::publish {

/// What follows a publication and no answer needs to wait for: the metadata file
/// and the record of what was put. Shared by all workers.
struct Trail {
  ducklake::LakeWriter::Published published;
  std::atomic<bool> done = false;
  /// finish() has failed. What was put before is recorded nowhere, so gc may have
  /// removed it since: the publication must be made anew.
  std::atomic<bool> failed = false;
};

struct Publication {
  TableViewPtr view;
  std::shared_ptr<Trail> trail;
};

/// One event loop's publisher of one lake. All referenced objects outlive it.
/// `config` is what every LoadTableResult tells its client, a JSON object.
class Publisher {
 public:
  Publisher(ducklake::LakeReader& reader, ducklake::LakeWriter& writer,
            exporter::Exporter& exporter, ManifestStore& manifests, const NanCounting& nan_counting,
            std::string config, const ducklake::StepWatch* steps = nullptr)
      : reader_(&reader),
        writer_(&writer),
        exporter_(&exporter),
        manifests_(&manifests),
        nan_counting_(&nan_counting),
        config_(std::move(config)),
        steps_(steps) {}

  /// Publishes what is pending and returns the view. `before` is an earlier
  /// view of the table, or null.
  /// Errors: those of LakeReader, Exporter, ObjectStore and of the encoders;
  ///         kConflict with reason kStale  another server published first: read
  ///         the table again.
  [[nodiscard]] base::Task<base::Result<TableViewPtr>> publish(base::RequestContext context,
                                                               model::LakeTable table,
                                                               TableViewPtr before);
  /// The same after a commit whose table and changes are known; what finish()
  /// does is left to be done. Errors: as publish(), without kStale.
  [[nodiscard]] base::Task<base::Result<Publication>> publish_known(base::RequestContext context,
                                                                    model::LakeTable table,
                                                                    model::LakeChanges changes,
                                                                    TableViewPtr before);
  /// Puts the metadata file and records the publication.
  /// Errors: those of ObjectStore and LakeWriter; kConflict with reason kStale
  ///         another server published something else, or it failed before: read
  ///         the table again.
  [[nodiscard]] base::Task<base::Status> finish(base::RequestContext context,
                                                Publication publication);

 private:
  /// A publication, and those of its objects that are not yet put.
  struct Prepared {
    Publication publication;
    std::vector<materialize::NewObject> objects;
  };
  base::Task<base::Result<Prepared>> prepare(base::RequestContext context, model::LakeTable table,
                                             std::optional<model::LakeChanges> changes,
                                             TableViewPtr before);
  base::Task<base::Result<SnapshotSeries>> build_pending(base::RequestContext context,
                                                         const model::LakeTable* table,
                                                         model::LakeChanges changes);
  base::Task<base::Result<model::LakeChanges>> read_pending(base::RequestContext context,
                                                            const model::LakeTable* table);
  base::Task<base::Status> put_and_record(base::RequestContext context, Publication publication);
  base::Task<base::Status> record(base::RequestContext context, std::shared_ptr<Trail> trail);

  ducklake::LakeReader* reader_;
  ducklake::LakeWriter* writer_;
  exporter::Exporter* exporter_;
  ManifestStore* manifests_;
  const NanCounting* nan_counting_;
  std::string config_;  ///< The "config" of every LoadTableResult, as JSON.
  const ducklake::StepWatch* steps_;
};

}  // namespace lake::publish
