#include "base/jose/jwt.h"

#include <algorithm>

#include "base/jose/claims_reader.h"

namespace base::jose {

bool Claims::has_scope(std::string_view word) const {
  return std::ranges::find(scope_, word) != scope_.end();
}

Result<std::string> sign(const Signer& signer, std::string_view typ, const json::Object& claims) {
  return sign_compact(signer, typ, json::write(claims));
}

Result<Claims> verify(std::string_view token, const Verifier& verifier, const Rules& rules,
                      WallTime now) {
  ASSIGN_OR_RETURN(auto jws, UnverifiedJws::parse(token, rules.header));
  return verify(jws, verifier, rules, now);
}

Result<Claims> verify(std::string_view token, const KeySet& keys, const Rules& rules,
                      WallTime now) {
  ASSIGN_OR_RETURN(auto jws, UnverifiedJws::parse(token, rules.header));
  const Verifier* key = keys.find(jws.kid());
  if (key == nullptr) {
    return fail(ErrorKind::kUnauthenticated, "the token is signed with an unknown key")
        .with_reason(reason::kKey);
  }
  return verify(jws, *key, rules, now);
}

Result<Claims> verify(const UnverifiedJws& token, const Verifier& verifier, const Rules& rules,
                      WallTime now) {
  ASSIGN_OR_RETURN(auto payload, token.verify(verifier));
  return ClaimsReader::read(payload, token.kid(), rules, now);
}

std::int64_t numeric_date(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

}  // namespace base::jose
