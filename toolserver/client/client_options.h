#pragma once

// What a client needs to reach a server and to be sure of it. Checked when the
// client is made, so that a bad configuration never sends a byte.
// Source: docs/wire-3.0.md, sections 1 and 4.

#include <chrono>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/jose/client_credentials.h"
#include "toolserver/session/client_handshake.h"

namespace tool::client {

enum class PlainTransport { kRefused, kLoopbackOnly };

/// What happens to a call that finds the connection gone.
enum class Reconnect {
  kNever,    ///< It fails with E_UPSTREAM.
  kForCalls  ///< It connects anew first. A call that was under way when the
             ///< connection went is never sent again: it may have run.
};

struct ClientOptions {
  std::string url;  ///< "wss://host[:port]/path", or "ws://" to loopback.
  PlainTransport plain = PlainTransport::kRefused;
  session::ClientConfig session;  ///< Mode, suites, secrets, method, token.
  /// Mode enterprise: where the access token comes from; `session.token` is
  /// then empty.
  std::optional<base::jose::ClientCredentialsOptions> provider;
  std::string ca_file;           ///< PEM; the only roots trusted. The system's when empty.
  std::string certificate_file;  ///< PEM chain for a server that asks.
  std::string key_file;
  std::chrono::milliseconds connect_time{10'000};  ///< Up to READY.
  std::size_t message_bytes = 8 << 20;             ///< Of a message from the server.
  Reconnect reconnect = Reconnect::kForCalls;
};

/// Errors: kInvalid  not a ws or wss URL; plaintext where it is not allowed
///         (anything but loopback, or without kLoopbackOnly); a mode that needs
///         TLS without it. The message names the field.
[[nodiscard]] base::Status check(const ClientOptions& options);

}  // namespace tool::client
