#pragma once

// One session of a client: what to send, and what the server's messages mean.
// It trusts the server no more than the server trusts it: an answer to nothing
// it asked, or out of order, ends the session.
// Source: docs/wire-3.0.md, sections 3 to 5, 7 and 9.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/crypto/ecdh.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/client_handshake.h"
#include "toolserver/session/flights.h"
#include "toolserver/session/frame.h"
#include "toolserver/session/session_state.h"

namespace tool::session {

/// The session stands; see ClientSession::ready().
struct Opened {};

/// The answer of a request.
struct Answer {
  Ulid id;
  base::json::Object payload;
};

/// The refusal of a request. Its fault has the server's code, message and
/// retry time; `data` the err's data.
struct Refused {
  Ulid id;
  Fault fault;
  base::json::Object data;
};

/// A step of a running request: tool.progress or tool.chunk.
struct Event {
  Ulid id;
  Op op = Op::kUnknown;
  base::json::Object payload;
  std::int64_t sequence = 0;  ///< How many came before it for this request.
};

/// The renewal of the keys is over, or the server refused it (needs_rekey()
/// tells): requests may be sent again.
struct Rekeyed {};

/// The session has failed; nobody's answer will come. A Close follows.
struct Failed {
  Fault fault;
  base::json::Object data;  ///< Of the server's err, if that was it.
};

using ClientAction = std::variant<Send, Opened, Answer, Refused, Event, Rekeyed, Failed, Close>;
using ClientActions = std::vector<ClientAction>;

/// A request that is to be sent.
struct Outgoing {
  Ulid id;
  Frame frame;
};

/// Belongs to one event loop.
class ClientSession {
 public:
  /// `clock` and `random` outlive it.
  ClientSession(ClientConfig config, Channel channel, const base::Clock& clock,
                base::Random& random);
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// The hello. Once. Errors: E_SHAPE  the configuration cannot be used, see
  /// ClientHandshake::start(); E_STATE  a second call.
  [[nodiscard]] Outcome<Frame> start();

  [[nodiscard]] ClientActions on_text(std::string bytes);
  [[nodiscard]] ClientActions on_binary(std::string bytes);

  /// A request of any operation but the handshake's and session.rekey.
  /// Errors: E_STATE  not READY: while keys are renewed wait for Rekeyed;
  ///         E_SHAPE  the payload has no canonical form.
  [[nodiscard]] Outcome<Outgoing> encode_request(Op op, base::json::Object payload,
                                                 std::optional<Meta> meta = std::nullopt);
  /// Asks for the end of a running request, whose answer still comes.
  /// Errors: E_STATE  as above; E_SHAPE  no such request.
  [[nodiscard]] Outcome<Frame> encode_cancel(const Ulid& id);

  /// New keys. Errors: E_STATE  not READY, or a suite without records.
  [[nodiscard]] Outcome<Frame> rekey();
  /// Whether it is time for rekey().
  [[nodiscard]] bool needs_rekey() const;
  /// Another token for the refreshes from here on.
  void set_token(base::Secret token) { config_.token = std::move(token); }
  /// Payload of a session.refresh with our credential on this connection.
  /// Errors: E_SHAPE  as ClientHandshake::shown_credential().
  [[nodiscard]] Outcome<base::json::Object> refresh_payload() const;
  /// When to send session.refresh: after two thirds of the token's life.
  [[nodiscard]] base::WallTime refresh_at() const { return refresh_at_; }

  [[nodiscard]] ClientState state() const { return state_; }
  /// From Opened on; token and expiry follow the refreshes.
  [[nodiscard]] const Ready& ready() const { return ready_; }
  /// From the welcome on.
  [[nodiscard]] const Welcome& welcome() const { return handshake_.welcome(); }
  [[nodiscard]] std::size_t in_flight() const { return flights_.size(); }

 private:
  [[nodiscard]] ClientActions on_frame(FrameKind kind, std::string bytes);
  [[nodiscard]] Outcome<ClientActions> take(FrameKind kind, std::string bytes);
  [[nodiscard]] Outcome<void> check(const Envelope& envelope);
  [[nodiscard]] Outcome<ClientActions> on_welcome(const Envelope& welcome);
  [[nodiscard]] Outcome<ClientActions> on_ready(const Envelope& ready);
  [[nodiscard]] Outcome<ClientActions> on_answer(Envelope answer);
  [[nodiscard]] Outcome<ClientActions> on_refusal(Envelope refusal);
  [[nodiscard]] Outcome<ClientActions> on_event(Envelope event);
  [[nodiscard]] Outcome<ClientActions> on_rekeyed(const Envelope& answer);
  [[nodiscard]] Outcome<void> on_refreshed(const Envelope& answer);
  [[nodiscard]] Outcome<void> check_token(std::string_view token) const;
  [[nodiscard]] ClientActions fail(Fault fault, base::json::Object data = {});
  [[nodiscard]] Envelope message(MessageType type, Op op, base::json::Object payload) const;
  void set_refresh(WireTime expires_at);

  ClientConfig config_;
  const base::Clock& clock_;
  base::Random& random_;
  ClientHandshake handshake_;
  std::optional<MessageLayer> layer_;
  ClientState state_ = ClientState::kIdle;
  Ulid step_;  ///< The request of the handshake whose answer is awaited.
  Ready ready_;
  base::WallTime refresh_at_{};
  base::WallTime rekeyed_at_{};
  std::optional<base::crypto::EphemeralKey> next_key_;
  std::string next_share_;
  Flights flights_;
};

}  // namespace tool::session
