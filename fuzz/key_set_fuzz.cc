// Any bytes as the published keys of an issuer, and as a token that one of them should have
// signed: a key that is taken is public, of one algorithm, and the same once it is published
// again; no token verifies that was not signed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/jose/jwks.h"
#include "base/jose/jwt.h"
#include "base/json/json.h"

namespace {

using namespace base::jose;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_key(const Verifier& key) {
  require(is_key_id(key.kid()) && key.public_key() != nullptr);
  require(key.algorithm() != Algorithm::kHs256 && !key.verify("data", "signature"));
  const auto again = parse_jwks(write_jwks({key}));
  require(again && again->size() == 1);
  const Verifier* same = again->find(key.kid());
  require(same != nullptr && same->algorithm() == key.algorithm() &&
          same->public_key()->thumbprint() == key.public_key()->thumbprint());
}

void check_set(std::string_view text) {
  const auto set = parse_jwks(text);
  if (!set) return;
  require(set->size() <= kMaxJwksKeys);
  std::size_t found = 0;
  const auto value = base::json::parse(text);
  if (!value) return;
  std::set<std::string> names;
  for (const auto& one : value->at("keys").as_array()) {
    const auto* object = one.if_object();
    const auto* kid = object == nullptr ? nullptr : object->if_contains("kid");
    if (kid != nullptr && kid->is_string()) names.emplace(kid->get_string());
  }
  for (const auto& name : names) {
    const Verifier* key = set->find(name);
    if (key == nullptr) continue;
    ++found;
    check_key(*key);
  }
  require(found == set->size());
}

void check_token(std::string_view text) {
  static const Verifier key = *Verifier::hs256("jH4kLm9pQ2rStUvWx7yZaBcDeFgHiJ0K", "k1");
  const HeaderRules rules{
      .algorithm = Algorithm::kHs256, .types = {"at+jwt"}, .untyped = Untyped::kAccepted};
  const auto token = UnverifiedJws::parse(text, rules);
  if (!token) return;
  require(token->kid().empty() || is_key_id(token->kid()));
  require(!token->verify(key));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_set(text);
  check_token(text);
  return 0;
}
