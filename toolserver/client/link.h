#pragma once

// One connection of a client, from the TCP handshake to its end. It never comes
// back: a client that reconnects makes a new one, so that nothing of an old
// session can leak into the next.
// Source: docs/wire-3.0.md, sections 4, 5, 7.1 and 9.

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "base/runtime/task_group.h"
#include "base/websocket/connection.h"
#include "toolserver/client/secure_client.h"
#include "toolserver/client/token_source.h"
#include "toolserver/session/client_session.h"

namespace tool::client {

/// Belongs to one event loop. Shared by its calls and its reader.
class Link : public std::enable_shared_from_this<Link> {
 public:
  /// Connects and authenticates, with a token of `tokens` unless that is null.
  /// Errors: E_UPSTREAM, E_TIMEOUT, those of the source and of the handshake.
  [[nodiscard]] static base::Task<Outcome<std::shared_ptr<Link>>> open(
      ClientOptions options, std::shared_ptr<TokenSource> tokens, const base::Clock& clock,
      base::Random& random);

  struct Sending {
    session::Op op = session::Op::kPing;
    base::json::Object payload;
    std::optional<Meta> meta;
    std::chrono::milliseconds patience{30'000};  ///< Until E_TIMEOUT and a cancel.
    std::function<void(const base::json::Object&)> progress;
    /// Each tool.chunk; a fault of it ends this call, and the server is asked to end it too.
    /// Null: chunks are passed over.
    std::function<Outcome<void>(const base::json::Object&)> chunk = {};
  };
  /// Sends a request and waits for its answer. Errors: those of the server; of the link,
  /// when it ends before; of `sending.chunk`; E_TIMEOUT; E_CANCELLED.
  [[nodiscard]] base::Task<Outcome<base::json::Object>> call(Sending sending);
  [[nodiscard]] base::Task<Outcome<void>> rekey();
  /// Ends the session in order, and waits for the reader.
  [[nodiscard]] base::Task<void> close();
  /// Ends at once.
  void abort();
  /// Ends when the last call that is under way has its answer.
  void retire();

  /// The link of a server that sends more events than this for one request ends, whether or
  /// not anybody still waits for its answer. Without this there is no bound.
  void limit_events(std::int64_t most) { most_events_ = most; }

  /// Called once, on the loop, when no more requests can be sent; not from within a call
  /// of this.
  void on_end(std::function<void()> call) { on_end_ = std::move(call); }

  /// Whether requests can be sent.
  [[nodiscard]] bool usable() const;
  [[nodiscard]] const session::ClientSession& session() const { return session_; }
  /// Why no more requests can be sent; nothing while they can.
  [[nodiscard]] const std::optional<Fault>& failure() const { return failure_; }

 private:
  // A request that waits for its answer; the timer is its event.
  struct Waiter {
    explicit Waiter(const boost::asio::any_io_executor& loop) : ready(loop) {}
    boost::asio::steady_timer ready;
    std::optional<Outcome<base::json::Object>> result;
    const Sending* sending = nullptr;
  };

  Link(std::unique_ptr<base::ws::Connection> connection, session::ClientConfig config,
       session::Channel channel, std::shared_ptr<TokenSource> tokens, const base::Clock& clock,
       base::Random& random, const boost::asio::any_io_executor& loop);

  [[nodiscard]] base::Task<Outcome<void>> shake_hands(std::chrono::steady_clock::time_point by);
  [[nodiscard]] base::Task<Outcome<void>> renew_keys_when_due();
  [[nodiscard]] base::Task<Outcome<base::json::Object>> wait_for(const Ulid& id, Waiter& waiter);
  base::Task<void> read(std::shared_ptr<Link> self);
  base::Task<void> keep_fresh(std::shared_ptr<Link> self);
  [[nodiscard]] base::Task<Outcome<void>> refresh();

  void perform(session::ClientActions actions);
  void perform(session::Send action) { send(std::move(action.frame)); }
  void perform(session::Opened) { wake(); }
  void perform(session::Answer action) { finish(action.id, std::move(action.payload)); }
  void perform(session::Refused action) { finish(action.id, std::move(action.fault)); }
  void perform(session::Event action);
  void perform(session::Rekeyed) { wake(); }
  void perform(session::Failed action) { fail(std::move(action.fault)); }
  void perform(session::Close action);

  void send(session::Frame frame);
  void finish(const Ulid& id, Outcome<base::json::Object> result);
  void fail(Fault fault);
  void wake() { changed_.cancel(); }

  std::unique_ptr<base::ws::Connection> connection_;
  session::ClientSession session_;
  const std::shared_ptr<TokenSource> tokens_;  // Null: the token of the configuration is all.
  const base::Clock& clock_;
  base::TaskGroup tasks_;
  boost::asio::steady_timer changed_;  // Never fires: cancelled when the state changes.
  boost::asio::steady_timer refresh_timer_;
  std::unordered_map<Ulid, Waiter*> waiters_;
  std::optional<Fault> failure_;
  bool retiring_ = false;
  std::int64_t most_events_ = std::numeric_limits<std::int64_t>::max();
  std::function<void()> on_end_;
};

}  // namespace tool::client
