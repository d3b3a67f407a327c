#pragma once

// Some readers apply every deletion vector of a Puffin file that they open, not
// only those that the manifests name. A vector that was replaced does them no
// harm while its rows stay deleted. Where a snapshot shows such rows again, no
// file that it names may hold the old vector: the others move out of it.

#include <map>
#include <string>
#include <vector>

#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/derive/exporter.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/puffin/puffin_footer.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::publish {

/// One publication's look into Puffin files. What it is given outlives it.
class StaleVectors {
 public:
  StaleVectors(exporter::Exporter& exporter, ManifestStore& manifests)
      : exporter_(&exporter), manifests_(&manifests) {}

  /// Adds to `change` the vectors of `list` that move to a new Puffin file. The
  /// entries of manifests_to_read() have been read. The others outlive the task.
  /// Errors: those of ManifestStore and Exporter; kCorrupt  a Puffin file of ours
  ///         is broken.
  [[nodiscard]] base::Task<base::Status> move_live(
      base::RequestContext context, const model::LakeTable* table,
      const std::vector<materialize::ListedManifest>* list, materialize::SnapshotChange* change);

 private:
  using Vectors = std::vector<materialize::PlacedVector>;
  struct Puffin {
    const Vectors* vectors;
    std::string bytes;  ///< Empty where it was looked into for an earlier snapshot.
  };
  base::Task<base::Result<Puffin>> read_puffin(base::RequestContext context, std::string location);

  exporter::Exporter* exporter_;
  ManifestStore* manifests_;
  std::map<std::string, Vectors> known_;
};

}  // namespace lake::publish
