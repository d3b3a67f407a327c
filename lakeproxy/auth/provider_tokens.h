#pragma once

// Tokens of an identity provider that the operator trusts, in place of our own or beside them:
// who somebody is, whose and what for is said by the provider.
// Sources: OpenID Connect Core 1.0; RFC 9068; RFC 8725.

#include <chrono>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/jose/key_cache.h"
#include "lakeproxy/auth/access_tokens.h"
#include "lakeproxy/auth/token_claims.h"

namespace lake::auth {

struct ProviderOptions {
  std::string issuer;                                               ///< Equal to iss, byte by byte.
  std::string audience;                                             ///< One of aud.
  base::jose::Algorithm algorithm = base::jose::Algorithm::kRs256;  ///< The only one that is taken.
  base::jose::KeyCacheOptions keys;
  ClaimNames claims;
};

/// Belongs to one event loop, on which it asks the provider for keys; not thread-safe.
class ProviderTokens {
 public:
  /// `clock` outlives it. Asks nothing yet.
  /// Errors: kInvalid  the URL of the keys.
  [[nodiscard]] static base::Result<std::unique_ptr<ProviderTokens>> create(
      boost::asio::any_io_executor loop, ProviderOptions options, const base::Clock& clock);

  /// What is verified counts for a minute at most: a key that the provider takes back is not
  /// asked for again with each request.
  /// Errors: kUnauthenticated  not valid, reason() is one of jose::reason; kUnavailable, kTimeout
  ///         the keys cannot be had.
  [[nodiscard]] base::Task<base::Result<Verified>> verify(base::RequestContext context,
                                                          std::string token);
  /// Returns when nothing is asked of the provider any more.
  [[nodiscard]] base::Task<void> finish();

 private:
  ProviderTokens(ProviderOptions options, std::unique_ptr<base::jose::KeyCache> keys,
                 const base::Clock& clock);

  base::jose::Rules rules_;
  ClaimNames claims_;
  std::unique_ptr<base::jose::KeyCache> keys_;
  const base::Clock* clock_;
};

}  // namespace lake::auth
