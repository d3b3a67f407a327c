#pragma once

// Manifests and manifest lists in the object store. They are never changed
// once written, so what was read or written lately is kept.

#include <memory>
#include <string>
#include <vector>

#include "base/avro/schema_cache.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/materialize/snapshot/snapshot_builder.h"
#include "lakeproxy/objects/store.h"
#include "lakeproxy/publish/lru_cache.h"

namespace lake::publish {

using ManifestList = std::shared_ptr<const std::vector<model::ManifestFile>>;

/// What all workers share; safe from any thread. Weights count entries.
struct ManifestCache {
  explicit ManifestCache(std::size_t entries) : manifests(entries), lists(entries) {}
  LruCache<materialize::Entries> manifests;
  LruCache<ManifestList> lists;
  base::avro::SchemaCache schemas;  ///< Of manifests and lists, ours and clients'.
};

/// One event loop's access. `store` and `cache` outlive it.
class ManifestStore {
 public:
  ManifestStore(objects::ObjectStore& store, ManifestCache& cache)
      : store_(&store), cache_(&cache) {}

  /// Errors: those of ObjectStore::get; kCorrupt  not a manifest.
  [[nodiscard]] base::Task<base::Result<ManifestList>> list(base::RequestContext context,
                                                            std::string location);
  [[nodiscard]] base::Task<base::Result<materialize::Entries>> entries(base::RequestContext context,
                                                                       std::string location);
  /// For whoever reads manifests or lists of clients.
  [[nodiscard]] base::avro::SchemaCache& schemas() const { return cache_->schemas; }
  /// Puts all objects at once; those that exist already are the same.
  [[nodiscard]] base::Task<base::Status> put(base::RequestContext context,
                                             std::vector<materialize::NewObject> objects);
  /// Keeps what was just built, so that the next snapshot need not read it.
  void remember(const materialize::BuiltSnapshot& built);
  /// An object as it is. Errors: those of ObjectStore::get.
  [[nodiscard]] base::Task<base::Result<std::string>> bytes(base::RequestContext context,
                                                            std::string location);

 private:
  objects::ObjectStore* store_;
  ManifestCache* cache_;
};

}  // namespace lake::publish
