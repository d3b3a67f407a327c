#include "toolserver/session/tokens.h"

#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/holder_proof.h"
#include "toolserver/session/key_schedule.h"

namespace tool::session {
namespace {

using base::jose::Algorithm;
using base::jose::Claims;
using base::jose::Rules;
using base::jose::Signer;
using base::jose::Verifier;

constexpr std::string_view kSessionType = "scp-session+jwt";
constexpr std::string_view kClientType = "scp-client+jwt";
constexpr const char* kDetailsClaim = "authorization_details";  // RFC 9396.

base::Result<Signer> derived_signer(const base::Secret& jwt_secret, const base::Secret& kdf_salt,
                                    std::string_view info) {
  if (jwt_secret.empty()) return base::fail(base::ErrorKind::kInvalid, "jwt_secret: is not set");
  return Signer::hs256(derive_token_key(jwt_secret, kdf_salt, info).reveal());
}

boost::json::string_view text(std::string_view view) { return {view.data(), view.size()}; }

// A text claim that has no accessor of its own.
bool claim_is(const Claims& claims, std::string_view name, std::string_view wanted) {
  const auto* value = claims.all().if_contains(text(name));
  return value != nullptr && value->is_string() && value->get_string() == text(wanted);
}

bool is_bound_to(const Claims& claims, const base::crypto::Digest& th1) {
  const auto* confirmation = claims.all().if_contains("cnf");
  if (confirmation == nullptr || !confirmation->is_object()) return false;
  const auto* hash = confirmation->get_object().if_contains("scp_th");
  return hash != nullptr && hash->is_string() &&
         hash->get_string() == text(base::crypto::to_base64url(base::crypto::view(th1)));
}

Rules session_rules(const Verifier& verifier, const std::string& node_id,
                    const std::string& cluster, std::chrono::seconds leeway) {
  return {
      .header = {.algorithm = verifier.algorithm(), .types = {std::string(kSessionType)}},
      .issuer = node_id,
      .audience = cluster,
      .required = {"sub", "sid", "iat", "nbf", "jti", "scope", "mode", "cnf"},
      .leeway = leeway,
  };
}

base::json::Object time_claims(base::WallTime now, base::WallTime expires_at,
                               base::Random& random) {
  base::json::Object claims;
  claims["iat"] = base::jose::numeric_date(now);
  claims["nbf"] = base::jose::numeric_date(now);
  claims["exp"] = base::jose::numeric_date(expires_at);
  claims["jti"] = text(Ulid::make(now, random).text());
  return claims;
}

}  // namespace

base::Result<Signer> session_token_signer(const base::Secret& jwt_secret,
                                          const base::Secret& kdf_salt) {
  return derived_signer(jwt_secret, kdf_salt, "scp3 session jwt");
}

base::Result<Signer> client_token_signer(const base::Secret& jwt_secret,
                                         const base::Secret& kdf_salt) {
  return derived_signer(jwt_secret, kdf_salt, "scp3 client jwt");
}

SessionTokens::SessionTokens(std::string node_id, std::string cluster, Signer signer)
    : node_id_(std::move(node_id)),
      cluster_(std::move(cluster)),
      signer_(std::move(signer)),
      verifier_(signer_.verifier()) {}

base::Result<std::string> SessionTokens::mint(const SessionGrant& grant, base::WallTime now,
                                              base::Random& random) const {
  auto claims = time_claims(now, grant.expires_at, random);
  claims["iss"] = node_id_;
  claims["aud"] = cluster_;
  claims["sub"] = grant.subject;
  claims["sid"] = text(grant.session.text());
  claims["scope"] = grant.scopes.text();
  if (!grant.details.empty()) claims["details"] = grant.details.json();
  claims["mode"] = text(name(grant.mode));
  claims["jti"] = text(grant.id.text());
  base::json::Object confirmation{
      {"scp_th", base::crypto::to_base64url(base::crypto::view(grant.th1))}};
  if (!grant.holder.empty()) confirmation["jkt"] = grant.holder;
  claims["cnf"] = std::move(confirmation);
  return base::jose::sign(signer_, kSessionType, claims);
}

Outcome<Claims> SessionTokens::verify(std::string_view token, const Ulid& session,
                                      const base::crypto::Digest& th1, base::WallTime now) const {
  return verify_session_token(token, verifier_,
                              {node_id_, cluster_, std::string(session.text()), th1}, now,
                              std::chrono::seconds(0));
}

Outcome<FormerSession> SessionTokens::read(std::string_view token, base::WallTime now) const {
  auto claims = base::jose::verify(
      token, verifier_, session_rules(verifier_, node_id_, cluster_, std::chrono::seconds(0)), now);
  if (!claims) return credential_fault(claims.error());
  auto binding = read_binding(claims->all());
  if (!binding || binding->key.empty()) {
    return wrong_credential("a session token that is bound to no key");
  }
  const auto* session = claims->all().if_contains("sid");
  if (session == nullptr || !session->is_string()) return wrong_credential("a token without sid");
  return FormerSession{std::string(session->get_string()), claims->token_id(),
                       std::move(binding->key)};
}

Outcome<Claims> verify_session_token(std::string_view token, const Verifier& verifier,
                                     const SessionPlace& place, base::WallTime now,
                                     std::chrono::seconds leeway) {
  auto rules = session_rules(verifier, place.node_id, place.cluster, leeway);
  auto claims = base::jose::verify(token, verifier, rules, now);
  if (!claims) return credential_fault(claims.error());
  if (!claim_is(*claims, "sid", place.session) || !is_bound_to(*claims, place.th1)) {
    return wrong_credential("a session token of another connection");
  }
  return std::move(*claims);
}

base::Result<std::string> mint_client_token(const Signer& signer, const ClientGrant& grant,
                                            base::WallTime now, base::Random& random) {
  if (grant.issuer.empty() || grant.cluster.empty() || grant.subject.empty()) {
    return base::fail(base::ErrorKind::kInvalid, "issuer, cluster and subject must be set");
  }
  if (grant.lifetime < std::chrono::seconds(1) || grant.lifetime > kClientTokenLifetime) {
    return base::fail(base::ErrorKind::kInvalid, "a client token lives for 1 s to 24 h");
  }
  RETURN_IF_ERROR(Details::parse(grant.details));
  auto claims = time_claims(now, now + grant.lifetime, random);
  claims["iss"] = grant.issuer;
  claims["aud"] = grant.cluster;
  claims["sub"] = grant.subject;
  claims["scope"] = grant.scopes.text();
  if (!grant.details.empty()) claims[kDetailsClaim] = grant.details;
  if (!grant.holder.empty()) claims["cnf"] = {{"jkt", grant.holder}};
  return base::jose::sign(signer, kClientType, claims);
}

ClientTokens::ClientTokens(std::string issuer, std::string cluster, Verifier verifier)
    : rules_{.header = {.algorithm = verifier.algorithm(), .types = {std::string(kClientType)}},
             .issuer = std::move(issuer),
             .audience = std::move(cluster),
             .required = {"sub", "iat", "nbf", "jti", "scope"},
             .max_lifetime = kClientTokenLifetime},
      verifier_(std::move(verifier)) {}

Outcome<Principal> ClientTokens::verify(std::string_view token, base::WallTime now) const {
  auto claims = base::jose::verify(token, verifier_, rules_, now);
  if (!claims) return credential_fault(claims.error());
  return principal_of(*claims, Method::kJwt, rules_.leeway);
}

Rules access_token_rules(std::string issuer, std::string audience, std::chrono::seconds leeway) {
  return {.header = {.algorithm = Algorithm::kRs256,
                     .types = {"JWT", "at+jwt"},
                     .untyped = base::jose::Untyped::kAccepted},
          .issuer = std::move(issuer),
          .audience = std::move(audience),
          .required = {"iat", "sub"},
          .leeway = leeway};
}

Outcome<Principal> verify_access_token(std::string_view token, const Verifier& verifier,
                                       const Rules& rules, base::WallTime now) {
  auto claims = base::jose::verify(token, verifier, rules, now);
  if (!claims) return credential_fault(claims.error());
  return principal_of(*claims, Method::kOauth2, rules.leeway);
}

Outcome<Principal> principal_of(const Claims& claims, Method method, std::chrono::seconds leeway) {
  if (claims.subject().empty()) return wrong_credential("a token without a subject");
  std::string scope;
  for (const auto& word : claims.scope()) {
    if (!scope.empty()) scope += ' ';
    scope += word;
  }
  auto scopes = Scopes::parse(scope);
  if (!scopes) return wrong_credential(scopes.error().message());
  Details details;
  if (const auto* claim = claims.all().if_contains(kDetailsClaim)) {
    auto read = Details::parse(*claim);
    if (!read) return wrong_credential(read.error().message());
    details = std::move(*read);
  }
  auto binding = read_binding(claims.all());
  if (!binding) return std::move(binding).error();
  return Principal{.subject = claims.subject(),
                   .issuer = claims.issuer(),
                   .method = method,
                   .scopes = std::move(*scopes),
                   .details = std::move(details),
                   .expires_at = claims.expires_at() + leeway,
                   .token_id = claims.token_id(),
                   .bound_to = std::move(*binding)};
}

Fault credential_fault(const base::Error& error) {
  std::string detail = error.message();
  if (!error.detail().empty()) detail += ": " + error.detail();
  switch (error.kind()) {
    case base::ErrorKind::kUnavailable:
    case base::ErrorKind::kOutcomeUnknown:
      return {Code::kUpstream, "the credential cannot be checked just now", std::nullopt, detail};
    case base::ErrorKind::kTimeout:
    case base::ErrorKind::kCancelled:
      return {Code::kTimeout, "the credential could not be checked in time", std::nullopt, detail};
    default: break;
  }
  if (error.reason() != base::jose::reason::kExpired) return wrong_credential(std::move(detail));
  return {Code::kExpired, "the credential is past its time", std::nullopt, detail};
}

}  // namespace tool::session
