#pragma once

// From settings to the values that sessions are made of: keys are read from
// their files once, and what is missing stops the start.
// Source: docs/wire-3.0.md, sections 4 and 6; docs/tool-configuration.md.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/crypto/signing_key.h"
#include "base/jose/jws.h"
#include "toolserver/client/client_options.h"
#include "toolserver/session/server_context.h"
#include "toolserver/settings/settings.h"
#include "toolserver/transport/credential_check.h"

namespace tool::app {

/// A small text file such as a PEM, whole.
/// Errors: kInvalid  it cannot be read, is empty, or is over `most` bytes; names the file.
[[nodiscard]] base::Result<std::string> read_file(const std::filesystem::path& path,
                                                  std::size_t most = 64 << 10);

/// The private key of security.proof_signing_key_path; nothing where it is not set.
/// Errors: kInvalid  no private key in PEM.
[[nodiscard]] base::Result<std::optional<base::crypto::SigningKey>> node_key(
    const settings::SecureConfig& config);

/// What a server's sessions are configured with.
/// Errors: kInvalid  a suite that the wire does not know, or the node key.
[[nodiscard]] base::Result<session::ServerConfig> server_config(
    const settings::SecureConfig& config);

/// The key that signs session tokens, and the one that signs client tokens: an
/// HS256 key derived from jwt_secret, or the RS256 private key.
/// Errors: kInvalid  no secret, or a key file that cannot be used.
[[nodiscard]] base::Result<base::jose::Signer> session_signer(const settings::SecureConfig& config);
[[nodiscard]] base::Result<base::jose::Signer> client_signer(const settings::SecureConfig& config);

/// Who minted a client token, and for whom.
[[nodiscard]] std::string client_token_issuer(const settings::SecureConfig& config);
[[nodiscard]] std::string client_token_audience(const settings::SecureConfig& config);

/// What credentials are held against.
/// Errors: kInvalid  scopes that break their rule, or a key file.
[[nodiscard]] base::Result<transport::CredentialRules> credential_rules(
    const settings::SecureConfig& config);

/// Whether the service is a node of a federation: it has peers, or a key to sign
/// what it forwards.
[[nodiscard]] bool is_node(const settings::SecureConfig& config);

/// What all connections from here have in common: neither address nor credential.
/// Errors: kInvalid  a suite that the wire does not know.
[[nodiscard]] base::Result<client::ClientOptions> link_options(
    const settings::SecureConfig& config);

/// How this configuration connects as a client.
/// Errors: kInvalid  a suite that the wire does not know, or a server's key that
///         cannot be read; see client::check().
[[nodiscard]] base::Result<client::ClientOptions> client_options(
    const settings::SecureConfig& config);

}  // namespace tool::app
