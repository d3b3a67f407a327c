#include "lakeproxy/auth/provider_tokens.h"

#include <algorithm>

namespace lake::auth {
namespace {

constexpr std::chrono::seconds kCountsFor{60};

// Providers name the type in several ways, or not at all; the audience tells an access token
// from an identity token, which is for the client.
base::jose::Rules rules_of(const ProviderOptions& options) {
  return {.header = {.algorithm = options.algorithm,
                     .types = {"at+jwt", "JWT"},
                     .untyped = base::jose::Untyped::kAccepted},
          .issuer = options.issuer,
          .audience = options.audience,
          .required = {"sub"}};
}

}  // namespace

ProviderTokens::ProviderTokens(ProviderOptions options, std::unique_ptr<base::jose::KeyCache> keys,
                               const base::Clock& clock)
    : rules_(rules_of(options)),
      claims_(std::move(options.claims)),
      keys_(std::move(keys)),
      clock_(&clock) {}

base::Result<std::unique_ptr<ProviderTokens>> ProviderTokens::create(
    boost::asio::any_io_executor loop, ProviderOptions options, const base::Clock& clock) {
  ASSIGN_OR_RETURN(auto keys,
                   base::jose::KeyCache::create(std::move(loop), std::move(options.keys), clock));
  return std::unique_ptr<ProviderTokens>(
      new ProviderTokens(std::move(options), std::move(keys), clock));
}

base::Task<base::Result<Verified>> ProviderTokens::verify(base::RequestContext context,
                                                          std::string token) {
  CO_ASSIGN_OR_RETURN(auto claims, co_await keys_->verify(context, std::move(token), rules_));
  CO_ASSIGN_OR_RETURN(auto principal, principal_of(claims, claims_, OtherWords::kIgnored));
  CO_ASSIGN_OR_RETURN(auto actors, actors_of(claims));
  const base::WallTime end = claims.expires_at() + rules_.leeway;
  co_return Verified{.principal = std::move(principal),
                     .until = std::min<base::WallTime>(end, clock_->now() + kCountsFor),
                     .ends = claims.expires_at(),
                     .actors = std::move(actors)};
}

base::Task<void> ProviderTokens::finish() { co_await keys_->wait(); }

}  // namespace lake::auth
