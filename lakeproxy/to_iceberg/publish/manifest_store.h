#pragma once

// Manifests and manifest lists in the object store. They are never changed
// once written, so what was read or written lately is kept.

#include <memory>
#include <string>
#include <vector>

#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"
#include "lakeproxy/storage/store.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"
#include "lakeproxy/to_iceberg/publish/manifest_decoder.h"
#include "lakeproxy/to_iceberg/snapshot/snapshot_builder.h"

namespace lake::publish {

using ManifestList = std::shared_ptr<const std::vector<model::ManifestFile>>;

/// Stored and unpacked bytes of clients' manifests at once, over all requests: the
/// most that one commit may bring.
inline constexpr std::size_t kClientManifestBytes = 768 << 20;

/// What all workers share; safe from any thread. Manifests have seven eighths of `bytes`,
/// lists the rest.
struct ManifestCache {
  explicit ManifestCache(std::size_t bytes);
  /// The same, which shows what it holds. `metrics` outlives it.
  ManifestCache(std::size_t bytes, base::metrics::Registry& metrics);

  LruCache<materialize::Entries> manifests;
  LruCache<ManifestList> lists;
  ManifestDecoder decoder{kClientManifestBytes};  ///< Of manifests and lists, ours and clients'.
};

/// One event loop's access. `store` and `cache` outlive it.
class ManifestStore {
 public:
  ManifestStore(storage::ObjectStore& store, ManifestCache& cache)
      : store_(&store), cache_(&cache) {}

  /// Errors: those of ObjectStore::get; kCorrupt  not a manifest.
  [[nodiscard]] base::Task<base::Result<ManifestList>> list(base::RequestContext context,
                                                            std::string location);
  [[nodiscard]] base::Task<base::Result<materialize::Entries>> entries(base::RequestContext context,
                                                                       std::string location);
  /// For whoever reads manifests or lists of clients.
  [[nodiscard]] ManifestDecoder& decoder() const { return cache_->decoder; }
  [[nodiscard]] materialize::ManifestHeaders& headers() const { return decoder().headers(); }
  /// Puts all objects at once; those that exist already are the same.
  [[nodiscard]] base::Task<base::Status> put(base::RequestContext context,
                                             std::vector<materialize::NewObject> objects);
  /// Keeps what was just built, so that the next snapshot need not read it.
  void remember(const materialize::BuiltSnapshot& built);
  /// An object as it is. Errors: those of ObjectStore::get.
  [[nodiscard]] base::Task<base::Result<std::string>> bytes(base::RequestContext context,
                                                            std::string location);

 private:
  storage::ObjectStore* store_;
  ManifestCache* cache_;
};

}  // namespace lake::publish
