#pragma once

// Answers and chunks of one connection go out one after another, and a client reads at
// its own pace. Whoever has waited longest is next, with one message; so an answer of a
// thousand chunks holds another call's answer up for one of them, not for all.
// Source: docs/wire-3.0.md, section 12.3; docs/adr/0160.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <list>

#include "base/runtime/task.h"
#include "base/websocket/connection.h"

namespace tool::transport {

/// Belongs to the event loop of `connection`, which outlives it.
class SendTurns {
 public:
  /// There is room while at most `busy` bytes are queued.
  SendTurns(base::ws::Connection& connection, std::size_t busy,
            const boost::asio::any_io_executor& loop)
      : connection_(connection), busy_(busy), loop_(loop) {}
  SendTurns(const SendTurns&) = delete;
  SendTurns& operator=(const SendTurns&) = delete;

  /// Whether a message can be sent now, before which nobody waits.
  [[nodiscard]] bool is_free() const { return waiting_.empty() && has_room(); }
  /// Waits until the client has taken most of what was sent before and it is the caller's
  /// turn, which is one message: sent before the caller waits for anything else. False:
  /// the wait was cancelled, or nothing can be sent any more.
  [[nodiscard]] base::Task<bool> take();
  /// Nothing is sent from here on: all waits end.
  void close();

 private:
  [[nodiscard]] bool has_room() const { return !closed_ && connection_.queued() <= busy_; }
  [[nodiscard]] base::Task<bool> await_turn(boost::asio::steady_timer& mine);

  base::ws::Connection& connection_;
  const std::size_t busy_;
  const boost::asio::any_io_executor loop_;
  std::list<boost::asio::steady_timer*> waiting_;  // Longest first. Timers that never fire.
  bool closed_ = false;
};

}  // namespace tool::transport
