#pragma once

// Three kinds of token, and none can pass for another: each has its own typ,
// its own key and its own audience. A session token is of use only on the
// connection it was made for, and once more to follow it when it was lost.
// Source: docs/wire-3.0.md, section 6; RFC 7519; RFC 8725; RFC 9068.

#include <chrono>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "base/jose/jwt.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/model/ulid.h"

namespace tool::session {

/// HS256 keys, derived from the shared secret, one for each kind.
/// Errors: kInvalid  no secret.
[[nodiscard]] base::Result<base::jose::Signer> session_token_signer(const base::Secret& jwt_secret,
                                                                    const base::Secret& kdf_salt);
[[nodiscard]] base::Result<base::jose::Signer> client_token_signer(const base::Secret& jwt_secret,
                                                                   const base::Secret& kdf_salt);

/// What a session token says, and where it holds.
struct SessionGrant {
  std::string subject;
  Scopes scopes;
  Details details = {};
  Ulid session;
  Mode mode = Mode::kSimple;
  base::crypto::Digest th1{};
  base::WallTime expires_at{};
  Ulid id;             ///< jti.
  std::string holder;  ///< Thumbprint of the client's key, which may show it on another
                       ///< connection; nobody when empty.
};

/// What a session token says to the server that it is shown to on another connection.
struct FormerSession {
  std::string id;
  std::string token_id;
  std::string holder;
};

/// Makes and checks the session tokens of one node. Thread-safe.
class SessionTokens {
 public:
  SessionTokens(std::string node_id, std::string cluster, base::jose::Signer signer);

  /// Errors: kTooLarge  a subject or scopes that make it longer than 8 KiB.
  [[nodiscard]] base::Result<std::string> mint(const SessionGrant& grant, base::WallTime now,
                                               base::Random& random) const;
  /// The session that it is of, whatever the connection. Whether it goes on is for
  /// the caller to know. Errors: E_AUTH  also of one that is bound to no key;
  /// E_EXPIRED.
  [[nodiscard]] Outcome<FormerSession> read(std::string_view token, base::WallTime now) const;
  /// Whether it is a token of this node for this session on this connection.
  /// Errors: E_AUTH; E_EXPIRED.
  [[nodiscard]] Outcome<base::jose::Claims> verify(std::string_view token, const Ulid& session,
                                                   const base::crypto::Digest& th1,
                                                   base::WallTime now) const;

 private:
  std::string node_id_;
  std::string cluster_;
  base::jose::Signer signer_;
  base::jose::Verifier verifier_;
};

/// Where a session token holds, as its bearer knows it.
struct SessionPlace {
  std::string node_id;
  std::string cluster;
  std::string session;
  base::crypto::Digest th1{};
};
/// Whether it is the token of this session on this connection.
/// Errors: E_AUTH; E_EXPIRED.
[[nodiscard]] Outcome<base::jose::Claims> verify_session_token(std::string_view token,
                                                               const base::jose::Verifier& verifier,
                                                               const SessionPlace& place,
                                                               base::WallTime now,
                                                               std::chrono::seconds leeway);

inline constexpr std::chrono::hours kClientTokenLifetime{24};  ///< At most.

struct ClientGrant {
  std::string issuer;
  std::string cluster;
  std::string subject;
  Scopes scopes;
  std::chrono::seconds lifetime{3600};
  std::string holder;              ///< Thumbprint of the key it is bound to; of anybody when empty.
  base::json::Array details = {};  ///< As Details::parse() takes them; none when empty.
};
/// A client token. Errors: kInvalid  an empty issuer, cluster or subject, a
/// lifetime outside 1 s to 24 h, or details that are not understood; kTooLarge  it would be longer
/// than 8 KiB.
[[nodiscard]] base::Result<std::string> mint_client_token(const base::jose::Signer& signer,
                                                          const ClientGrant& grant,
                                                          base::WallTime now, base::Random& random);

/// Checks client tokens by one pinned key. Thread-safe.
class ClientTokens {
 public:
  ClientTokens(std::string issuer, std::string cluster, base::jose::Verifier verifier);
  /// Errors: E_AUTH; E_EXPIRED. The message does not say what was wrong.
  [[nodiscard]] Outcome<Principal> verify(std::string_view token, base::WallTime now) const;

 private:
  base::jose::Rules rules_;
  base::jose::Verifier verifier_;
};

/// What an access token of the identity provider must be, for
/// base::jose::KeyCache or verify_access_token.
[[nodiscard]] base::jose::Rules access_token_rules(std::string issuer, std::string audience,
                                                   std::chrono::seconds leeway);
/// Checks an access token by one pinned public key. Errors: E_AUTH; E_EXPIRED.
[[nodiscard]] Outcome<Principal> verify_access_token(std::string_view token,
                                                     const base::jose::Verifier& verifier,
                                                     const base::jose::Rules& rules,
                                                     base::WallTime now);

/// Who a verified token stands for, until `leeway` after its exp: whoever takes
/// a token for that long grants calls for that long. What it is bound to is read
/// here and has still to be proved: check_binding().
/// Errors: E_AUTH  no subject, a scope outside RFC 6749's characters, or a
///         binding or authorization_details that are not understood.
[[nodiscard]] Outcome<Principal> principal_of(const base::jose::Claims& claims, Method method,
                                              std::chrono::seconds leeway);

/// What the caller of a refused token is told: E_EXPIRED for one past its
/// time, E_UPSTREAM or E_TIMEOUT when its keys could not be had, else E_AUTH.
/// The reason goes into the detail alone.
[[nodiscard]] Fault credential_fault(const base::Error& error);

}  // namespace tool::session
