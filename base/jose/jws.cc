#include "base/jose/jws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/crypto/encoding.h"
#include "base/json/json.h"

namespace base::jose {
namespace {

constexpr std::size_t kMinSecretBytes = 32;  // RFC 7518, section 3.2
constexpr std::size_t kMaxKeyIdBytes = 64;
constexpr json::Limits kHeaderLimits{.bytes = 2048, .depth = 4, .values = 64};
// Those that name keys from outside, change what is signed, or must be
// understood. RFC 7515, sections 4.1.2 to 4.1.6 and 4.1.11; RFC 7797.
constexpr std::array<std::string_view, 6> kRefusedHeaders{"crit", "jku", "jwk",
                                                          "x5u",  "x5c", "b64"};

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_type(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '+' || c == '-';
  });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Lower case, without "application/". Source: RFC 7515, section 4.1.9.
std::string normal_type(std::string_view type) {
  constexpr std::string_view kPrefix = "application/";
  std::string out;
  std::ranges::transform(type, std::back_inserter(out), lower);
  if (out.starts_with(kPrefix)) out.erase(0, kPrefix.size());
  return out;
}

crypto::SignatureAlgorithm signature_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kPs256: return crypto::SignatureAlgorithm::kPs256;
    case Algorithm::kEdDsa: return crypto::SignatureAlgorithm::kEd25519;
    case Algorithm::kEs256: return crypto::SignatureAlgorithm::kEs256;
    case Algorithm::kHs256:
    case Algorithm::kRs256: break;
  }
  return crypto::SignatureAlgorithm::kRs256;
}

Status check_kid(std::string_view kid) {
  if (kid.empty() || is_key_id(kid)) return {};
  return fail(ErrorKind::kInvalid, "a kid must be 1 to 64 characters of [A-Za-z0-9._-]");
}

Result<std::shared_ptr<const crypto::HmacKey>> hmac_key(std::string_view secret) {
  if (secret.size() < kMinSecretBytes) {
    return fail(ErrorKind::kInvalid, "a secret for HS256 must have at least 32 bytes");
  }
  return std::make_shared<const crypto::HmacKey>(secret);
}

Status check_key(Algorithm algorithm, crypto::KeyType type, std::string_view kid) {
  if (algorithm == Algorithm::kHs256 || crypto::key_type(signature_of(algorithm)) != type) {
    return fail(ErrorKind::kInvalid, "the key is of another kind than the algorithm");
  }
  return check_kid(kid);
}

Error refuse(std::string_view why, std::string message) {
  return fail(ErrorKind::kUnauthenticated, std::move(message)).with_reason(why);
}

// ---- Taking a token apart ----

struct Parts {
  std::string_view header, payload, signature;
  std::string_view signed_part;
};

std::optional<Parts> split(std::string_view token) {
  auto first = token.find('.');
  auto last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  Parts parts{.header = token.substr(0, first),
              .payload = token.substr(first + 1, last - first - 1),
              .signature = token.substr(last + 1),
              .signed_part = token.substr(0, last)};
  if (parts.header.empty() || parts.payload.empty() || parts.signature.empty() ||
      parts.payload.contains('.')) {
    return std::nullopt;
  }
  return parts;
}

Error malformed() { return refuse(reason::kMalformed, "the token is not a compact JWS"); }

Result<std::string> decode(std::string_view part) {
  auto bytes = crypto::from_base64url(part, kMaxTokenBytes);
  if (!bytes) return malformed();
  return std::move(*bytes);
}

// The text of a header; nothing when absent or not a text.
std::optional<std::string_view> text_of(const json::Object& header, std::string_view key) {
  const auto* value = header.if_contains({key.data(), key.size()});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const auto& text = value->get_string();
  return std::string_view(text.data(), text.size());
}

/// Returns the kid, empty when there is none.
Result<std::string> check_header(const json::Object& header, const HeaderRules& rules) {
  for (auto name_refused : kRefusedHeaders) {
    if (header.if_contains({name_refused.data(), name_refused.size()}) != nullptr) {
      return refuse(reason::kHeader,
                    fmt::format("the token has a header '{}', which is refused", name_refused));
    }
  }
  if (text_of(header, "alg") != name(rules.algorithm)) {
    return refuse(reason::kAlgorithm,
                  fmt::format("the token's algorithm must be {}", name(rules.algorithm)));
  }
  auto type = text_of(header, "typ");
  auto is_wanted = [&](const std::string& wanted) {
    return normal_type(wanted) == normal_type(*type);
  };
  bool may_be_absent = rules.untyped == Untyped::kAccepted && header.if_contains("typ") == nullptr;
  if (!may_be_absent && (!type || std::ranges::none_of(rules.types, is_wanted))) {
    return refuse(reason::kType, "the token is of another type than is wanted here");
  }
  if (header.if_contains("kid") == nullptr) return std::string();
  auto kid = text_of(header, "kid");
  if (!kid || !is_key_id(*kid)) {
    return refuse(reason::kHeader, "the token's kid must be 1 to 64 characters of [A-Za-z0-9._-]");
  }
  return std::string(*kid);
}

}  // namespace

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kHs256: return "HS256";
    case Algorithm::kRs256: return "RS256";
    case Algorithm::kPs256: return "PS256";
    case Algorithm::kEdDsa: return "EdDSA";
    case Algorithm::kEs256: return "ES256";
  }
  std::unreachable();
}

