#pragma once

// Of all processes that serve a database, one listens for commits that DuckDB
// makes and prepares their tables. Whoever holds an advisory lock is the one;
// when it goes, another takes its place within some seconds. A notification
// that nobody heard costs nothing but the time of the next load: that does the same work
// when it comes first.
// Source: specification, sections 1 and 6.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/listener.h"
#include "lakeproxy/operation/catalog/catalog.h"

namespace lake::maintenance {

/// The catalog whose lake stands in a PostgreSQL schema.
using CatalogOfSchema = std::function<base::Task<base::Result<std::shared_ptr<operation::Catalog>>>(
    base::RequestContext, std::string)>;

/// Prepares the tables that a commit to a lake has changed, so that the next load finds
/// them ready. One event loop's.
class EagerRefresh {
 public:
  EagerRefresh(CatalogOfSchema catalog_of, base::metrics::Registry& metrics);

  /// Loads what changed in the lake since the last call; the first call only
  /// takes note of the lake's state. A table that cannot be shown is left to its
  /// next load, which says why.
  /// Errors: those of CatalogOfSchema and LakeReader.
  [[nodiscard]] base::Task<base::Status> refresh(base::RequestContext context, std::string schema);
  /// refresh() of every lake that was refreshed before. Errors: the first one's.
  [[nodiscard]] base::Task<base::Status> catch_up(base::RequestContext context);

 private:
  base::Task<void> load(base::RequestContext context, std::shared_ptr<operation::Catalog> catalog,
                        model::TableIdentifier table);

  CatalogOfSchema catalog_of_;
  base::metrics::Counter prepared_;
  base::metrics::Counter failed_;
  std::map<std::string, model::LakeVersion> seen_;  ///< By schema.
};

struct EagerOptions {
  base::pg::PoolOptions postgres;
  std::string home_schema;  ///< Of the default catalog; names the lock.
  /// How long to wait before another try to be elected or to connect.
  std::chrono::milliseconds retry{2'000};
};

/// One for each process, on one event loop.
class EagerListener {
 public:
  EagerListener(EagerOptions options, EagerRefresh& refresh, base::log::Logger log,
                base::metrics::Registry& metrics);

  /// Runs until stop(); faults are logged and tried again.
  [[nodiscard]] base::Task<void> run();
  /// On the loop of run(), once.
  void stop();

 private:
  base::Task<base::Status> listen();
  base::Task<base::Status> hear();
  base::Task<void> pause();

  EagerOptions options_;
  EagerRefresh& refresh_;
  base::log::Logger log_;
  base::metrics::Gauge is_listener_;
  std::unique_ptr<base::pg::Listener> listener_;
  std::shared_ptr<boost::asio::steady_timer> pause_;
  bool stopping_ = false;
};

}  // namespace lake::maintenance
