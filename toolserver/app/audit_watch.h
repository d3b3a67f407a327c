#pragma once

// What the audit trail says to the outside: each checkpoint to a witness, who
// keeps it where this machine cannot change it; the state of its disk to log
// and metrics, before it is full.
// Source: docs/wire-3.0.md, section 16.7; docs/adr/0082-a-restart-vouches-for-nothing.md.

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/result.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "toolserver/audit/space.h"
#include "toolserver/pipeline/webhook.h"

namespace tool::app {

/// Sends the newest checkpoint until the witness has it; one vouches for all
/// before it. Owns a thread, so that a slow witness holds up nobody.
class Witness {
 public:
  /// `log` and `metrics` outlive it. Errors: kInvalid, kForbidden  the URL.
  [[nodiscard]] static base::Result<std::unique_ptr<Witness>> create(
      std::string url, base::log::Logger log, base::metrics::Registry& metrics);
  /// Tries once more to send what is not sent.
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  /// Safe from any thread; returns at once.
  void send(std::string checkpoint);

 private:
  Witness(std::unique_ptr<pipeline::Webhook> hook, base::log::Logger log,
          base::metrics::Registry& metrics);
  void run();
  [[nodiscard]] bool post(const std::string& checkpoint);

  base::log::Logger log_;
  base::metrics::Counter failures_;
  boost::asio::io_context loop_{1};
  std::unique_ptr<pipeline::Webhook> hook_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string newest_;  // Not sent yet.
  bool is_ending_ = false;
  bool is_failing_ = false;
  std::thread thread_;
};

/// Shows the state of the trail's disk. Safe from any thread, one at a time.
class SpaceWatch {
 public:
  SpaceWatch(base::log::Logger log, base::metrics::Registry& metrics);
  void show(const audit::Space& space);

 private:
  base::log::Logger log_;
  base::metrics::Gauge free_;
  base::metrics::Gauge trail_;
  base::metrics::Gauge alarm_;
  audit::SpaceState last_ = audit::SpaceState::kEnough;
};

}  // namespace tool::app
