#include "lakeproxy/auth/access_tokens.h"

#include <algorithm>

#include "base/core/text.h"
#include "lakeproxy/auth/token_claims.h"

namespace lake::auth {
namespace {

using base::ErrorKind;
using base::Result;
namespace jose = base::jose;

constexpr std::string_view kType = "at+jwt";

base::json::Array array_of(const std::vector<std::string>& texts) {
  base::json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

jose::Rules rules_of(const TokenOptions& options) {
  return {.header = {.algorithm = jose::Algorithm::kHs256, .types = {std::string(kType)}},
          .issuer = options.issuer,
          .audience = options.issuer,
          .required = {"sub", "iat", "nbf", "jti", "scope"},
          .max_lifetime = options.lifetime};
}

// The client's configuration, as it is now, no longer gives what the token says.
base::Error outdated(std::string_view why) {
  return base::fail(ErrorKind::kUnauthenticated, "the token's client has changed: ask for another")
      .with_detail(std::string(why))
      .with_reason(jose::reason::kClaims);
}

// A token without it has not been renewed, as far as is known; it cannot be.
base::WallTime shown_at(const jose::Claims& claims) {
  const auto* value = claims.all().if_contains("auth_time");
  const auto* seconds = value != nullptr ? value->if_int64() : nullptr;
  return base::WallTime(std::chrono::seconds(seconds != nullptr ? *seconds : 0));
}

bool is_part_of(const std::vector<std::string>& some, const std::vector<std::string>& all) {
  return std::ranges::all_of(
      some, [&](const std::string& one) { return std::ranges::count(all, one) > 0; });
}

}  // namespace

Result<AccessTokens> AccessTokens::create(TokenOptions options, const Clients& clients,
                                          const base::Clock& clock, base::Random& random) {
  if (options.issuer.empty()) return base::fail(ErrorKind::kInvalid, "issuer: must not be empty");
  ASSIGN_OR_RETURN(auto signer, jose::Signer::hs256(options.secret.reveal()));
  std::optional<jose::Verifier> other;
  if (!options.other_secret.empty()) {
    ASSIGN_OR_RETURN(other, jose::Verifier::hs256(options.other_secret.reveal()));
  }
  AccessTokens tokens(std::move(options), std::move(signer), clients, clock, random);
  if (other) tokens.verifiers_.push_back(std::move(*other));
  return tokens;
}

AccessTokens::AccessTokens(TokenOptions options, jose::Signer signer, const Clients& clients,
                           const base::Clock& clock, base::Random& random)
    : issuer_(options.issuer),
      lifetime_(options.lifetime),
      signer_(std::move(signer)),
      verifiers_{signer_.verifier()},
      rules_(rules_of(options)),
      clients_(&clients),
      clock_(&clock),
      random_(&random) {}

Result<IssuedToken> AccessTokens::issue(const Client& client, Scopes scopes,
                                        base::WallTime shown_at) const {
  const base::WallTime now = clock_->now();
  std::string id = base::to_string(base::make_uuid_v4(*random_));
  base::json::Object claims{{"iss", issuer_},
                            {"aud", issuer_},
                            {"sub", client.id},
                            {"iat", jose::numeric_date(now)},
                            {"nbf", jose::numeric_date(now)},
                            {"exp", jose::numeric_date(now + lifetime_)},
                            {"auth_time", jose::numeric_date(shown_at)},
                            {"jti", id},
                            {"scope", scopes.text()}};
  if (!client.roles.empty()) claims["roles"] = array_of(client.roles);
  if (client.account) claims["account"] = *client.account;
  ASSIGN_OR_RETURN(auto token, jose::sign(signer_, kType, claims));
  return IssuedToken{client.id, base::Secret(std::move(token)), std::move(id), std::move(scopes)};
}

Result<jose::Claims> AccessTokens::claims_of(std::string_view token) const {
  const base::WallTime now = clock_->now();
  auto claims = jose::verify(token, verifiers_.front(), rules_, now);
  for (std::size_t i = 1; i < verifiers_.size(); ++i) {
    if (claims || claims.error().reason() != jose::reason::kSignature) break;
    claims = jose::verify(token, verifiers_[i], rules_, now);
  }
  return claims;
}

Result<Verified> AccessTokens::verify(std::string_view token) const {
  ASSIGN_OR_RETURN(auto claims, claims_of(token));
  ASSIGN_OR_RETURN(auto principal, principal_of(claims, ClaimNames{}, OtherWords::kRefused));
  const Client* client = clients_->find(claims.subject());
  if (client == nullptr) return outdated("no such client");
  if (!principal.grants->scopes.within(client->scopes)) return outdated("another scope");
  if (!is_part_of(principal.grants->roles, client->roles)) return outdated("other roles");
  if (principal.account != client->account) return outdated("another account");
  return Verified{std::move(principal), claims.expires_at() + rules_.leeway, shown_at(claims)};
}

}  // namespace lake::auth
