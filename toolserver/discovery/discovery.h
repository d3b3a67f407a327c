#pragma once

// Asks a discovery server where the other nodes are, again and again, on a thread of
// its own, and hands every new answer on. A server that is away must not cost the
// federation its links: the last answer stays in force for a bounded time, which log
// and metrics tell, and then no longer, since an address of long ago may be anybody's.
// Source: specification, sections 1 (7) and 2.1; docs/adr/0150.

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/metrics/registry.h"
#include "base/runtime/workers.h"
#include "toolserver/discovery/source.h"

namespace tool::discovery {

struct Options {
  std::string method;                          ///< For the log.
  std::chrono::milliseconds interval;          ///< The longest between two answers.
  std::chrono::milliseconds keep;              ///< How long an answer holds without a newer one.
  std::chrono::milliseconds lifetime{30'000};  ///< Of what is announced.
};

/// All outlive the discovery.
struct Parts {
  base::Random& random;
  base::log::Logger log;
  base::metrics::Registry& metrics;
};

class Discovery {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{500};       ///< After a failure.
  static constexpr std::chrono::milliseconds kLongestPause{15'000};  ///< Each is twice the last.
  /// Between two answers, however often the server says that something changed.
  static constexpr std::chrono::milliseconds kShortestPause{200};

  /// Gets every answer that differs from the last, and an empty one when the last
  /// is too old; on the discovery's thread.
  using Use = std::function<void(const Nodes& nodes)>;

  /// Begins. `announcer` may be null.
  Discovery(Options options, std::shared_ptr<Source> source, std::shared_ptr<Announcer> announcer,
            Parts parts, Use use);
  /// Ends; takes back what was announced. Blocks, for 2 s at most.
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

 private:
  using Steady = std::chrono::steady_clock;

  base::Task<void> look();
  base::Task<void> announce();
  base::Task<void> withdraw();
  void take(Found found);
  void complete(Found& found);
  std::chrono::milliseconds take_failure(const base::Error& error);
  void publish(Nodes nodes);
  base::Task<void> pause(boost::asio::steady_timer& timer, std::chrono::milliseconds time);
  [[nodiscard]] std::chrono::milliseconds jittered(std::chrono::milliseconds time);

  const Options options_;
  Parts parts_;
  const Use use_;
  base::metrics::Gauge nodes_;
  base::metrics::Gauge up_;
  base::metrics::Gauge partial_;
  base::metrics::Counter answers_;
  base::metrics::Counter failures_;
  base::Workers thread_{1};
  std::shared_ptr<Source> source_;
  std::shared_ptr<Announcer> announcer_;
  boost::asio::steady_timer look_timer_;
  boost::asio::steady_timer announce_timer_;
  boost::asio::cancellation_signal cancel_look_;
  boost::asio::cancellation_signal cancel_announce_;
  std::vector<std::future<void>> running_;
  // Of the thread from here on.
  bool stopping_ = false;
  Nodes in_force_;
  std::map<std::string, Steady::time_point, std::less<>> named_;  // Last, by node.
  Steady::time_point answered_ = Steady::now();
  std::chrono::milliseconds pause_ = kFirstPause;
  std::string told_failure_;
  std::string told_partial_;
  std::set<std::string> told_left_out_;
};

}  // namespace tool::discovery
