#include "base/jose/jwks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/crypto/encoding.h"
#include "base/json/json.h"

namespace base::jose {
namespace {

constexpr json::Limits kSetLimits{.bytes = kMaxJwksBytes, .depth = 8, .values = 8192};
constexpr std::size_t kMaxNumberBytes = 8192 / 8;

std::optional<std::string_view> text_of(const json::Object& jwk, std::string_view member) {
  const auto* value = jwk.if_contains({member.data(), member.size()});
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const auto& text = value->get_string();
  return std::string_view(text.data(), text.size());
}

bool is_absent_or(const json::Object& jwk, std::string_view member, std::string_view text) {
  return jwk.if_contains({member.data(), member.size()}) == nullptr || text_of(jwk, member) == text;
}

// Source: RFC 7517, section 4.3.
bool may_verify(const json::Object& jwk) {
  const auto* operations = jwk.if_contains("key_ops");
  if (operations == nullptr) return true;
  const auto* array = operations->if_array();
  return array != nullptr && std::ranges::any_of(*array, [](const json::Value& operation) {
           return operation.is_string() && operation.get_string() == "verify";
         });
}

std::optional<std::string> number_of(const json::Object& jwk, std::string_view member) {
  auto text = text_of(jwk, member);
  auto bytes = crypto::from_base64url(text.value_or(""), kMaxNumberBytes);
  if (!bytes) return std::nullopt;
  return std::move(*bytes);
}

std::optional<crypto::VerifyKey> rsa_key(const json::Object& jwk) {
  auto modulus = number_of(jwk, "n");
  auto exponent = number_of(jwk, "e");
  if (!modulus || !exponent) return std::nullopt;
  auto key = crypto::VerifyKey::from_rsa(*modulus, *exponent);
  if (!key) return std::nullopt;
  return std::move(*key);
}

std::optional<crypto::VerifyKey> p256_key(const json::Object& jwk) {
  auto x = number_of(jwk, "x");
  auto y = number_of(jwk, "y");
  if (text_of(jwk, "crv") != "P-256" || !x || !y) return std::nullopt;
  auto key = crypto::VerifyKey::from_p256(*x, *y);
  if (!key) return std::nullopt;
  return std::move(*key);
}

// A key of the set as a verifier of the one algorithm that its kind is used for here.
std::optional<Verifier> usable(const json::Value& value) {
  const auto* jwk = value.if_object();
  if (jwk == nullptr) return std::nullopt;
  const bool is_rsa = text_of(*jwk, "kty") == "RSA";
  if (!is_rsa && text_of(*jwk, "kty") != "EC") return std::nullopt;
  const Algorithm algorithm = is_rsa ? Algorithm::kRs256 : Algorithm::kEs256;
  if (!is_absent_or(*jwk, "use", "sig") || !is_absent_or(*jwk, "alg", name(algorithm)) ||
      !may_verify(*jwk) || jwk->contains("d")) {
    return std::nullopt;
  }
  auto kid = text_of(*jwk, "kid");
  if (!kid || !is_key_id(*kid)) return std::nullopt;
  auto key = is_rsa ? rsa_key(*jwk) : p256_key(*jwk);
  if (!key) return std::nullopt;
  auto verifier = Verifier::with_key(algorithm, std::move(*key), std::string(*kid));
  if (!verifier) return std::nullopt;
  return std::move(*verifier);
}

}  // namespace

Result<KeySet> parse_jwks(std::string_view text) {
  auto value = json::parse(text, kSetLimits);
  if (!value) return std::move(value).error().with_context("the JWK set");
  const auto* set = value->if_object();
  const auto* keys = set == nullptr ? nullptr : set->if_contains("keys");
  const auto* array = keys == nullptr ? nullptr : keys->if_array();
  if (array == nullptr) {
    return fail(ErrorKind::kInvalid, "a JWK set must be an object with an array 'keys'");
  }
  if (array->size() > kMaxJwksKeys) {
    return fail(ErrorKind::kTooLarge, "a JWK set must have at most 64 keys");
  }
  std::map<std::string, std::vector<Verifier>> by_kid;
  for (const auto& jwk : *array) {
    if (auto verifier = usable(jwk)) by_kid[verifier->kid()].push_back(std::move(*verifier));
  }
  KeySet out;
  for (auto& [kid, verifiers] : by_kid) {
    // Which of two keys of one name is meant, nobody can tell.
    if (verifiers.size() == 1) RETURN_IF_ERROR(out.add(std::move(verifiers.front())));
  }
  return out;
}

std::string write_jwks(const std::vector<Verifier>& keys) {
  std::string out = R"({"keys":[)";
  for (const auto& verifier : keys) {
    const auto* key = verifier.public_key();
    if (key == nullptr) continue;
    if (out.back() == '}') out += ',';
    const auto& kid = verifier.kid().empty() ? key->thumbprint() : verifier.kid();
    std::string_view members = key->canonical_jwk();
    members.remove_suffix(1);
    out += members;
    out += R"(,"use":"sig","alg":")" + std::string(name(verifier.algorithm())) + R"(","kid":")" +
           kid + R"("})";
  }
  return out + "]}";
}

}  // namespace base::jose
