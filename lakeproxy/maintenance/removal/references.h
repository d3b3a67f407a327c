#pragma once

// The objects that published snapshots name: manifest lists, manifests, and
// what was exported beside them. Rows of PostgreSQL name the lists alone; the
// rest stands in the lists and manifests, which are read here, each once.
// Data files are rows of the lake and are not kept: memory follows the number
// of manifests and exported files.

#include <string>
#include <unordered_set>
#include <vector>

#include "lakeproxy/ducklake/maintenance/upkeep.h"
#include "lakeproxy/storage/location_rules.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"

namespace lake::maintenance {

class References {
 public:
  /// `upkeep` and `manifests` outlive it.
  References(ducklake::LakeUpkeep& upkeep, publish::ManifestStore& manifests)
      : upkeep_(&upkeep), manifests_(&manifests) {}

  /// Reads the lists of all snapshots that are published now, and of those that
  /// were after `since`: readers may still have them. A list or manifest that
  /// is gone names nothing that a reader could reach.
  /// Errors: those of LakeUpkeep and ObjectStore; kCorrupt  not a manifest.
  [[nodiscard]] base::Task<base::Status> mark(base::RequestContext context, base::WallTime since);
  /// Those of the snapshots that were recorded after `since`, too.
  /// Errors: as mark().
  [[nodiscard]] base::Task<base::Status> mark_recorded(base::RequestContext context,
                                                       base::WallTime since);

  [[nodiscard]] bool contains(std::string_view location) const {
    return named_.contains(storage::canonical(location));
  }
  /// Manifest lists and manifests that were not there, by their locations.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  base::Task<base::Status> mark_lists(base::RequestContext context, std::vector<std::string> lists);
  base::Task<base::Status> mark_manifests(base::RequestContext context,
                                          std::vector<std::string> manifests);
  void mark_manifest(const std::string& location, const materialize::Entries& entries);

  ducklake::LakeUpkeep* upkeep_;
  publish::ManifestStore* manifests_;
  std::unordered_set<std::string> named_;  ///< In their canonical spelling.
  std::vector<std::string> missing_;
};

}  // namespace lake::maintenance
