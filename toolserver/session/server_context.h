#pragma once

// What all sessions of a server share: who it is, what it offers, its secrets
// and its memory of messages. Checked once, so that a session needs no check
// of its own configuration.
// Source: docs/wire-3.0.md, sections 4, 5, 7, 8 and 12.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/signing_key.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/handshake_messages.h"
#include "toolserver/session/key_schedule.h"
#include "toolserver/session/node_proof.h"
#include "toolserver/session/record.h"
#include "toolserver/session/replay_window.h"
#include "toolserver/session/suites.h"
#include "toolserver/session/tokens.h"
#include "toolserver/session/versions.h"

namespace tool::session {

struct Secrets {
  base::Secret secret_key;
  base::Secret api_key;
  base::Secret kdf_salt;
  // What the server may still have while they are changed. A client's alone.
  base::Secret secret_key_previous;
  base::Secret api_key_previous;
};
/// hs of section 4.6: secret_key, in mode simple without one the api_key; may
/// be empty.
[[nodiscard]] const base::Secret& handshake_secret(const Secrets& secrets, Mode mode);
/// The same of the secrets before.
[[nodiscard]] const base::Secret& previous_handshake_secret(const Secrets& secrets, Mode mode);

struct SessionTimes {
  std::chrono::milliseconds hello = std::chrono::seconds(5);
  std::chrono::milliseconds auth = std::chrono::seconds(10);
  std::chrono::seconds session{12 * 3600};
  std::chrono::seconds token{15 * 60};
};

/// How often a principal may ask, over all of its sessions. Unset: as often as it
/// likes. Safe to call from any thread.
struct OperationRate {
  /// Takes one request. Errors: E_RATE, E_BUSY.
  std::function<Outcome<void>(const Principal&)> take;
  /// Notes a refusal. False: there were too many.
  std::function<bool(const Principal&, Code)> tolerates;
};

struct ServerConfig {
  std::string node_id;
  std::string cluster;
  Mode mode = Mode::kEncrypted;
  std::vector<Version> versions{Version{}};
  std::vector<Suite> suites;    ///< Best first.
  std::vector<Method> methods;  ///< Offered in welcome.
  Secrets secrets;
  /// An Ed25519 key by which the server proves itself to clients that know it.
  std::optional<base::crypto::SigningKey> node_key;
  WelcomeLimits limits;
  std::size_t handshake_bytes = 16 * 1024;  ///< Of a message before READY.
  std::size_t answer_bytes = 4 << 20;       ///< Of an answer to a request, as it is sent.
  SessionTimes times;
  RekeyLimits rekey;
  std::chrono::seconds rekey_interval{3600};
  OperationRate rate;
};

/// Thread-safe; outlives its sessions.
class ServerContext {
 public:
  /// `replay`, `clock` and `random` outlive it; `random` may be called from any
  /// thread.
  /// Errors: kInvalid  an empty node_id or cluster, no versions, suites or
  ///         methods, one that does not fit the mode, neither a secret nor a node
  ///         key where the mode needs one, or a node key of another kind. Never a
  ///         value.
  [[nodiscard]] static base::Result<std::shared_ptr<const ServerContext>> create(
      ServerConfig config, SessionTokens tokens, ReplayWindow& replay, const base::Clock& clock,
      base::Random& random);

  [[nodiscard]] const ServerConfig& config() const { return config_; }
  [[nodiscard]] const SessionTokens& tokens() const { return tokens_; }
  [[nodiscard]] ReplayWindow& replay() const { return replay_; }
  [[nodiscard]] base::WallTime now() const { return clock_.now(); }
  [[nodiscard]] base::Random& random() const { return random_; }
  [[nodiscard]] const SecretBytes& psk() const { return psk_; }
  [[nodiscard]] const ProofMeans& proof_means() const { return means_; }
  /// The public half of the node key, 32 bytes; empty without one.
  [[nodiscard]] const std::string& node_key() const { return node_key_; }

 private:
  ServerContext(ServerConfig config, SessionTokens tokens, ReplayWindow& replay,
                const base::Clock& clock, base::Random& random);

  ServerConfig config_;
  SessionTokens tokens_;
  ReplayWindow& replay_;
  const base::Clock& clock_;
  base::Random& random_;
  SecretBytes psk_;
  ProofMeans means_;
  std::string node_key_;
};

}  // namespace tool::session
