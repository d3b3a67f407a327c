#pragma once

// The client's half of the handshake. It shows no credential before the server
// has proved itself, and takes no welcome that it did not ask for.
// Source: docs/wire-3.0.md, section 4.

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/crypto/ecdh.h"
#include "base/crypto/signing_key.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/channel.h"
#include "toolserver/session/message_layer.h"
#include "toolserver/session/server_context.h"

namespace tool::session {

struct ClientConfig {
  Mode mode = Mode::kEncrypted;
  std::vector<Version> versions{Version{}};
  std::vector<Suite> suites;  ///< Best first; all of them fit the mode.
  Secrets secrets;
  /// Thumbprints (RFC 7638) of Ed25519 keys, of which one must be the server's.
  /// With one here the server is not known by the secret.
  std::vector<std::string> server_keys;
  Method method = Method::kApiKey;
  base::Secret token;  ///< The credential of jwt and oauth2.
  /// The credential of method node, made for each connection from its th1.
  std::function<std::string(const Digest& th1)> node_credential;
  std::string node_id;  ///< The only server that is accepted; any when empty.
  std::string cluster;  ///< Likewise.
  /// The key that the server's session tokens must be signed with; not checked
  /// when empty.
  std::optional<base::jose::Verifier> session_tokens;
  /// The Ed25519 key that `token` is bound to; none when empty.
  std::optional<base::crypto::SigningKey> holder;
  /// An Ed25519 key of this client alone, by which it may follow a session whose
  /// connection was lost; none when empty.
  std::optional<base::crypto::SigningKey> session_key;
  /// The last token of such a session, shown at auth in place of the credential.
  base::Secret former_session;
  std::string name = "securetool";
  std::string version = "3.0";
  std::chrono::seconds window{60};  ///< For the times of signed messages.
  RekeyLimits rekey;
  std::chrono::seconds rekey_interval{3600};
};

/// One handshake. Not thread-safe.
class ClientHandshake {
 public:
  /// `random` outlives it.
  ClientHandshake(const ClientConfig& config, Channel channel, base::Random& random);

  /// The hello as text. Errors: E_SHAPE  the configuration: no suite, one that
  /// does not fit the mode, or NONE on an open network; no secret that the mode
  /// needs, or no API key or token for the method.
  [[nodiscard]] Outcome<std::string> start(Envelope& hello);

  /// Checks the server and gives the layer for all that follows.
  /// Errors: E_SHAPE; E_VERSION, E_AUTH  chosen what was not asked for;
  ///         E_SIG  no proof, a wrong one, or another transport than ours.
  [[nodiscard]] Outcome<MessageLayer> on_welcome(const Envelope& welcome);
  /// Fills in the payload of auth. Errors: E_AUTH  the server does not take our
  /// method.
  [[nodiscard]] Outcome<void> make_auth(Envelope& auth, const SessionKeys& keys);
  /// Checks the confirmation. Errors: E_SHAPE; E_SIG.
  [[nodiscard]] Outcome<Ready> on_ready(const Envelope& ready, const SessionKeys& keys);

  /// From on_welcome() on.
  [[nodiscard]] const Welcome& welcome() const { return welcome_; }
  [[nodiscard]] const Digest& th1() const { return th1_; }
  /// From on_ready() on.
  [[nodiscard]] const Digest& th2() const { return th2_; }
  /// What auth and refresh show: method, credential of this connection, and the
  /// proof that we hold the key it is bound to.
  /// Errors: E_SHAPE  the key is not of Ed25519.
  [[nodiscard]] Outcome<base::json::Object> shown_credential() const;

 private:
  [[nodiscard]] std::string credential() const;
  [[nodiscard]] Outcome<base::json::Object> shown(Method method, std::string_view credential) const;
  [[nodiscard]] Outcome<void> check_config() const;
  [[nodiscard]] Outcome<Suite> check_choice() const;
  [[nodiscard]] Outcome<void> check_proof();
  [[nodiscard]] Outcome<SecretBytes> agree(Suite suite);

  const ClientConfig& config_;
  Channel channel_;
  base::Random& random_;
  ProofTrust trust_;
  SecretBytes psk_;        ///< From the server's proof on, what goes into the keys.
  bool previous_ = false;  ///< It has the secret before.
  std::string hello_;
  std::array<std::optional<base::crypto::EphemeralKey>, 2> keys_;  ///< By group.
  Welcome welcome_;
  Digest th1_{};
  Digest th_auth_{};
  Digest th2_{};
};

}  // namespace tool::session
