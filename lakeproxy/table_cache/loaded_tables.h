#pragma once

// The one way to a loaded table: from the cache when nobody changed the table, else
// read, published and cached. What get() gives is at least as new as the moment of
// the call, and all that it names is in the object store.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/table_cache/catalog_version_poller.h"
#include "lakeproxy/table_cache/single_flight.h"
#include "lakeproxy/table_cache/table_invalidation.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"
#include "lakeproxy/to_iceberg/publish/publisher.h"

namespace lake::publish {

struct CacheEntry {
  LoadedTablePtr loaded;
  TableInvalidation::Generation generation = 0;  ///< When the reading of it began.
};
using CacheEntryPtr = std::shared_ptr<const CacheEntry>;

/// Whether the lake could not remember what was published: nothing may be built on it.
[[nodiscard]] bool has_failed(const LoadedTable& loaded);

/// The cache of the process: the newest loaded tables of all its lakes; safe from any thread.
/// Outlives the tasks that use it.
struct TableCache {
  TableCache(CacheLimits limits, base::metrics::Registry& metrics);

  LruCache<CacheEntryPtr> entries;
  base::metrics::Counter hits;
  base::metrics::Counter misses;
  base::metrics::Counter packed;         ///< Bodies made into gzip.
  base::BlockingPool packing{2};         ///< A large one would hold up an event loop for long.
  std::atomic<std::uint64_t> lakes = 0;  ///< So many have used it.
};

/// What the workers of a process share for one lake; safe from any thread.
struct LakeTableCache {
  /// `cache` outlives it.
  explicit LakeTableCache(TableCache& cache);

  TableCache* cache;
  /// Tells its entries from those of other lakes, and of the same lake under an
  /// earlier TableInvalidation, whose generations mean nothing to this one.
  std::string key;
  TableInvalidation invalidation;
  /// By key: who reads a table, and who packs it.
  SingleFlight single_flight;
};

/// One event loop's way to the loaded tables of one lake. All referenced objects outlive it.
class LoadedTables {
 public:
  LoadedTables(ducklake::LakeReader& reader, Publisher& publisher, LakeTableCache& shared);
  ~LoadedTables();

  /// Errors: kNotFound (kNoSuchTable, kNoSuchNamespace); those of Publisher.
  [[nodiscard]] base::Task<base::Result<LoadedTablePtr>> get(base::RequestContext context,
                                                             model::TableIdentifier identifier);
  /// The same for what ends or replaces the table's history: the lake remembers it, so
  /// that the table can come back by its metadata file. Errors: as get(), and of record();
  /// kUnavailable  it cannot be recorded.
  [[nodiscard]] base::Task<base::Result<LoadedTablePtr>> get_recorded(
      base::RequestContext context, model::TableIdentifier identifier);
  /// The version of the lake's policies, as new as the last get(): what resolves a principal's
  /// rights to the table needs no question of its own.
  [[nodiscard]] std::int64_t policy_version() const { return shared_->invalidation.policies(); }
  /// The newest one known here, which may be old, without asking the lake; null
  /// when there is none. For a commit, which finds out by itself whether it still
  /// holds. Nothing may be built on one that has_failed().
  [[nodiscard]] CacheEntryPtr newest_known(const model::TableIdentifier& identifier) const;
  /// The same after record(), null where that was stale. Errors: those of record().
  [[nodiscard]] base::Task<base::Result<LoadedTablePtr>> remembered(
      model::TableIdentifier identifier);
  /// Publishes what this process has just made of `before`, where the writer knows the table
  /// after it. The result may be told at once to the client that committed it; record() must
  /// follow. Errors: those of Publisher::publish_committed.
  [[nodiscard]] base::Task<base::Result<CacheEntryPtr>> publish_known(
      base::RequestContext context, model::TableIdentifier identifier, LoadedTablePtr before,
      ducklake::ChangedTable changed);
  /// The same of a table that it has just created, in no other table's place.
  /// Errors: as get().
  [[nodiscard]] base::Task<base::Result<CacheEntryPtr>> publish_created(
      base::RequestContext context, model::TableIdentifier identifier,
      ducklake::CreatedTable created);
  /// Takes in a commit of this process that changed this table alone: the next get() need not ask
  /// what changed. For those that are not published by one of the two above.
  void note_commit(const ducklake::Committed& committed, model::TableId table);
  /// Has the lake remember the publication: before the table is read anew or goes. Whoever is
  /// told of a loaded table, or builds on it, does not wait for this.
  /// Errors: those of RecordQueue::record(); the table is then forgotten, and the next load makes
  ///         it anew.
  [[nodiscard]] base::Task<base::Status> record(model::TableIdentifier identifier,
                                                CacheEntryPtr entry, RecordTime time);

  /// `loaded`'s body as gzip: made once, also where many want it at once, and counted where
  /// the cache has the loaded table. Errors: kTimeout, kCancelled; those of pack_body().
  [[nodiscard]] base::Task<base::Result<PackedText>> packed(base::RequestContext context,
                                                            model::TableIdentifier identifier,
                                                            LoadedTablePtr loaded,
                                                            model::SnapshotSelection snapshots);

 private:
  void keep(const std::string& key, CacheEntryPtr fresh);
  void forget(const std::string& key, const CacheEntryPtr& entry);
  bool has_changed(const CacheEntry& entry) const;
  CacheEntryPtr made_meanwhile(const std::string& key, const SingleFlight::Lease& lease,
                               const TableInvalidation::State& wanted) const;
  base::Task<base::Result<LoadedTablePtr>> read_in_turn(base::RequestContext context,
                                                        std::string key,
                                                        model::TableIdentifier identifier);
  base::Task<base::Result<CacheEntryPtr>> read(base::RequestContext context, std::string key,
                                               model::TableIdentifier identifier);
  base::Task<base::Result<LoadedTablePtr>> read_once(base::RequestContext context,
                                                     model::TableIdentifier identifier,
                                                     LoadedTablePtr before);

  ducklake::LakeReader* reader_;
  Publisher* publisher_;
  LakeTableCache* shared_;
  CatalogVersionPoller poller_;
};

}  // namespace lake::publish
