#pragma once

// Keeps one foreign server connected: starts it, reads its lists, holds them
// against their pins, and begins again when it goes away. Its trouble is its
// own: a server that dies, lies or says nothing costs its tools, and nobody
// else anything.
// Source: docs/adr/0120, 0122; docs/tools/bridge.md.

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/log/logger.h"
#include "base/runtime/workers.h"
#include "toolserver/mcp_bridge/foreign_tools.h"
#include "toolserver/mcp_bridge/loop_sessions.h"
#include "toolserver/mcp_bridge/server_session.h"
#include "toolserver/mcp_login/login.h"
#include "toolserver/pipeline/registry.h"

namespace tool::bridge {

/// What bridges stand on; all outlive them.
struct BridgeParts {
  pipeline::ToolRegistry& registry;
  base::BlockingPool& pool;
  const base::Clock& clock;
  base::log::Logger log;
  /// Writes an event into the audit trail; `what` is a literal.
  std::function<void(std::string_view what, base::json::Object details)> record;
};

/// Lives on one event loop; loop(), config(), is_open() and loop_sessions() are for others.
class Bridge : public std::enable_shared_from_this<Bridge> {
 public:
  /// How soon a change of the pins' file is seen, at the latest; also how often
  /// a server that says that its list changed is asked at most.
  static constexpr std::chrono::milliseconds kTick{1'000};
  /// How often the list is read although the server says nothing.
  static constexpr std::chrono::seconds kRefresh{30};
  static constexpr std::chrono::seconds kLongestPause{60};

  /// `logins` is there for a bridge with a login.
  Bridge(settings::Bridge config, PinStore store, std::optional<login::LoginStore> logins,
         BridgeParts parts, boost::asio::any_io_executor loop);

  /// Until stop(); on its loop, started with cancel_slot().
  [[nodiscard]] base::Task<void> run();
  [[nodiscard]] boost::asio::cancellation_slot cancel_slot() { return cancel_.slot(); }
  /// On its loop.
  void stop();

  [[nodiscard]] const boost::asio::any_io_executor& loop() const { return loop_; }
  [[nodiscard]] bool is_open() const { return open_.load(std::memory_order_acquire); }

  /// By what other loops ask the server themselves; null where they cannot, or not just now:
  /// then by call() and fetch().
  [[nodiscard]] std::shared_ptr<LoopSessions> loop_sessions() const;

  /// On its loop, within the deadline of `call`.
  /// Errors: E_BUSY  the server is not connected just now; those of ServerSession::call().
  [[nodiscard]] base::Task<Outcome<ToolResult>> call(ServerSession::Call call);
  /// Likewise, of a resource or a prompt. Errors: likewise of ServerSession::fetch().
  [[nodiscard]] base::Task<Outcome<ToolResult>> fetch(ServerSession::Fetch fetch);
  [[nodiscard]] const settings::Bridge& config() const { return config_; }

 private:
  // A connection, kept by the calls that use it until they end.
  struct Live {
    std::unique_ptr<ServerLink> link;
    Unasked unasked;
    std::unique_ptr<ServerSession> session;
  };

  base::Task<std::string> serve_once();
  base::Task<std::string> serve_without_exception();
  base::Task<base::Result<std::unique_ptr<ServerLink>>> connect(LinkEvents events);
  base::Task<std::string> watch(std::shared_ptr<Live> live);
  base::Task<Outcome<void>> read_lists(std::shared_ptr<Live> live);
  base::Task<Outcome<ForeignTools>> read_offers(std::shared_ptr<Live> live);
  base::Task<std::vector<base::json::Value>> list_beside(std::shared_ptr<Live> live, Listed what);
  [[nodiscard]] Outcome<std::shared_ptr<Live>> connected() const;
  base::Task<void> reread_pins();
  void open_to_loops(const std::shared_ptr<Live>& live);
  void end_by(const std::weak_ptr<Live>& live, std::string reason);
  void set_loop_sessions(std::shared_ptr<LoopSessions> sessions);
  void offer(const PinFile& pins);
  void report(const std::string& id, const PinnedTool& seen, PinStatus status);
  base::Task<void> pause(std::chrono::milliseconds time);

  const settings::Bridge config_;
  PinStore store_;
  const std::optional<login::LoginStore> logins_;
  BridgeParts parts_;
  const boost::asio::any_io_executor loop_;
  std::optional<boost::asio::steady_timer> wake_;  // Gone after stop().
  boost::asio::cancellation_signal cancel_;        // Of what run() waits for.
  base::SystemRandom random_;
  std::shared_ptr<login::Login> login_;  // Null where there is none, or not yet.
  std::shared_ptr<Live> live_;           // Null while there is no connection.
  ForeignTools tools_;
  std::shared_ptr<connectors::Connector> offered_;
  std::string offered_as_;                       // What the registry has, to see a change.
  std::string stamp_;                            // Of the pins' file that was read.
  std::map<std::string, std::string> reported_;  // Id to status and pin.
  std::map<Listed, std::string> not_listed_;     // Why, as it was logged.
  std::string bad_resource_;                     // Likewise, of the first of them.
  bool lists_changed_ = false;
  bool skip_newest_ = false;
  bool stopping_ = false;
  std::string closed_for_;
  std::string last_words_;
  std::atomic<bool> open_ = true;
  mutable std::mutex mutex_;
  std::shared_ptr<LoopSessions> loop_sessions_;  // Under mutex_; all others belong to loop_.
};

}  // namespace tool::bridge
