#pragma once

// The one way to a table for principals whose masks are in its files: from the cache where
// nothing has changed, else built over masked copies. A table whose copies are not all there shows
// its newest state that is whole, of the same masks; before the first it fails. Whatever goes wrong
// is an error: the raw table never comes back.
// Source: specification, sections 5.9 and 7, "Failure posture".

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log/logger.h"
#include "base/postgres/session.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/table_cache/single_flight.h"
#include "lakeproxy/to_iceberg/masked/mask_maker.h"
#include "lakeproxy/to_iceberg/masked/shadow_table.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"
#include "lakeproxy/to_iceberg/publish/manifest_store.h"

namespace lake::masked {

/// The reason of kUnavailable: copies are being made.
inline constexpr std::string_view kCopiesMissing = "masked_copies_missing";

/// What is kept of states and copies that no newest state needs.
struct MaskedRetention {
  std::int64_t states = 2;               ///< Of each signature.
  std::chrono::seconds grace{3900};      ///< Since they were last needed.
  std::chrono::seconds idle{7 * 86400};  ///< Of a signature that nobody asks for.
};

/// A shadow table, and the state of the table that it was made of.
struct MaskedEntry {
  publish::LoadedTablePtr loaded;
  std::string base_state;  ///< LoadedTable::etag.
  std::shared_ptr<const policy::MaskPlan> plan;
};
using MaskedEntryPtr = std::shared_ptr<const MaskedEntry>;

/// A plan that somebody has asked a table for. When, PostgreSQL knows, for all servers.
struct UsedPlan {
  std::shared_ptr<const policy::MaskPlan> plan;
  std::chrono::steady_clock::time_point noted;  ///< When PostgreSQL was told that it is used.
};

/// The process's; safe from any thread.
struct MaskedCache {
  explicit MaskedCache(publish::CacheLimits limits) : entries(limits) {}

  publish::LruCache<MaskedEntryPtr> entries;
  publish::SingleFlight single_flight;

  std::mutex mutex;
  /// By table and signature; guarded by `mutex`.
  std::map<std::string, std::map<std::string, UsedPlan>> plans;
};

/// What it works with; all outlive it.
struct MaskedTools {
  base::pg::Pool* pool = nullptr;
  publish::ManifestStore* manifests = nullptr;
  MaskMaker* maker = nullptr;
  MaskedCache* cache = nullptr;
};

/// The newest snapshot's manifests with their entries; none of a table without a snapshot.
/// `manifests` outlives the task. Errors: those of ManifestStore.
[[nodiscard]] base::Task<base::Result<std::vector<materialize::ListedManifest>>> newest_manifests(
    base::RequestContext context, publish::ManifestStore* manifests, publish::LoadedTablePtr base);

/// One event loop's, of one lake.
class MaskedTables {
 public:
  MaskedTables(MaskedTools tools, std::string metadata_schema, MaskedRetention retention)
      : tools_(tools), metadata_schema_(std::move(metadata_schema)), retention_(retention) {}

  /// `base` as principals with this plan see it.
  /// Errors: kUnavailable  copies are being made, and there is no whole state yet: says how many
  ///         are there; kUnsupported  a file cannot be masked: says why; those of
  ///         files_to_mask() and ManifestStore, and of PostgreSQL.
  [[nodiscard]] base::Task<base::Result<publish::LoadedTablePtr>> get(
      base::RequestContext context, publish::LoadedTablePtr base,
      std::shared_ptr<const policy::MaskPlan> plan);
  /// `base` with what the engines of principals with this plan have to apply: the files are its
  /// own. Waits for nothing; kept like a shadow.
  [[nodiscard]] publish::LoadedTablePtr marked(const publish::LoadedTablePtr& base,
                                               std::shared_ptr<const policy::MaskPlan> plan);
  /// Sees to the copies of a table that has changed, for all plans that were used within
  /// MaskedRetention::idle: before anybody asks again. What fails is left to the next load.
  [[nodiscard]] base::Task<void> refresh(base::RequestContext context,
                                         publish::LoadedTablePtr base);

 private:
  /// Those of the copies that are recorded, made or failed.
  struct Recorded {
    MadeCopies made;
    std::vector<FileToMask> missing;
    std::string failure;  ///< Of the first that cannot be made.
  };
  base::Task<base::Result<Recorded>> recorded(base::RequestContext context,
                                              const MaskedTableName* of,
                                              const std::vector<FileToMask>* files);
  base::Task<base::Result<publish::LoadedTablePtr>> build(
      base::RequestContext context, std::string key, publish::LoadedTablePtr base,
      std::shared_ptr<const policy::MaskPlan> plan);
  /// Those of the plans that were asked for here and, at whichever server, within the idle time;
  /// the others are forgotten until somebody asks.
  base::Task<base::Result<std::vector<std::shared_ptr<const policy::MaskPlan>>>> used_lately(
      base::RequestContext context, publish::LoadedTablePtr base);
  /// Whether the state that is held is still recorded, which is told from time to time.
  base::Task<base::Result<bool>> is_kept(base::RequestContext context, publish::LoadedTablePtr base,
                                         std::shared_ptr<const policy::MaskPlan> plan);
  base::Task<base::Status> note(base::RequestContext context, const MaskedTableName* of,
                                const ShadowTable* shadow, const std::vector<FileToMask>* files);

  MaskedTools tools_;
  std::string metadata_schema_;
  MaskedRetention retention_;
};

}  // namespace lake::masked
