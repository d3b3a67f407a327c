#pragma once

// The documents by which a client that knows nothing but a server's address
// finds out who issues tokens for it. Each is a text from outside; none is
// believed about anything but itself: a resource must be the server that was
// asked, an issuer the one whose document was asked for.
// Sources: RFC 9728; RFC 8414; OpenID Connect Discovery 1.0; RFC 7591; RFC 6749,
// section 5; Model Context Protocol 2026-07-28, "Authorization".

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/core/secret.h"
#include "toolserver/mcp_login/address.h"
#include "toolserver/mcp_login/challenge.h"

namespace tool::login {

/// Largest document, in bytes, of any kind here.
inline constexpr std::size_t kDocumentBytes = 64 << 10;

/// How a client shows who it is at the token endpoint. Source: RFC 8414,
/// section 2; OpenID Connect Core 1.0, section 9.
enum class ClientAuth : std::uint8_t { kNone, kBasic, kPost, kPrivateKeyJwt };
/// "client_secret_basic".
[[nodiscard]] std::string_view name(ClientAuth method);
[[nodiscard]] std::optional<ClientAuth> client_auth_of(std::string_view name);

struct ResourceMetadata {
  std::string resource;              ///< What tokens are asked for; RFC 8707.
  std::vector<std::string> issuers;  ///< At least one, as they were written.
  std::optional<Scopes> scopes;      ///< scopes_supported.
};

/// Errors: kInvalid  no such document; `resource` is neither the address of
///         `server` nor one above it; no authorisation server, or over 16.
[[nodiscard]] base::Result<ResourceMetadata> read_resource_metadata(std::string_view text,
                                                                    const Address& server);

struct ServerMetadata {
  std::string issuer;
  std::string authorization_endpoint;  ///< Empty when absent, as the next but one.
  std::string token_endpoint;
  std::string registration_endpoint;
  std::vector<ClientAuth> client_auths;  ///< Those that are known here.
  /// Of private_key_jwt, as "ES256"; empty when the server does not say.
  std::vector<std::string> assertion_algorithms;
  Scopes scopes;                   ///< Empty when absent.
  bool has_s256 = false;           ///< PKCE by S256.
  bool sends_issuer = false;       ///< RFC 9207.
  bool takes_client_urls = false;  ///< Client ID metadata documents.
};

/// Errors: kInvalid  no such document, `issuer` is not the one given, byte by
///         byte, or there is no token endpoint.
[[nodiscard]] base::Result<ServerMetadata> read_server_metadata(std::string_view text,
                                                                const std::string& issuer);

struct Registration {
  std::string client_id;
  base::Secret client_secret;      ///< Empty for a public client.
  std::optional<ClientAuth> auth;  ///< Where the answer says.
};
/// Errors: kInvalid  no answer of RFC 7591, section 3.2.1.
[[nodiscard]] base::Result<Registration> read_registration(std::string_view text);

struct Tokens {
  base::Secret access;
  base::Secret refresh;                          ///< Empty when there is none.
  std::optional<std::chrono::seconds> lifetime;  ///< Of the access token; a day at most.
  std::optional<Scopes> scope;                   ///< Where it is not the one asked for.
};
/// Errors: kInvalid  no answer of RFC 6749, section 5.1, or no bearer token.
[[nodiscard]] base::Result<Tokens> read_tokens(std::string_view text);

/// The code of an error answer: small letters and '_', 64 at most; else empty.
/// Source: RFC 6749, section 5.2.
[[nodiscard]] std::string read_error_code(std::string_view text);

/// Where a server's metadata may be, in the order in which it is looked for.
[[nodiscard]] std::vector<std::string> resource_metadata_urls(const Address& server);
/// The same of an issuer. Errors: kInvalid  it is no URL, or has a query.
[[nodiscard]] base::Result<std::vector<std::string>> server_metadata_urls(
    const std::string& issuer);

}  // namespace tool::login
