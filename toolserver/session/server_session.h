#pragma once

// One session of the server from the first byte to the last: messages in, what
// to do out. It holds the state machine, checks every message in the wire's
// order, and knows which calls are running; it does no I/O and runs no tool.
// Source: docs/wire-3.0.md, sections 3.2, 4, 5, 7, 8 and 9.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/flights.h"
#include "toolserver/session/frame.h"
#include "toolserver/session/server_handshake.h"
#include "toolserver/session/session_state.h"

namespace tool::session {

/// The caller verifies the credential and answers with on_verified() or
/// on_refused(). One at a time.
struct VerifyCredential {
  enum class Purpose : std::uint8_t { kAuth, kRefresh };
  Purpose purpose = Purpose::kAuth;
  Method method = Method::kApiKey;
  base::Secret credential;
  Digest th1{};        ///< What an api_key credential covers.
  std::string holder;  ///< Thumbprint of the key that the client proved to hold; or empty.
};

/// An operation of cap, tool or admin: the caller ends it with encode_result()
/// or encode_error() for the envelope's id.
struct Request {
  Op op = Op::kUnknown;
  Envelope envelope;
};

/// The caller of a running request wants it to end.
struct Cancel {
  Ulid id;
};

using ServerAction = std::variant<Send, VerifyCredential, Request, Cancel, Close>;
using ServerActions = std::vector<ServerAction>;

/// The payload of an err. Source: docs/wire-3.0.md, section 3.
[[nodiscard]] base::json::Object error_payload(const Fault& fault, base::json::Object data = {});

/// Until when the next step must come; then call on_time().
struct Timer {
  base::WallTime at{};
};

/// Belongs to one event loop. Every call gives actions in the order in which
/// they are to be done; after a Close there are no more.
class ServerSession {
 public:
  ServerSession(std::shared_ptr<const ServerContext> context, Channel channel);
  ~ServerSession();
  ServerSession(const ServerSession&) = delete;
  ServerSession& operator=(const ServerSession&) = delete;

  [[nodiscard]] ServerActions on_text(std::string bytes);
  [[nodiscard]] ServerActions on_binary(std::string bytes);

  /// The credential stands for `principal`. Leads to READY, or answers the
  /// refresh. Without a credential under way (the client is gone): nothing.
  /// `opened` is when the first of the sessions began that this one goes on from.
  [[nodiscard]] ServerActions on_verified(Principal principal,
                                          std::optional<base::WallTime> opened = std::nullopt);
  /// The credential was refused, or could not be verified: nobody gets in.
  [[nodiscard]] ServerActions on_refused(Fault fault);

  /// The answer of a request. Ends it.
  /// Errors: E_INTERNAL  no such request is running, or the payload has no
  ///         canonical form; E_LIMIT  it is larger than answer_bytes. After the
  ///         latter two the request is still running: encode_error().
  [[nodiscard]] Outcome<Frame> encode_result(const Ulid& id, base::json::Object payload);
  [[nodiscard]] Outcome<Frame> encode_written(const Ulid& id, const WrittenPayload& payload);
  /// The refusal of a request. Ends it. `data` is the err's data, if any.
  /// Errors: E_INTERNAL as above.
  [[nodiscard]] Outcome<Frame> encode_error(const Ulid& id, const Fault& fault,
                                            base::json::Object data = {});
  /// After encode_error(): the end of a session whose principal was refused too
  /// often, or nothing.
  [[nodiscard]] ServerActions end_if_refused_too_often();
  /// A step of a running request, numbered here.
  /// Errors: E_INTERNAL as above.
  [[nodiscard]] Outcome<Frame> encode_event(const Ulid& id, Op op, base::json::Object payload);

  /// No new requests; running ones end as they do. Before READY it closes.
  [[nodiscard]] ServerActions begin_drain();

  /// Ends it, in whatever state, with the close code and reason of `code`.
  [[nodiscard]] ServerActions end(Code code);

  /// When on_time() is to be called; nothing when the session is over.
  [[nodiscard]] std::optional<Timer> timer() const;
  [[nodiscard]] ServerActions on_time();

