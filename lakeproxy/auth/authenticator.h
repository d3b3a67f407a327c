#pragma once

// Whom a bearer token speaks for. A client sends one token with thousands of requests, so what it
// says is kept by its hash until it ends.

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/core/clock.h"
#include "base/crypto/digest.h"
#include "lakeproxy/auth/access_tokens.h"
#include "lakeproxy/auth/provider_tokens.h"

namespace lake::auth {

/// Verified tokens by the SHA-256 of their text; the one used longest ago makes room. Not
/// thread-safe.
class TokenCache {
 public:
  /// Holds `most` tokens, at least one.
  explicit TokenCache(std::size_t most) : most_(most) {}

  /// Null where it is not held, or its time is over. Valid until the next call.
  [[nodiscard]] const Principal* find(const base::crypto::Digest& hash, base::WallTime now);
  void put(const base::crypto::Digest& hash, Verified verified);
  [[nodiscard]] std::size_t size() const { return held_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const base::crypto::Digest& digest) const;
  };
  struct Held {
    base::crypto::Digest hash;
    Verified verified;
  };
  std::size_t most_;
  std::list<Held> held_;  ///< The one used last in front.
  std::unordered_map<base::crypto::Digest, std::list<Held>::iterator, Hash> by_hash_;
};

/// Belongs to one event loop; not thread-safe.
class Authenticator {
 public:
  /// Either may be null, not both: tokens of ours, which outlive it as the clock does, and those
  /// of a provider.
  Authenticator(const AccessTokens* tokens, std::unique_ptr<ProviderTokens> provider,
                const base::Clock& clock);

  /// Who sends a request with these headers, which outlive the task.
  /// Errors: kUnauthenticated  no token, or one that is not valid; the message is for the caller
  ///         and says why only of one that has expired, detail() for the log;
  ///         kUnavailable, kTimeout  the provider's keys cannot be had.
  [[nodiscard]] base::Task<base::Result<Principal>> authenticate(
      base::RequestContext context, const base::http::Headers* headers);
  /// Returns when nothing is asked of the provider any more.
  [[nodiscard]] base::Task<void> finish();
  /// Whom the token speaks for; nothing is remembered.
  /// Errors: the same, with messages for the log.
  [[nodiscard]] base::Task<base::Result<Verified>> verify_text(base::RequestContext context,
                                                               std::string token);

 private:
  [[nodiscard]] base::Task<base::Result<Verified>> verify(base::RequestContext context,
                                                          std::string_view token);
  const AccessTokens* tokens_;
  std::unique_ptr<ProviderTokens> provider_;
  const base::Clock* clock_;
  TokenCache cache_;
};

}  // namespace lake::auth
