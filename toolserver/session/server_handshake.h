#pragma once

// The server's half of the handshake, step by step: a message in, the next
// message out, or a fault. The order of calls is ServerSession's part.
// Source: docs/wire-3.0.md, section 4.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/secret.h"
#include "base/crypto/ecdh.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/message_layer.h"
#include "toolserver/session/server_context.h"

namespace tool::session {

/// One handshake. Not thread-safe.
class ServerHandshake {
 public:
  ServerHandshake(std::shared_ptr<const ServerContext> context, Channel channel);

  struct Welcomed {
    std::string text;    ///< The welcome, to be sent as text.
    MessageLayer layer;  ///< For all that follows.
  };
  /// `text` is the hello as it came, `hello` what was read of it.
  /// Errors: E_SHAPE  a member, no common suite, proof or channel binding, a bad share;
  ///         E_VERSION; E_AUTH  another mode; E_REPLAY  an aud that is not "*".
  [[nodiscard]] Outcome<Welcomed> on_hello(std::string_view text, const Envelope& hello);

  struct Presented {
    Method method = Method::kApiKey;
    base::Secret credential;
    std::string holder;       ///< Thumbprint of the key that the client proved to hold; or empty.
    std::string session_key;  ///< Thumbprint of the key that the session may be followed by.
  };
  /// What the client shows, once its confirmation holds. `auth` has passed the
  /// layer's checks.
  /// Errors: E_SHAPE; E_SIG  the confirmation is wrong; E_AUTH  a method that is
  ///         not offered, or a proof of possession that does not hold.
  [[nodiscard]] Outcome<Presented> on_auth(Envelope auth, const SessionKeys& keys);
  /// The same of what a refresh shows. Errors: E_SHAPE; E_AUTH as above.
  [[nodiscard]] Outcome<Presented> on_refresh(const base::json::Object& payload) const;

  /// Puts the confirmation into ready and ends the handshake.
  /// Errors: E_INTERNAL  the payload has no canonical form.
  [[nodiscard]] Outcome<Digest> finish(Envelope& ready, const SessionKeys& keys);

  [[nodiscard]] const Digest& th1() const { return th1_; }

 private:
  struct Chosen {
    Version version;
    Suite suite;
    ProofKind proof = ProofKind::kNone;
    std::string share_c;
    std::string_view channel;
    std::string binding;
  };
  [[nodiscard]] Outcome<Chosen> choose(const Hello& hello) const;
  [[nodiscard]] Outcome<Presented> check_presented(Auth shown) const;
  [[nodiscard]] Outcome<base::json::Object> prove(ProofKind kind) const;
  [[nodiscard]] Welcome make_welcome(const Chosen& chosen, std::string share_s) const;

  std::shared_ptr<const ServerContext> context_;
  Channel channel_;
  Digest th1_{};
  Digest th_auth_{};
};

}  // namespace tool::session