bool is_key_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKeyIdBytes && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  });
}

Result<Verifier> Verifier::hs256(std::string_view secret, std::string kid) {
  RETURN_IF_ERROR(check_kid(kid));
  ASSIGN_OR_RETURN(auto key, hmac_key(secret));
  return Verifier(Algorithm::kHs256, std::move(key), std::move(kid));
}

Result<Verifier> Verifier::with_key(Algorithm algorithm, crypto::VerifyKey key, std::string kid) {
  RETURN_IF_ERROR(check_key(algorithm, key.type(), kid));
  return Verifier(algorithm, std::move(key), std::move(kid));
}

const crypto::VerifyKey* Verifier::public_key() const {
  return std::get_if<crypto::VerifyKey>(&key_);
}

bool Verifier::verify(std::string_view data, std::string_view signature) const {
  if (const auto* key = public_key()) {
    return key->verify(signature_of(algorithm_), data, signature);
  }
  return std::get<std::shared_ptr<const crypto::HmacKey>>(key_)->verify(data, signature);
}

Result<Signer> Signer::hs256(std::string_view secret, std::string kid) {
  RETURN_IF_ERROR(check_kid(kid));
  ASSIGN_OR_RETURN(auto key, hmac_key(secret));
  return Signer(Algorithm::kHs256, std::move(key), std::move(kid));
}

Result<Signer> Signer::with_key(Algorithm algorithm, crypto::SigningKey key, std::string kid) {
  RETURN_IF_ERROR(check_key(algorithm, key.type(), kid));
  return Signer(algorithm, std::move(key), std::move(kid));
}

std::string Signer::sign(std::string_view data) const {
  if (const auto* key = std::get_if<crypto::SigningKey>(&key_)) {
    // with_key() has seen to it that key and algorithm fit.
    return key->sign(signature_of(algorithm_), data).value();
  }
  auto mac = std::get<std::shared_ptr<const crypto::HmacKey>>(key_)->mac(data);
  return std::string(crypto::view(mac));
}

Verifier Signer::verifier() const {
  if (const auto* key = std::get_if<crypto::SigningKey>(&key_)) {
    return {algorithm_, key->verify_key(), kid_};
  }
  return {algorithm_, std::get<std::shared_ptr<const crypto::HmacKey>>(key_), kid_};
}

Result<std::string> sign_compact(const Signer& signer, std::string_view typ,
                                 std::string_view payload) {
  if (!is_type(typ)) {
    return fail(ErrorKind::kInvalid, "typ must be characters of [A-Za-z0-9.+-]");
  }
  std::string kid = signer.kid().empty() ? "" : fmt::format(R"(,"kid":"{}")", signer.kid());
  std::string header =
      fmt::format(R"({{"alg":"{}","typ":"{}"{}}})", name(signer.algorithm()), typ, kid);
  std::string token = crypto::to_base64url(header) + '.' + crypto::to_base64url(payload);
  token += '.' + crypto::to_base64url(signer.sign(token));
  if (token.size() > kMaxTokenBytes) {
    return fail(ErrorKind::kTooLarge, "a token must have at most 8192 bytes");
  }
  return token;
}

Result<UnverifiedJws> UnverifiedJws::parse(std::string_view token, const HeaderRules& rules) {
  if (token.size() > kMaxTokenBytes) return malformed();
  auto parts = split(token);
  if (!parts) return malformed();
  ASSIGN_OR_RETURN(auto header_text, decode(parts->header));
  auto header = json::parse(header_text, kHeaderLimits);
  if (!header || !header->is_object()) return malformed();
  UnverifiedJws out;
  ASSIGN_OR_RETURN(out.payload_, decode(parts->payload));
  ASSIGN_OR_RETURN(out.signature_, decode(parts->signature));
  ASSIGN_OR_RETURN(out.kid_, check_header(header->get_object(), rules));
  out.algorithm_ = rules.algorithm;
  out.signed_part_ = parts->signed_part;
  return out;
}

Result<std::string> UnverifiedJws::verify(const Verifier& verifier) const {
  if (verifier.algorithm() != algorithm_) {
    return refuse(reason::kAlgorithm, "the token's key is for another algorithm");
  }
  if (!verifier.kid().empty() && !kid_.empty() && verifier.kid() != kid_) {
    return refuse(reason::kKey, "the token is signed with an unknown key");
  }
  if (!verifier.verify(signed_part_, signature_)) {
    return refuse(reason::kSignature, "the token's signature is wrong");
  }
  return payload_;
}

}  // namespace base::jose
