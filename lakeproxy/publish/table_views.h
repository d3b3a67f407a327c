#pragma once

// The one way to a table's view: from the cache when nobody changed the table,
// else read, published and cached. What a caller gets is at least as new as
// the moment of its call.

#include <map>
#include <memory>
#include <string>

#include "base/metrics/registry.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/publish/change_tracker.h"
#include "lakeproxy/publish/lru_cache.h"
#include "lakeproxy/publish/publisher.h"
#include "lakeproxy/publish/version_watch.h"

namespace lake::publish {

/// What the workers of a process share for one lake; safe from any thread.
struct SharedViews {
  SharedViews(std::size_t tables, base::metrics::Registry& metrics);

  struct Held {
    TableViewPtr view;
    ChangeTracker::Tick tick = 0;  ///< When the reading of it began.
  };
  LruCache<std::shared_ptr<const Held>> cache;
  ChangeTracker tracker;
  base::metrics::Counter hits;
  base::metrics::Counter misses;
  base::metrics::Gauge size;
};

/// One event loop's views of one lake. All referenced objects outlive it.
class TableViews {
 public:
  TableViews(ducklake::LakeReader& reader, Publisher& publisher, SharedViews& shared);
  ~TableViews();

  /// Errors: kNotFound (kNoSuchTable, kNoSuchNamespace); those of Publisher.
  [[nodiscard]] base::Task<base::Result<TableViewPtr>> get(base::RequestContext context,
                                                           model::TableIdentifier identifier);

 private:
  struct Flight;
  base::Task<base::Result<TableViewPtr>> join(base::RequestContext context, std::string key,
                                              model::TableIdentifier identifier);
  base::Task<base::Result<TableViewPtr>> read(base::RequestContext context, std::string key,
                                              model::TableIdentifier identifier);
  base::Task<base::Result<TableViewPtr>> read_once(base::RequestContext context,
                                                   model::TableIdentifier identifier,
                                                   TableViewPtr before);

  ducklake::LakeReader* reader_;
  Publisher* publisher_;
  SharedViews* shared_;
  VersionWatch watch_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
};

}  // namespace lake::publish
