#pragma once

// Of all processes that serve a database, one listens for commits that DuckDB
// makes and prepares their tables. Whoever holds an advisory lock is the one;
// when it goes, another takes its place within some seconds. A notification
// that nobody heard costs nothing but the time of the next load.
// Source: specification, sections 1 and 6.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/postgres/listener.h"
#include "lakeproxy/maintenance/eager/eager_refresh.h"

namespace lake::maintenance {

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
