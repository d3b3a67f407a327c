#pragma once

// A client with nothing between it and its session: no timer, no map and no
// coroutine for each call, so that the load takes as little as it can of the
// processors that it shares with the service. What the wire asks of a client
// (records, signatures, every check of an answer) it does in full.

#include <memory>
#include <vector>

#include "base/core/clock.h"
#include "base/runtime/task.h"
#include "base/websocket/connection.h"
#include "toolserver/client/client_options.h"
#include "toolserver/session/client_session.h"

namespace bench {

/// Belongs to one event loop.
class LoadSession {
 public:
  /// Connects and shakes hands up to READY. `clock` and `random` outlive the
  /// session. Errors: E_UPSTREAM; those of the handshake.
  [[nodiscard]] static base::Task<tool::Outcome<std::unique_ptr<LoadSession>>> open(
      tool::client::ClientOptions options, const base::Clock& clock, base::Random& random);

  /// Queues a request. Errors: those of ClientSession::encode_request().
  [[nodiscard]] tool::Outcome<tool::Ulid> send_request(tool::session::Op op,
                                                       base::json::Object payload);
  /// What the next message means; empty when it is of no interest to a caller.
  /// Errors: E_UPSTREAM  the connection ended; the fault of a session that failed.
  [[nodiscard]] base::Task<tool::Outcome<tool::session::ClientActions>> receive();
  /// Ends the session in order. Errors: as receive().
  [[nodiscard]] base::Task<tool::Outcome<void>> close();
  /// Reads, so that pings are answered, until the connection ends.
  [[nodiscard]] base::Task<void> idle();
  void abort() { connection_->abort(); }

 private:
  LoadSession(std::unique_ptr<base::ws::Connection> connection, tool::session::ClientConfig config,
              tool::session::Channel channel, const base::Clock& clock, base::Random& random);
  [[nodiscard]] base::Task<tool::Outcome<void>> shake_hands();
  void send(tool::session::Frame frame);

  std::unique_ptr<base::ws::Connection> connection_;
  tool::session::ClientSession session_;
};

}  // namespace bench
