#include "lakeproxy/auth/subject_statements.h"

#include "base/jose/jwt.h"

namespace lake::auth {
namespace {

using base::ErrorKind;
namespace jose = base::jose;

constexpr std::size_t kMostTaken = 100'000;
constexpr std::size_t kLongestId = 128;
constexpr std::string_view kUsed = "used";

jose::Rules rules_of(const Client& service, const jose::Verifier& key,
                     const std::string& audience) {
  return {.header = {.algorithm = key.algorithm(), .types = {std::string(kStatementType)}},
          .issuer = service.id,
          .audience = audience,
          .required = {"sub", "iat", "jti"},
          .max_lifetime = kLongestStatement};
}

}  // namespace

base::Result<Statement> SubjectStatements::take(const Client& service, std::string_view token,
                                                base::WallTime now) {
  base::Result<jose::Claims> claims =
      base::fail(ErrorKind::kUnauthenticated, "the service has no key for statements")
          .with_reason(jose::reason::kKey);
  // Two keys while they are changed, of one algorithm or of two.
  for (const jose::Verifier& key : service.statement_keys) {
    claims = jose::verify(token, key, rules_of(service, key, audience_), now);
    const bool of_other_key = !claims && (claims.error().reason() == jose::reason::kSignature ||
                                          claims.error().reason() == jose::reason::kAlgorithm);
    if (!of_other_key) break;
  }
  if (!claims) return std::move(claims).error();
  if (claims->subject().empty() || claims->token_id().empty() ||
      claims->token_id().size() > kLongestId) {
    return base::fail(ErrorKind::kUnauthenticated, "sub and jti must be texts")
        .with_reason(jose::reason::kClaims);
  }
  std::string issuer;
  if (const auto* value = claims->all().if_contains("sub_iss")) {
    if (!value->is_string() || value->get_string().empty()) {
      return base::fail(ErrorKind::kUnauthenticated, "sub_iss must be a text")
          .with_reason(jose::reason::kClaims);
    }
    issuer = std::string(value->get_string());
  }
  const base::WallTime until = claims->expires_at() + jose::Rules{}.leeway;
  RETURN_IF_ERROR(remember(service.id + '\n' + claims->token_id(), until, now));
  return Statement{claims->subject(), std::move(issuer), claims->expires_at()};
}

base::Status SubjectStatements::remember(std::string id, base::WallTime until, base::WallTime now) {
  std::lock_guard lock(mutex_);
  if (taken_.size() >= kMostTaken) {
    std::erase_if(taken_, [&](const auto& one) { return one.second < now; });
  }
  if (taken_.size() >= kMostTaken) {
    return base::fail(ErrorKind::kRateLimited, "Too many statements are being remembered.");
  }
  auto [at, is_new] = taken_.try_emplace(std::move(id), until);
  if (is_new) return {};
  // One whose time is over was refused by its times already.
  return base::fail(ErrorKind::kUnauthenticated, "the statement was taken already")
      .with_reason(kUsed);
}

}  // namespace lake::auth
