#pragma once

// Keeps one other node connected: one link for all calls, which is opened again,
// later and later, when it ends, and the list of its tools. A node that hangs is
// found by asking it in between; until it answers again its calls are refused at
// once, so that nobody waits for what will not come.
// Source: docs/wire-3.0.md, section 18.1; docs/adr/0139; docs/tools/federation.md.

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/runtime/task_group.h"
#include "toolserver/client/link.h"
#include "toolserver/discovery/found.h"
#include "toolserver/federation/peer_calls.h"
#include "toolserver/federation/peer_pins.h"
#include "toolserver/federation/peer_records.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/pipeline/registry.h"

namespace tool::federation {

/// What peers stand on; all outlive them.
struct PeerParts {
  pipeline::ToolRegistry& registry;
  std::shared_ptr<const NodeKeys> keys;
  const base::Clock& clock;
  base::Random& random;
  base::log::Logger log;
  std::uint32_t max_hops = 0;
  PinParts pins;
  /// Of an answer, as this node allows it now; from any thread.
  std::function<std::size_t()> output_bytes;
};

/// Lives on one event loop; call() and is_open() are for others.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  /// How long calls under way may take once their node is gone.
  static constexpr std::chrono::milliseconds kLastCalls{300'000};
  /// For how long the node is asked to wait for a change of its list. It answers then, too:
  /// by that a node that hangs is found.
  static constexpr std::chrono::milliseconds kListen{5'000};
  static constexpr std::chrono::milliseconds kPatience{5'000};  ///< For an answer, beyond that.
  /// Between two questions, however soon the node says that something changed; and between
  /// two attempts, however often it says that it is there.
  static constexpr std::chrono::milliseconds kShortestPause{1'000};
  static constexpr std::chrono::milliseconds kFirstPause{250};
  /// Each pause is twice the last, and between the half and the whole of that by chance,
  /// so that many nodes do not come back to one at the same moment.
  static constexpr std::chrono::milliseconds kLongestPause{30'000};

  /// `options` has what both nodes share; method and credential are made here. Each
  /// attempt goes by the next of `ways`, of which there is one at least.
  Peer(std::string node_id, client::ClientOptions options, std::vector<discovery::Way> ways,
       PeerParts parts, boost::asio::any_io_executor loop);

  /// Until stop(); on its loop, started with cancel_slot().
  [[nodiscard]] base::Task<void> run();
  [[nodiscard]] boost::asio::cancellation_slot cancel_slot() { return cancel_.slot(); }
  /// The three that follow are called on its loop. From here on by `ways`: a link by
  /// another one takes no more calls and ends with the last.
  void go_by(std::vector<discovery::Way> ways);
  /// Its tools are gone; run() ends when the calls under way have ended, or could not
  /// any more in their time.
  void leave();
  /// The node is there: the next attempt need not wait.
  void hurry();
  void stop();

  [[nodiscard]] const boost::asio::any_io_executor& loop() const { return loop_; }
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }
  /// Whether there is no link; from any thread.
  [[nodiscard]] bool is_away() const { return away_.load(std::memory_order_acquire); }

  /// On its loop. See PeerCalls::call().
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(Invocation call, FarTool tool,
                                                     Progress progress) {
    return calls_.call(std::move(call), std::move(tool), std::move(progress));
  }

 private:
  [[nodiscard]] CallParts call_parts();
  base::Task<std::string> serve_once();
  base::Task<std::string> serve_without_exception();
  base::Task<void> end(std::shared_ptr<client::Link> link);
  base::Task<std::string> watch(std::shared_ptr<client::Link> link);
  base::Task<void> listen(std::shared_ptr<client::Link> link, std::string etag);
  base::Task<Outcome<void>> read_list(std::shared_ptr<client::Link> link);
  base::Task<Outcome<base::json::Object>> ask(std::shared_ptr<client::Link> link,
                                              base::json::Object payload,
                                              std::chrono::milliseconds patience);
  base::Task<Outcome<base::json::Object>> ask_without_exception(std::shared_ptr<client::Link> link,
                                                                base::json::Object payload);
  [[nodiscard]] Outcome<void> take_page(const base::json::Object& page, const std::string& session,
                                        base::json::Array& records, std::string& etag) const;
  base::Task<void> offer();
  void take_out();
  base::Task<void> pause(std::chrono::milliseconds time);
  base::Task<void> await_last_calls();
  [[nodiscard]] std::chrono::milliseconds jittered(std::chrono::milliseconds time);
  [[nodiscard]] bool ends() const { return stopping_ || leaving_; }

  const std::string node_id_;
  client::ClientOptions options_;
  std::vector<discovery::Way> ways_;
  std::size_t attempts_ = 0;
  discovery::Way way_;  // Of the link, or of the last attempt.
  PeerParts parts_;
  const boost::asio::any_io_executor loop_;
  std::optional<boost::asio::steady_timer> wake_;  // Gone after stop().
  boost::asio::cancellation_signal cancel_;        // Of what run() waits for.
  PeerCalls calls_;                                // By no link until the node has proved itself.
  std::shared_ptr<client::Link> retired_;          // Of a node that drains: for calls under way.
  std::shared_ptr<connectors::Connector> offered_;
  FarTools tools_;  // As the node lists them.
  PeerPins pins_;
  std::string etag_;                             // Of the list that is offered.
  std::map<std::string, std::string> reported_;  // Tools left out, and why.
  std::string reported_end_;
  bool ask_now_ = false;  // A call waited in vain: does the node still answer?
  bool drains_ = false;   // The link takes no more calls: the node says so, or it is elsewhere.
  bool leaving_ = false;
  bool moved_ = false;  // Its ways have changed since the last attempt began.
  bool stopping_ = false;
  std::optional<base::TaskGroup> tasks_;  // That listen; gone after run().
  std::optional<Fault> deaf_;             // Why a link is not listened to any more.
  std::shared_ptr<client::Link> listening_;
  bool hurry_ = false;  // It says that it is there.
  std::chrono::steady_clock::time_point tried_;
  std::atomic<bool> open_ = true;
  std::atomic<bool> away_ = true;
};

}  // namespace tool::federation
