#pragma once

// PostgreSQL asks for a login's time at the password alone: a session that is open then goes on,
// and the login stays. Whoever serves the lake ends both, also those that a process left which is
// gone.

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/log/logger.h"
#include "lakeproxy/ducklake/readers/reader_logins.h"

namespace lake::ducklake {

struct CollectorOptions {
  std::string schema;            ///< Of the default lake.
  std::function<bool()> opened;  ///< Whether that lake is open.
  std::chrono::milliseconds every{10'000};
};

/// One for each process, on one event loop.
class ReaderCollector {
 public:
  /// `logins` outlives it.
  ReaderCollector(ReaderLogins& logins, CollectorOptions options, base::log::Logger log);

  /// Runs until stop(); faults are logged and tried again. Says so once where logins cannot be
  /// made at all.
  [[nodiscard]] base::Task<void> run();
  /// On the loop of run(), once.
  void stop();

 private:
  base::Task<void> pause();
  base::Task<bool> can_make();
  base::Task<void> collect();

  ReaderLogins& logins_;
  CollectorOptions options_;
  base::log::Logger log_;
  std::shared_ptr<boost::asio::steady_timer> pause_;
  bool stopping_ = false;
};

}  // namespace lake::ducklake
