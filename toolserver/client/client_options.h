#pragma once

// What a client needs to reach a server and to be sure of it. Checked when the
// client is made, so that a bad configuration never sends a byte.
// Source: docs/wire-3.0.md, sections 1 and 4.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/signing_key.h"
#include "base/jose/client_credentials.h"
#include "base/runtime/task.h"
#include "toolserver/session/client_handshake.h"

namespace tool::client {

enum class PlainTransport { kRefused, kLoopbackOnly };

/// What happens to a call that finds the connection gone.
enum class Reconnect {
  kNever,    ///< It fails with E_UPSTREAM.
  kForCalls  ///< It connects anew first, by the token of the session that was lost where
             ///< the server takes it and else by the credential, and once when the server says
             ///< E_EXPIRED, which it says before anything runs. A call that was under way when the
             ///< connection went is never sent again, since it may have run, unless it has an
             ///< idempotency key.
};

struct ClientOptions {
  std::string url;               ///< "wss://host[:port][/path]", or "ws://" to loopback.
  std::string address;           ///< What the URL's host stands for; empty: its name is looked up.
  std::string path = "/scp/v3";  ///< Of a URL without one.
  PlainTransport plain = PlainTransport::kRefused;
  session::ClientConfig session;  ///< Mode, suites, secrets, method, token.
  /// Mode enterprise: where access tokens come from; `session.token` is then
  /// empty. A fresh one is taken for each connection and refresh.
  std::optional<base::jose::ClientCredentialsOptions> provider;
  /// The same for tokens that come from elsewhere: called on the client's loop
  /// for each connection and refresh. Without it, and without a provider, a
  /// session lasts as long as `session.token`.
  std::function<base::Task<base::Result<base::Secret>>()> fresh_token;
  std::string ca_file;           ///< PEM; the only roots trusted. The system's when empty.
  std::string certificate_file;  ///< PEM chain for a server that asks.
  std::string key_file;
  /// PEM; the Ed25519 private key that the token is bound to. Each connection and
  /// refresh proves it. Only this user, root and a group may read it.
  std::string holder_key_file;
  std::chrono::milliseconds connect_time{10'000};  ///< Up to READY.
  std::size_t message_bytes = 16 << 20;            ///< Of a message from the server.
  Reconnect reconnect = Reconnect::kForCalls;
};

/// Errors: kInvalid  not a ws or wss URL; plaintext where it is not allowed
///         (anything but loopback, or without kLoopbackOnly); a mode that needs
///         TLS without it; a weak secret. The message names the field.
[[nodiscard]] base::Status check(const ClientOptions& options);

/// The key of a token's holder.
/// Errors: kInvalid  a file that cannot be read or is open to others, or that
///         holds no Ed25519 private key in PEM; names the setting.
[[nodiscard]] base::Result<base::crypto::SigningKey> read_holder_key(const std::string& file);

}  // namespace tool::client
