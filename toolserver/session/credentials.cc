#include "toolserver/session/credentials.h"

#include "base/crypto/encoding.h"
#include "toolserver/session/named_keys.h"

namespace tool::session {

std::optional<Method> method_of(std::string_view text) {
  for (Method method : {Method::kApiKey, Method::kJwt, Method::kOauth2, Method::kMtls,
                        Method::kNode, Method::kSession}) {
    if (name(method) == text) return method;
  }
  return std::nullopt;
}

// Source: docs/wire-3.0.md, section 4.8.
bool fits(Method method, Mode mode) {
  switch (method) {
    case Method::kApiKey: return mode == Mode::kSimple || mode == Mode::kEncrypted;
    case Method::kJwt: return mode != Mode::kEnterprise;
    case Method::kOauth2: return mode == Mode::kEnterprise;
    case Method::kMtls: return mode == Mode::kBasic || mode == Mode::kEnterprise;
    case Method::kNode:
    case Method::kSession: return true;
  }
  return false;
}

bool is_token(Method method) { return method == Method::kJwt || method == Method::kOauth2; }

std::string api_key_credential(const base::Secret& api_key, const base::crypto::Digest& th1) {
  if (auto name = name_in_key(api_key.reveal()); !name.empty()) {
    return named_key_credential(name, base::crypto::sha256(api_key.reveal()), th1);
  }
  base::crypto::HmacKey key(api_key.reveal());
  auto mac = key.mac({"scp3 apikey", base::crypto::view(th1)});
  return base::crypto::to_base64url(base::crypto::view(mac));
}

Outcome<Principal> verify_api_key(std::string_view credential, const base::Secret& api_key,
                                  const base::crypto::Digest& th1, ApiKeyPrincipal principal) {
  if (api_key.empty()) return wrong_credential("no api_key is set");
  if (!base::crypto::equal(credential, api_key_credential(api_key, th1))) {
    return wrong_credential("the proof of the api_key is wrong");
  }
  return Principal{.subject = std::move(principal.subject),
                   .issuer = std::move(principal.issuer),
                   .method = Method::kApiKey,
                   .scopes = std::move(principal.scopes),
                   .expires_at = principal.expires_at};
}

Fault wrong_credential(std::string detail) {
  return {Code::kAuth, "the credential was not accepted", std::nullopt, std::move(detail)};
}

}  // namespace tool::session
