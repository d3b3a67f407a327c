#include "base/jose/claims_reader.h"

#include <algorithm>

namespace base::jose {
namespace {

constexpr json::Limits kPayloadLimits{.bytes = kMaxTokenBytes, .depth = 32, .values = 2048};
constexpr std::int64_t kMaxDate = 253'402'300'799;  // The last second of the year 9999.
constexpr std::size_t kMaxAudiences = 16;
constexpr std::size_t kMaxScopeWords = 256;

Error refuse(std::string_view why, std::string message) {
  return fail(ErrorKind::kUnauthenticated, std::move(message)).with_reason(why);
}

Error bad_claim(std::string_view claim) {
  return refuse(reason::kClaims,
                "the token's claim '" + std::string(claim) + "' is missing or not valid");
}

const json::Value* find(const json::Object& claims, std::string_view claim) {
  return claims.if_contains({claim.data(), claim.size()});
}

std::string to_text(const boost::json::string& text) { return {text.data(), text.size()}; }

// A text, which is not empty when it is there.
Result<std::string> read_text(const json::Object& claims, std::string_view claim) {
  const auto* value = find(claims, claim);
  if (value == nullptr) return std::string();
  if (!value->is_string() || value->get_string().empty()) return bad_claim(claim);
  return to_text(value->get_string());
}

// A whole number of seconds: a fraction would be rounded differently by
// different readers of one token.
Result<std::optional<WallTime>> read_date(const json::Object& claims, std::string_view claim) {
  const auto* value = find(claims, claim);
  if (value == nullptr) return std::optional<WallTime>();
  const auto* seconds = value->if_int64();
  if (seconds == nullptr || *seconds < 0 || *seconds > kMaxDate) return bad_claim(claim);
  return std::optional<WallTime>(WallTime(std::chrono::seconds(*seconds)));
}

// Source: RFC 7519, section 4.1.3: one text or an array of them.
Result<std::vector<std::string>> read_audience(const json::Object& claims) {
  const auto* value = find(claims, "aud");
  if (value == nullptr) return std::vector<std::string>();
  if (value->is_string()) {
    ASSIGN_OR_RETURN(auto one, read_text(claims, "aud"));
    return std::vector{std::move(one)};
  }
  const auto* array = value->if_array();
  if (array == nullptr || array->empty() || array->size() > kMaxAudiences) return bad_claim("aud");
  std::vector<std::string> out;
  for (const auto& element : *array) {
    if (!element.is_string() || element.get_string().empty()) return bad_claim("aud");
    out.push_back(to_text(element.get_string()));
  }
  return out;
}

// Source: RFC 6749, section 3.3.
bool is_scope_word(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return c >= 0x21 && c <= 0x7e && c != '"' && c != '\\';
  });
}

Result<std::vector<std::string>> read_scope(const json::Object& claims) {
  const auto* value = find(claims, "scope");
  std::vector<std::string> out;
  if (value == nullptr) return out;
  if (!value->is_string()) return bad_claim("scope");
  std::string_view rest(value->get_string().data(), value->get_string().size());
  if (rest.empty()) return out;  // A token for nothing in particular.
  while (true) {
    auto end = std::min(rest.find(' '), rest.size());
    if (!is_scope_word(rest.substr(0, end)) || out.size() == kMaxScopeWords) {
      return bad_claim("scope");
    }
    out.emplace_back(rest.substr(0, end));
    if (end == rest.size()) return out;
    rest.remove_prefix(end + 1);
  }
}

Status check_issuer_and_audience(const Claims& claims, const Rules& rules) {
  if (claims.issuer().empty()) return bad_claim("iss");
  if (rules.issuer.empty() || claims.issuer() != rules.issuer) {
    return refuse(reason::kIssuer, "the token is of another issuer");
  }
  if (claims.audience().empty()) return bad_claim("aud");
  if (rules.audience.empty() || std::ranges::count(claims.audience(), rules.audience) == 0) {
    return refuse(reason::kAudience, "the token is for another audience");
  }
  return {};
}

Status check_required(const Claims& claims, const Rules& rules) {
  for (const auto& claim : rules.required) {
    const auto* value = find(claims.all(), claim);
    if (value == nullptr || value->is_null()) return bad_claim(claim);
  }
  return {};
}

Status check_times(const Claims& claims, const Rules& rules, WallTime now) {
  auto issued = claims.issued_at();
  if (rules.max_lifetime) {
    if (!issued) return bad_claim("iat");
    auto lifetime = claims.expires_at() - *issued;
    if (lifetime <= lifetime.zero() || lifetime > *rules.max_lifetime) {
      return refuse(reason::kLifetime, "the token's lifetime is not allowed");
    }
  }
  WallTime latest_start =
      std::max(issued.value_or(WallTime::min()), claims.not_before().value_or(WallTime::min()));
  if (latest_start > now + rules.leeway) {
    return refuse(reason::kNotYetValid, "the token is not valid yet");
  }
  if (now >= claims.expires_at() + rules.leeway) {
    return refuse(reason::kExpired, "the token has expired");
  }
  return {};
}

}  // namespace

Result<Claims> ClaimsReader::read_shape(std::string_view payload) {
  auto value = json::parse(payload, kPayloadLimits);
  if (!value || !value->is_object()) {
    return refuse(reason::kClaims, "the token's payload is not a JSON object of claims");
  }
  Claims out;
  out.all_ = std::move(value->get_object());
  ASSIGN_OR_RETURN(out.issuer_, read_text(out.all_, "iss"));
  ASSIGN_OR_RETURN(out.subject_, read_text(out.all_, "sub"));
  ASSIGN_OR_RETURN(out.token_id_, read_text(out.all_, "jti"));
  ASSIGN_OR_RETURN(out.audience_, read_audience(out.all_));
  ASSIGN_OR_RETURN(out.scope_, read_scope(out.all_));
  ASSIGN_OR_RETURN(auto expires_at, read_date(out.all_, "exp"));
  ASSIGN_OR_RETURN(out.issued_at_, read_date(out.all_, "iat"));
  ASSIGN_OR_RETURN(out.not_before_, read_date(out.all_, "nbf"));
  if (!expires_at) return bad_claim("exp");
  out.expires_at_ = *expires_at;
  return out;
}

Result<Claims> ClaimsReader::read(std::string_view payload, const std::string& kid,
                                  const Rules& rules, WallTime now) {
  ASSIGN_OR_RETURN(auto claims, read_shape(payload));
  claims.kid_ = kid;
  RETURN_IF_ERROR(check_issuer_and_audience(claims, rules));
  RETURN_IF_ERROR(check_required(claims, rules));
  RETURN_IF_ERROR(check_times(claims, rules, now));
  return claims;
}

}  // namespace base::jose
