#pragma once

// Tokens that say who may do what until when. verify() is the only way to a
// Claims value, so code that holds one knows that signature, times, issuer and
// audience were right at the time it was made.
// Sources: RFC 7519; RFC 8725; RFC 9068 (shape of access tokens).

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/jose/jws.h"
#include "base/jose/key_set.h"
#include "base/json/json.h"

namespace base::jose {

/// What a token must be. An empty issuer or audience, and no types, accept
/// nothing: what is not stated is not allowed.
struct Rules {
  HeaderRules header;
  std::string issuer;    ///< Equal to iss, byte by byte.
  std::string audience;  ///< One of aud.
  /// Claims that must be there, besides iss, aud and exp, which always must.
  std::vector<std::string> required;
  std::chrono::seconds leeway{30};  ///< For clocks that differ; both ways.
  /// Longest exp - iat, when set; iat is then required.
  std::optional<std::chrono::seconds> max_lifetime;
};

/// The claims of a token that passed. A claim that is absent is an empty text
/// or nothing.
class Claims {
 public:
  [[nodiscard]] const std::string& issuer() const { return issuer_; }
  [[nodiscard]] const std::string& subject() const { return subject_; }
  /// At most 16.
  [[nodiscard]] const std::vector<std::string>& audience() const { return audience_; }
  [[nodiscard]] WallTime expires_at() const { return expires_at_; }
  [[nodiscard]] std::optional<WallTime> issued_at() const { return issued_at_; }
  [[nodiscard]] std::optional<WallTime> not_before() const { return not_before_; }
  [[nodiscard]] const std::string& token_id() const { return token_id_; }
  /// The words of scope, at most 256. Source: RFC 6749, section 3.3.
  [[nodiscard]] const std::vector<std::string>& scope() const { return scope_; }
  [[nodiscard]] bool has_scope(std::string_view word) const;
  /// Name of the key that signed it; empty when the token names none.
  [[nodiscard]] const std::string& kid() const { return kid_; }
  /// All claims, with those that have no accessor here.
  [[nodiscard]] const json::Object& all() const { return all_; }

 private:
  friend class ClaimsReader;
  Claims() = default;

  std::string issuer_, subject_, token_id_, kid_;
  std::vector<std::string> audience_, scope_;
  WallTime expires_at_;
  std::optional<WallTime> issued_at_, not_before_;
  json::Object all_;
};

/// A signed token with these claims. Nothing is added to them: the caller sets
/// iss, aud, exp and the others.
/// Errors: as sign_compact.
[[nodiscard]] Result<std::string> sign(const Signer& signer, std::string_view typ,
                                       const json::Object& claims);

/// Checks a token by one key, at the time `now`.
/// Errors: kUnauthenticated  always; reason() is one of jose::reason. A token
///         that is right but past its exp has reason kExpired: the signature
///         is checked before the times. Messages never repeat the token.
[[nodiscard]] Result<Claims> verify(std::string_view token, const Verifier& verifier,
                                    const Rules& rules, WallTime now);
/// The same with the key that the token's kid names; a token without kid is
/// refused with reason kKey.
[[nodiscard]] Result<Claims> verify(std::string_view token, const KeySet& keys, const Rules& rules,
                                    WallTime now);
/// The second half, for a key that was looked up in between.
[[nodiscard]] Result<Claims> verify(const UnverifiedJws& token, const Verifier& verifier,
                                    const Rules& rules, WallTime now);

/// Seconds since 1970 for exp, iat and nbf. Source: RFC 7519, section 2.
[[nodiscard]] std::int64_t numeric_date(WallTime time);

}  // namespace base::jose