  [[nodiscard]] ServerState state() const { return state_; }
  /// Bytes of the longest message that the state allows.
  [[nodiscard]] std::size_t message_limit() const;
  [[nodiscard]] const Ulid& id() const { return id_; }
  /// From READY on.
  [[nodiscard]] const std::optional<Principal>& principal() const { return principal_; }
  [[nodiscard]] std::size_t in_flight() const { return flights_.size(); }
  /// The session token in force: its jti, its exp, and the thumbprint of the key
  /// that it is bound to, empty where the client named none. From READY on.
  [[nodiscard]] const Ulid& token_id() const { return token_id_; }
  [[nodiscard]] base::WallTime token_end() const { return token_end_; }
  [[nodiscard]] const std::string& session_key() const { return session_key_; }
  /// When it began, or the first of those that it goes on from.
  [[nodiscard]] base::WallTime opened_at() const { return opened_at_; }
  /// From NEGOTIATED on, else NONE.
  [[nodiscard]] Suite suite() const { return layer_ ? layer_->suite() : Suite::kNone; }

 private:
  [[nodiscard]] ServerActions on_frame(FrameKind kind, std::string bytes);
  [[nodiscard]] ServerActions on_envelope(Envelope envelope, std::string_view text);
  [[nodiscard]] Outcome<void> check(const Envelope& envelope);
  [[nodiscard]] ServerActions handle(Op op, Envelope envelope, std::string_view text);
  [[nodiscard]] ServerActions on_hello(const Envelope& hello, std::string_view text);
  [[nodiscard]] ServerActions on_auth(Envelope auth);
  [[nodiscard]] ServerActions on_refresh(const Envelope& request);
  [[nodiscard]] ServerActions on_rekey(const Envelope& request);
  [[nodiscard]] ServerActions on_close(const Envelope& request);
  [[nodiscard]] ServerActions on_request(Op op, Envelope request);
  [[nodiscard]] ServerActions enter_ready(Principal principal);
  [[nodiscard]] ServerActions grant_refresh(const Origin& origin, Principal principal);

  [[nodiscard]] Outcome<std::string> mint_token(const Principal& principal, base::WallTime expires);
  [[nodiscard]] base::WallTime token_end(const Principal& principal) const;
  [[nodiscard]] base::WallTime credential_end() const;
  [[nodiscard]] Envelope answer(MessageType type, const Ulid& id, std::string_view op,
                                base::json::Object payload) const;
  [[nodiscard]] Outcome<Frame> protect(const Envelope& envelope,
                                       std::size_t most = std::numeric_limits<std::size_t>::max());
  [[nodiscard]] ServerActions reply(const Envelope& request, base::json::Object payload);
  [[nodiscard]] base::json::Object error_payload(const Fault& fault) const;
  [[nodiscard]] Outcome<Frame> end_flight(MessageType type, const Ulid& id,
                                          base::json::Object payload);
  [[nodiscard]] Outcome<void> take(Op op);
  [[nodiscard]] bool tolerates(Code code) const;
  [[nodiscard]] Outcome<void> take_refresh();
  /// The err, and the close when the state ends with it.
  [[nodiscard]] ServerActions refuse_message(const Origin& origin, const Fault& fault);

  std::shared_ptr<const ServerContext> context_;
  ServerHandshake handshake_;
  std::optional<MessageLayer> layer_;
  ServerState state_ = ServerState::kConnected;
  Ulid id_;
  Digest th2_{};
  base::WallTime opened_at_;
  base::WallTime step_by_;      ///< Of the handshake.
  base::WallTime rekeyed_at_;   ///< Begin of the epoch.
  base::WallTime token_end_{};  ///< Of the session token in force.
  Ulid token_id_;               ///< Likewise.
  std::string session_key_;
  std::optional<Principal> principal_;
  bool refused_too_often_ = false;
  std::uint32_t refreshes_ = 0;    ///< Lately; see take_refresh().
  base::WallTime refreshed_at_{};  ///< Since when they are counted.
  std::optional<Origin> auth_;     ///< The auth whose credential is being verified.
  std::optional<Origin> refresh_;  ///< The refresh, likewise.
  Flights flights_;
};

}  // namespace tool::session
