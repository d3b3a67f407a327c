#pragma once

// The payloads of the four messages of the handshake as values: read once,
// every member bounded, before anything is computed from them.
// Source: docs/wire-3.0.md, sections 4.1, 4.2, 4.8 and 4.9.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/json/json.h"
#include "toolserver/model/envelope.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/ulid.h"
#include "toolserver/session/holder_proof.h"
#include "toolserver/session/node_proof.h"
#include "toolserver/session/versions.h"

namespace tool::session {

inline constexpr std::size_t kNonceBytes = 32;

struct Hello {
  std::vector<Version> versions;                           ///< 1 to 16.
  std::vector<std::string> suites;                         ///< 1 to 8; names this end may not know.
  std::string nonce;                                       ///< 32 bytes.
  std::map<std::string, std::string, std::less<>> shares;  ///< Group -> share, not encoded.
  std::vector<std::string> channels;                       ///< 1 to 4.
  std::vector<std::string> proofs;                         ///< 1 to 4.
  std::string client_name;
  std::string client_version;
  std::string want_mode;
};

struct WelcomeLimits {
  std::uint64_t message_bytes = 1 << 20;
  std::uint64_t in_flight = 64;
  std::chrono::milliseconds deadline{30'000};
  std::chrono::milliseconds idle{300'000};
};

struct Welcome {
  Version version;
  std::string mode;
  std::string suite;
  std::string nonce;  ///< 32 bytes.
  std::string share;  ///< Not encoded.
  std::string node_id;
  std::string cluster;
  std::vector<std::string> methods;
  WelcomeLimits limits;
  std::string channel;
  ShownProof proof;  ///< Its node_key is part of the transcript, the rest is not.
};

struct Auth {
  std::string method;
  base::Secret credential;
  std::optional<HolderProof> holder;
  /// Ed25519 public key, 32 bytes, by which the session may be followed; or empty.
  std::string session_key;
  std::string confirm;  ///< 32 bytes.
};

struct Ready {
  Ulid session_id;
  std::string session_token;
  std::string subject;
  std::string issuer;
  std::vector<std::string> scopes;
  WireTime expires_at{};
  std::string confirm;  ///< 32 bytes.
};

/// Readers. Errors: E_SHAPE  a member is missing or breaks its rule; the
/// message begins with "p." and its name.
[[nodiscard]] Outcome<Hello> read_hello(const base::json::Object& payload);
[[nodiscard]] Outcome<Welcome> read_welcome(const base::json::Object& payload);
/// The members node_key and proof of a welcome.
[[nodiscard]] Outcome<ShownProof> read_proof(const base::json::Object& payload);
[[nodiscard]] Outcome<Auth> read_auth(const base::json::Object& payload);
[[nodiscard]] Outcome<Ready> read_ready(const base::json::Object& payload);

/// Writers. A welcome is written without its proof, a ready without confirm:
/// those are added once the transcript is known.
[[nodiscard]] base::json::Object write_payload(const Hello& hello);
[[nodiscard]] base::json::Object write_payload(const Welcome& welcome);
[[nodiscard]] base::json::Object write_payload(const Ready& ready);

/// What a client shows in auth and session.refresh: the members of Auth but for
/// session_key and confirm. Errors: E_SHAPE.
[[nodiscard]] Outcome<Auth> read_credential(const base::json::Object& payload);

/// Member `name` of `payload`: b64 of exactly `bytes` bytes, decoded.
/// Errors: E_SHAPE.
[[nodiscard]] Outcome<std::string> read_b64(const base::json::Object& payload,
                                            std::string_view name, std::size_t bytes);

}  // namespace tool::session
