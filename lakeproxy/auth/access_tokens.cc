#include "lakeproxy/auth/access_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// What is given may be reached, and done, by that client itself.
bool is_within(const Principal& given, const Client& client) {
  return given.grants->scopes.within(client.scopes) &&
         is_part_of(given.grants->roles, client.roles) &&
         (!given.account || client.scopes.is_administrator() || given.account == client.account);
}

// An account is reached only where both reach it.
std::optional<std::string> common_account(const Principal& subject, const Client& actor) {
  if (subject.superuser) return actor.account;
  if (actor.scopes.is_administrator() || subject.account == actor.account) return subject.account;
  return std::nullopt;
}

base::json::Object act_of(std::span<const std::string> actors) {
  base::json::Object act{{"sub", actors.front()}};
  if (actors.size() > 1) act["act"] = act_of(actors.subspan(1));
  return act;
}

constexpr std::string_view kSubjectIssuer = "sub_iss";

// Who vouches for the subject of a delegation, where it is not this server.
std::string subject_issuer(const jose::Claims& claims) {
  const auto* value = claims.all().if_contains(kSubjectIssuer);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
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
  const base::WallTime ends = clock_->now() + lifetime_;
  base::json::Object claims = common_claims(ends);
  claims["sub"] = client.id;
  claims["auth_time"] = jose::numeric_date(shown_at);
  claims["scope"] = scopes.text();
  if (!client.roles.empty()) claims["roles"] = array_of(client.roles);
  if (client.account) claims["account"] = *client.account;
  ASSIGN_OR_RETURN(auto token, jose::sign(signer_, kType, claims));
  Principal principal{.subject = client.id, .account = client.account, .issuer = issuer_};
  return IssuedToken{.client = client.id,
                     .value = base::Secret(std::move(token)),
                     .id = std::string(claims.at("jti").as_string()),
                     .scopes = std::move(scopes),
                     .principal = std::move(principal),
                     .ends = ends};
}

Principal AccessTokens::principal_for(const Client& client) const {
  Grants grants{.scopes = client.scopes, .roles = client.roles};
  return {.subject = client.id,
          .superuser = client.scopes.is_administrator(),
          .account = client.account,
          .issuer = issuer_,
          .grants = std::make_shared<const Grants>(std::move(grants))};
}

base::json::Object AccessTokens::common_claims(base::WallTime ends) const {
  const base::WallTime now = clock_->now();
  return {{"iss", issuer_},
          {"aud", issuer_},
          {"iat", jose::numeric_date(now)},
          {"nbf", jose::numeric_date(now)},
          {"exp", jose::numeric_date(ends)},
          {"jti", base::to_string(base::make_uuid_v4(*random_))}};
}

Result<IssuedToken> AccessTokens::issue(Delegation delegation) const {
  Principal& subject = delegation.subject;
  RETURN_IF_ERROR(check_actors(subject, delegation.actors));
  const Client& actor = *clients_->find(delegation.actors.front());
  std::vector<std::string> roles = subject.grants->roles;
  std::erase_if(roles,
                [&](const auto& role) { return std::ranges::count(actor.roles, role) == 0; });
  subject.account = common_account(subject, actor);
  const base::WallTime ends = std::min(clock_->now() + lifetime_, delegation.ends);
  base::json::Object claims = common_claims(ends);
  claims["sub"] = subject.subject;
  if (subject.issuer != issuer_) claims[kSubjectIssuer] = subject.issuer;
  claims["act"] = act_of(delegation.actors);
  claims["scope"] = delegation.scopes.text();
  if (!roles.empty()) claims["roles"] = array_of(roles);
  if (subject.account) claims["account"] = *subject.account;
  ASSIGN_OR_RETURN(auto token, jose::sign(signer_, kType, claims));
  Principal principal{.subject = subject.subject,
                      .account = subject.account,
                      .issuer = subject.issuer,
                      .actor = fmt::format("{}", fmt::join(delegation.actors, kActorMark))};
  return IssuedToken{.client = actor.id,
                     .value = base::Secret(std::move(token)),
                     .id = std::string(claims.at("jti").as_string()),
                     .scopes = std::move(delegation.scopes),
                     .principal = std::move(principal),
                     .ends = ends};
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
  ASSIGN_OR_RETURN(auto actors, actors_of(claims));
  if (actors.empty()) {
    RETURN_IF_ERROR(check_client(principal));
  } else {
    if (std::string issuer = subject_issuer(claims); !issuer.empty()) principal.issuer = issuer;
    RETURN_IF_ERROR(check_actors(principal, actors));
    for (const std::string& actor : actors) {
      if (!is_within(principal, *clients_->find(actor))) return outdated("the actor has less");
    }
  }
  return Verified{std::move(principal), claims.expires_at() + rules_.leeway, shown_at(claims),
                  claims.expires_at(), std::move(actors)};
}

base::Status AccessTokens::check_client(const Principal& principal) const {
  const Client* client = clients_->find(principal.subject);
  if (client == nullptr) return outdated("no such client");
  if (!principal.grants->scopes.within(client->scopes)) return outdated("another scope");
  if (!is_part_of(principal.grants->roles, client->roles)) return outdated("other roles");
  if (principal.account != client->account) return outdated("another account");
  return {};
}

// A subject of ours is held against its client, too; one of a provider is the provider's.
base::Status AccessTokens::check_actors(const Principal& subject,
                                        const std::vector<std::string>& actors) const {
  const bool is_ours = subject.issuer == issuer_;
  const Client* client = is_ours ? clients_->find(subject.subject) : nullptr;
  if (is_ours && client == nullptr) return outdated("no such client");
  if (client != nullptr && !is_within(subject, *client)) return outdated("the subject has less");
  for (const std::string& name : actors) {
    const Client* actor = clients_->find(name);
    if (actor == nullptr) return outdated("no such actor");
    const bool may_act = is_ours ? actor->may_act_for_client(subject.subject)
                                 : actor->may_act_for_user(subject.subject);
    if (!may_act || (is_ours && name == subject.subject)) return outdated("may not act for it");
  }
  return {};
}

}  // namespace lake::auth
