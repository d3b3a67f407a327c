#pragma once

// Orphans are objects under a catalog's prefix that nothing names: not a row of
// the lake in any snapshot, not a deletion that waits, not a snapshot or
// metadata file of ours, now or within the grace. They are left by writers that
// died, by publications that lost a race, and by snapshots that expired.
//
// What is named is read before the objects are listed, and each page of them is
// compared with the lake once more before any of it goes.
//
// Before the first one goes, all are looked at once: an orphan that a catalog or
// DuckDB wrote after the newest change that the database knows is a sign that the
// database is older than the store (a backup that was restored, a copy of a disk),
// and then nothing goes.

#include <chrono>
#include <functional>

#include "base/log/logger.h"
#include "lakeproxy/maintenance/removal/references.h"
#include "lakeproxy/storage/store.h"

namespace lake::maintenance {

enum class Removal { kShow, kRemove };

struct OrphanSearch {
  std::string prefix;  ///< The catalog's data path, "s3://bucket/data/".
  std::string owner;   ///< Location of the object that names the prefix's owner.
  /// Objects must be older than this, and so must be the moment at which the
  /// last snapshot let go of them.
  std::chrono::microseconds grace{};
  Removal removal = Removal::kShow;
  /// Called for each orphan, before it is removed.
  std::function<void(const storage::ListedObject&)> found;
};

struct OrphanCount {
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t listed = 0;      ///< Objects looked at.
  std::uint64_t unnameable = 0;  ///< Objects whose names are no keys of ours; they stay.
  std::uint64_t failed = 0;      ///< Orphans that the store did not remove.
};

struct OrphanTools {
  ducklake::LakeUpkeep* upkeep;
  storage::ObjectStore* store;
  publish::ManifestStore* manifests;
  const base::Clock* clock;
  const base::log::Logger* log;
};

/// One lake's orphans, in the order of their keys.
/// Errors: kConflict  the store is newer than the database, nothing was removed;
///         those of References, LakeUpkeep and ObjectStore; what was found and
///         removed before stays so.
[[nodiscard]] base::Task<base::Result<OrphanCount>> collect_orphans(base::RequestContext context,
                                                                    OrphanTools tools,
                                                                    OrphanSearch search);

}  // namespace lake::maintenance
