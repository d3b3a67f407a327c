#pragma once

// Over HTTP each request stands for itself, or says by a header which session it belongs to. So
// the loop of a caller asks the server itself, by connections of its own, and a call is not
// handed to another thread and back. What is done once for all callers, the agreement, the
// lists, the pins and the log, stays on the bridge's loop.
// Source: docs/adr/0164.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "toolserver/mcp_bridge/http_link.h"
#include "toolserver/mcp_bridge/server_session.h"

namespace tool::bridge {

/// A server, and what the bridge has agreed on with it.
struct AgreedServer {
  HttpLinkOptions link;  ///< Without a login, which belongs to one loop.
  SessionOptions session;
  mcp::Revision revision = mcp::kNewest;
  // Both are called on any loop.
  std::function<void()> lists_changed;
  std::function<void(std::string reason)> closed;  ///< The server ended what was agreed on.
};

/// What one event loop asks a server by. Belongs to that loop, and goes there; kept by the
/// calls that use it until they end.
class LoopSession {
 public:
  /// On `loop`. `last_id` as of SessionOptions.
  /// Errors: as HttpLink::create().
  [[nodiscard]] static base::Result<std::shared_ptr<LoopSession>> create(
      const AgreedServer& server, std::int64_t last_id, boost::asio::any_io_executor loop);

  [[nodiscard]] ServerSession& session() { return *session_; }
  /// The server ended it, which the bridge has been told.
  [[nodiscard]] bool is_closed() const { return closed_; }

 private:
  LoopSession() = default;

  bool closed_ = false;
  Unasked unasked_;
  std::unique_ptr<HttpLink> link_;
  std::unique_ptr<ServerSession> session_;
};

/// The sessions of all loops with one server, made when a loop first asks. Safe from any event
/// loop, as is its end. Each session goes on its own loop, also after this is gone; the loops run
/// until then.
class LoopSessions {
 public:
  explicit LoopSessions(AgreedServer server) : server_(std::move(server)) {}
  ~LoopSessions();
  LoopSessions(const LoopSessions&) = delete;
  LoopSessions& operator=(const LoopSessions&) = delete;

  /// That of `loop`, on which the caller runs. Errors: as LoopSession::create().
  [[nodiscard]] base::Result<std::shared_ptr<LoopSession>> of(
      const boost::asio::any_io_executor& loop);

 private:
  // More requests than a connection ever has, so that no two sessions use an id.
  static constexpr std::int64_t kIdsOfOne = std::int64_t{1} << 40;

  struct OfLoop {
    boost::asio::any_io_executor loop;
    std::shared_ptr<LoopSession> session;  // Used on `loop` alone.
  };
  const AgreedServer server_;
  std::mutex mutex_;
  std::map<const void*, OfLoop> sessions_;  // By event loop. Under mutex_.
};

}  // namespace tool::bridge
