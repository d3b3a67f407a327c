#pragma once

// Each way to show who one is leads to the same value: a principal, or nothing.
// What cannot be verified now (the identity provider is away) is refused like a
// wrong credential, but says that trying again may help.
// Source: docs/wire-3.0.md, sections 4.8 and 6.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "base/jose/key_cache.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"
#include "toolserver/session/holder_proof.h"
#include "toolserver/session/named_keys.h"
#include "toolserver/session/role_scopes.h"
#include "toolserver/session/tokens.h"

namespace tool::transport {

/// Access tokens of an identity provider: keys from `keys`, or from the pinned
/// `key` when that is set.
struct AccessTokens {
  base::jose::Rules rules;
  base::jose::KeyCacheOptions keys;
  std::optional<base::jose::Verifier> key;
  session::RoleScopes roles;  ///< Beside the claim `scope`.
};

/// Callers and tokens that are refused before their time is over.
struct DenyList {
  std::set<std::string, std::less<>> token_ids;  ///< jti.
  std::set<std::string, std::less<>> subjects;
  friend bool operator==(const DenyList&, const DenyList&) = default;
};

/// Before the name of a node, where it or its word stands as an issuer.
inline constexpr std::string_view kNodeIssuer = "node:";

/// What the credentials of a deployment are held against. A method whose part
/// is not set refuses everybody.
struct CredentialRules {
  std::string node_id;  ///< Issuer of principals that this node vouches for.
  base::Secret api_key;
  base::Secret api_key_previous;  ///< Taken as well while the key is changed; or empty.
  Scopes api_key_scopes;
  std::chrono::seconds api_key_life{12 * 3600};
  session::NamedKeys api_keys;  ///< Beside api_key.
  std::optional<session::ClientTokens> client_tokens;
  std::optional<session::ClientTokens> client_tokens_previous;  ///< Of the key before; likewise.
  std::optional<AccessTokens> access_tokens;
  Scopes certificate_scopes;  ///< Of every client with a certificate, for method mtls.
  std::map<std::string, Grant, std::less<>> subject_scopes;  ///< Of those named here, instead.
  /// The other nodes of the federation; null: none is let in.
  std::shared_ptr<const federation::NodeKeys> nodes;
  Scopes node_scopes;  ///< What every one of them may ask for here.
  std::map<std::string, Grant, std::less<>> scopes_of_nodes;  ///< Of those named, instead.
  DenyList denied;
  /// Of client and access tokens; an API key and a certificate are proved anyway.
  session::Unbound unbound = session::Unbound::kAccepted;
};

/// Belongs to one event loop, since it may ask the identity provider on it.
class CredentialCheck {
 public:
  /// `rules` and `clock` outlive it.
  /// Errors: kInvalid  the URL of the keys.
  [[nodiscard]] static base::Result<std::unique_ptr<CredentialCheck>> create(
      boost::asio::any_io_executor loop, const CredentialRules& rules, const base::Clock& clock);

  struct Presented {
    Method method = Method::kApiKey;
    base::Secret credential;
    base::crypto::Digest th1{};
    std::string certificate_subject;  ///< Of the verified TLS client certificate; or empty.
    base::WallTime certificate_end{};
    Binding proved;  ///< The key that the client proved to hold, and its TLS certificate.
  };
  /// Errors: E_AUTH  wrong, bound to what was not proved, or on the deny list; E_EXPIRED;
  /// E_UPSTREAM and E_TIMEOUT when the provider's
  ///         keys cannot be had. Messages never repeat a credential.
  [[nodiscard]] base::Task<Outcome<Principal>> verify(base::RequestContext context,
                                                      Presented presented);

  /// Returns when nothing is asked of the provider any more.
  [[nodiscard]] base::Task<void> finish();

 private:
  CredentialCheck(const CredentialRules& rules, const base::Clock& clock,
                  std::unique_ptr<base::jose::KeyCache> keys);
  [[nodiscard]] base::Task<Outcome<Principal>> verify_method(base::RequestContext context,
                                                             Presented presented);
  [[nodiscard]] Outcome<Principal> api_key(const Presented& presented) const;
  [[nodiscard]] Outcome<Principal> client_token(const Presented& presented) const;
  [[nodiscard]] Outcome<Principal> certificate(const Presented& presented) const;
  [[nodiscard]] Outcome<Principal> node(const Presented& presented) const;
  [[nodiscard]] base::Task<Outcome<Principal>> access_token(base::RequestContext context,
                                                            base::Secret token);

  const CredentialRules& rules_;
  const base::Clock& clock_;
  std::unique_ptr<base::jose::KeyCache> keys_;  // Null with a pinned key, or without a provider.
};

}  // namespace tool::transport
