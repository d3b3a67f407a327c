#pragma once

// The step from the newest published snapshot to the first one after DuckDB has
// replaced the table's files (merge, flush, rewrite). The lake's rows no longer tell
// what changed in between, so what it shows now is compared with what is published:
// files in both stay, the others come and go. Published snapshots keep theirs.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lakeproxy/iceberg/manifest/listed_manifest.h"
#include "lakeproxy/to_iceberg/snapshot/plan_exports.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::materialize {

/// One step, by its three functions in this order, each before the part of a
/// publication that would look at what stays. `changes` has `published`, and commits.
class Rebase {
 public:
  /// `list` is that of the published snapshot, with the entries of every manifest.
  Rebase(const std::vector<ListedManifest>& list, const model::LakeChanges& changes);

  /// Takes the files out of `changes` that stay as they are.
  void leave_out_known(model::LakeChanges& changes);
  /// Takes inlined rows and deletes out of `plan` that are published as they are.
  void leave_out_known(ExportPlan& plan);
  /// Makes of all that the first snapshot shows what it changes.
  void apply(const model::LakeChanges& changes, SnapshotChange& first) const;

 private:
  struct Known {
    std::size_t count = 0;     ///< A path may stand in a table twice.
    std::size_t stays = 0;     ///< So many of them are shown on.
    std::int64_t deletes = 0;  ///< Positions that are deleted.
    bool same_deletes = false;
  };
  [[nodiscard]] Known* find_staying(const std::string& path);

  model::SnapshotId published_;
  model::SnapshotId first_;
  std::map<std::string, Known> known_;  ///< By the data file's path.
};

}  // namespace lake::materialize
