#pragma once

// The tokens that this server gives and takes: JWTs under one secret, for itself alone. What a
// token says is held against the client's configuration as it is now, so a client that is taken
// out of it, or given less, is so at the next start and not when its last token ends.
// Sources: specification, section 5.2; RFC 9068; RFC 8725.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/core/secret.h"
#include "base/jose/jwt.h"
#include "lakeproxy/auth/clients.h"
#include "lakeproxy/auth/principal.h"

namespace lake::auth {

struct TokenOptions {
  std::string issuer;  ///< Also the audience.
  base::Secret secret;
  base::Secret other_secret;  ///< Taken as well, while secrets are changed; or empty.
  std::chrono::seconds lifetime{3600};
};

/// A token that was made.
struct IssuedToken {
  std::string client;  ///< Who has asked for it: of a delegation the actor.
  base::Secret value;
  std::string id;  ///< jti, for logs.
  Scopes scopes;
  Principal principal = {};  ///< Whom it speaks for; without its grants.
  base::WallTime ends = {};
};

/// What the subject and those who act for it may both do.
struct Delegation {
  Principal subject;                ///< As its own token says.
  std::vector<std::string> actors;  ///< Ids of clients, the last one first.
  Scopes scopes;
  base::WallTime ends;  ///< When the subject's token ends.
};

/// Whom a token speaks for, and until when.
struct Verified {
  Principal principal;
  base::WallTime until;
  base::WallTime shown_at = {};  ///< When the client has shown its secret; of tokens of ours.
  base::WallTime ends = {};      ///< The token's own end.
  std::vector<std::string> actors = {};  ///< Who acts for the principal, the last one first.
};

/// Thread-safe after construction.
class AccessTokens {
 public:
  /// `clients`, `clock` and `random` outlive it.
  /// Errors: kInvalid  a secret under 32 bytes, an empty issuer.
  [[nodiscard]] static base::Result<AccessTokens> create(TokenOptions options,
                                                         const Clients& clients,
                                                         const base::Clock& clock,
                                                         base::Random& random);

  [[nodiscard]] std::chrono::seconds lifetime() const { return lifetime_; }
  [[nodiscard]] base::WallTime now() const { return clock_->now(); }
  [[nodiscard]] const std::string& issuer() const { return issuer_; }
  /// Whom a token of the client would speak for, with all that the client may do.
  [[nodiscard]] Principal principal_for(const Client& client) const;
  /// A token for `client`, which has shown its secret at that time, that allows `scopes`, which are
  /// within the client's.
  /// Errors: kTooLarge  the token would be over 8 KiB.
  [[nodiscard]] base::Result<IssuedToken> issue(const Client& client, Scopes scopes,
                                                base::WallTime shown_at) const;
  /// A token with which the last of the actors acts for the subject; it ends with the subject's and
  /// cannot be renewed.
  /// Errors: kUnauthenticated  an actor is no client, or may not act for the subject; kTooLarge.
  [[nodiscard]] base::Result<IssuedToken> issue(Delegation delegation) const;
  /// Errors: kUnauthenticated; reason() is one of jose::reason. The message never repeats the
  /// token.
  [[nodiscard]] base::Result<Verified> verify(std::string_view token) const;

 private:
  AccessTokens(TokenOptions options, base::jose::Signer signer, const Clients& clients,
               const base::Clock& clock, base::Random& random);
  [[nodiscard]] base::Result<base::jose::Claims> claims_of(std::string_view token) const;
  [[nodiscard]] base::json::Object common_claims(base::WallTime ends) const;
  [[nodiscard]] base::Status check_client(const Principal& principal) const;
  [[nodiscard]] base::Status check_actors(const Principal& subject,
                                          const std::vector<std::string>& actors) const;

  std::string issuer_;
  std::chrono::seconds lifetime_;
  base::jose::Signer signer_;
  std::vector<base::jose::Verifier> verifiers_;
  base::jose::Rules rules_;
  const Clients* clients_;
  const base::Clock* clock_;
  base::Random* random_;
};

}  // namespace lake::auth
