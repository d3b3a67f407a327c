#pragma once

// The one way to a table's view: from the cache when nobody changed the table,
// else read, published and cached. What get() gives is at least as new as the
// moment of the call, and all that it names is in the object store.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "base/runtime/workers.h"
#include "lakeproxy/table_cache/change_tracker.h"
#include "lakeproxy/table_cache/turns.h"
#include "lakeproxy/table_cache/version_watch.h"
#include "lakeproxy/to_iceberg/publish/lru_cache.h"
#include "lakeproxy/to_iceberg/publish/publisher.h"

namespace lake::publish {

struct HeldView {
  TableViewPtr view;
  ChangeTracker::Tick tick = 0;  ///< When the reading of it began.
};

/// The newest views of all lakes of the process; safe from any thread. Outlives the tasks
/// that use it.
struct ViewCache {
  ViewCache(CacheLimits limits, base::metrics::Registry& metrics);

  LruCache<std::shared_ptr<const HeldView>> views;
  base::metrics::Counter hits;
  base::metrics::Counter misses;
  base::metrics::Counter packed;         ///< Bodies made into gzip.
  base::BlockingPool packing{2};         ///< A large one would hold up an event loop for long.
  std::atomic<std::uint64_t> lakes = 0;  ///< So many have used it.
};

/// What the workers of a process share for one lake; safe from any thread.
struct SharedViews {
  /// `cache` outlives it.
  explicit SharedViews(ViewCache& cache);

  using Held = HeldView;
  using HeldPtr = std::shared_ptr<const Held>;
  ViewCache* cache;
  /// Tells its views from those of other lakes, and of the same lake under an
  /// earlier tracker, whose ticks mean nothing to this one.
  std::string key;
  ChangeTracker tracker;
  Turns turns;  ///< By the views' keys: who reads a table, and who writes its metadata file.
};

/// One event loop's views of one lake. All referenced objects outlive it.
class TableViews {
 public:
  TableViews(ducklake::LakeReader& reader, Publisher& publisher, SharedViews& shared);
  ~TableViews();

  /// Errors: kNotFound (kNoSuchTable, kNoSuchNamespace); those of Publisher.
  [[nodiscard]] base::Task<base::Result<TableViewPtr>> get(base::RequestContext context,
                                                           model::TableIdentifier identifier);
  /// The same for what ends or replaces the table's history: the lake remembers the view, so
  /// that the table can come back by its metadata file. Errors: as get(), and of record();
  /// kUnavailable  it cannot be recorded.
  [[nodiscard]] base::Task<base::Result<TableViewPtr>> get_recorded(
      base::RequestContext context, model::TableIdentifier identifier);
  /// The newest view known here, which may be old, without asking the lake; null
  /// when there is none. For a commit, which finds out by itself whether it
  /// still holds. Nothing may be built on it before settle() is through.
  [[nodiscard]] SharedViews::HeldPtr newest_known(const model::TableIdentifier& identifier) const;
  /// The same after record(), null where that was stale. Errors: those of record().
  [[nodiscard]] base::Task<base::Result<TableViewPtr>> remembered(
      base::RequestContext context, model::TableIdentifier identifier);
  /// Publishes what this process has just appended to `before`. The view may be
  /// told at once to the client that committed it; record() must follow.
  /// Errors: those of Publisher::publish_known.
  [[nodiscard]] base::Task<base::Result<SharedViews::HeldPtr>> publish_appended(
      base::RequestContext context, model::TableIdentifier identifier, TableViewPtr before,
      ducklake::ChangedTable changed);
  /// Puts the metadata file of a publication, once for all who wait for it. Whoever is told of
  /// a view, or builds on it, waits for this and not for the record.
  /// Errors: those of Publisher::finish; after kStale, and so at the second call
  ///         after a failed one, the view is forgotten.
  [[nodiscard]] base::Task<base::Status> settle(base::RequestContext context,
                                                model::TableIdentifier identifier,
                                                SharedViews::HeldPtr held);
  /// settle(), and has the lake remember the publication: before the table is read anew or goes.
  /// Errors: those of settle() and RecordQueue::record(); the view is then forgotten, and the
  ///         next load makes it anew.
  [[nodiscard]] base::Task<base::Status> record(base::RequestContext context,
                                                model::TableIdentifier identifier,
                                                SharedViews::HeldPtr held, RecordTime time);

  /// `view`'s body as gzip: made once, also where many want it at once, and counted where
  /// the cache has the view. Errors: kTimeout, kCancelled; those of pack_body().
  [[nodiscard]] base::Task<base::Result<model::JsonText>> packed(
      base::RequestContext context, model::TableIdentifier identifier, TableViewPtr view,
      model::SnapshotSelection snapshots);

 private:
  void keep(const std::string& key, SharedViews::HeldPtr fresh);
  void forget(const std::string& key, const SharedViews::HeldPtr& held);
  bool has_changed(const HeldView& held) const;
  SharedViews::HeldPtr made_meanwhile(const std::string& key, const Turns::Turn& turn,
                                      const ChangeTracker::State& wanted) const;
  base::Task<base::Result<TableViewPtr>> read_in_turn(base::RequestContext context, std::string key,
                                                      model::TableIdentifier identifier);
  base::Task<base::Result<SharedViews::HeldPtr>> read(base::RequestContext context, std::string key,
                                                      model::TableIdentifier identifier);
  base::Task<base::Result<TableViewPtr>> read_once(base::RequestContext context,
                                                   model::TableIdentifier identifier,
                                                   TableViewPtr before);

  ducklake::LakeReader* reader_;
  Publisher* publisher_;
  SharedViews* shared_;
  VersionWatch watch_;
};

}  // namespace lake::publish
