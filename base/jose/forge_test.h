#pragma once

// Tokens as no honest issuer makes them: any header and any payload, with a
// signature that is right all the same.

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/crypto/encoding.h"
#include "base/crypto/signing_key.h"
#include "base/jose/jwt.h"

namespace base::jose::testing {

inline constexpr std::int64_t kNow = 1'795'251'600;
inline constexpr std::string_view kIssuer = "https://issuer.example";
inline constexpr std::string_view kAudience = "api://tools";

inline WallTime now() { return WallTime(std::chrono::seconds(kNow)); }

/// RSA keys are slow to make: one for the issuer, one for somebody else.
inline const crypto::SigningKey& issuer_key() {
  static const auto key = crypto::SigningKey::generate(crypto::KeyType::kRsa);
  return key;
}
inline const crypto::SigningKey& other_key() {
  static const auto key = crypto::SigningKey::generate(crypto::KeyType::kRsa);
  return key;
}
inline Signer signer_of(Algorithm algorithm, const crypto::SigningKey& key,
                        std::string kid = "k1") {
  return Signer::with_key(algorithm, key, std::move(kid)).value();
}
inline const Signer& issuer() {
  static const Signer signer = signer_of(Algorithm::kRs256, issuer_key());
  return signer;
}

inline std::string encode(std::string_view text) { return crypto::to_base64url(text); }

/// header "." payload "." signature, each taken as it is.
inline std::string forge(std::string_view header, std::string_view payload,
                         const Signer& signer = issuer()) {
  std::string token = encode(header) + '.' + encode(payload);
  return token + '.' + encode(signer.sign(token));
}

inline const std::string kHeader = R"({"alg":"RS256","typ":"at+jwt","kid":"k1"})";

/// The claims of a token that passes, with one member replaced by `text` (JSON),
/// left out when that is empty, or added.
inline std::string claims(std::string_view member = {}, std::string_view text = {}) {
  struct Claim {
    std::string name, text;
  };
  std::vector<Claim> all{{"iss", fmt::format(R"("{}")", kIssuer)},
                         {"aud", fmt::format(R"("{}")", kAudience)},
                         {"sub", R"("agent-7")"},
                         {"iat", std::to_string(kNow - 60)},
                         {"exp", std::to_string(kNow + 600)}};
  std::string out;
  bool replaced = false;
  for (const auto& claim : all) {
    bool this_one = claim.name == member;
    replaced = replaced || this_one;
    if (this_one && text.empty()) continue;
    out += fmt::format(R"({}"{}":{})", out.empty() ? "" : ",", claim.name,
                       this_one ? text : claim.text);
  }
  if (!replaced && !member.empty()) out += fmt::format(R"(,"{}":{})", member, text);
  return '{' + out + '}';
}

inline std::string with_claim(std::string_view member, std::string_view text) {
  return forge(kHeader, claims(member, text));
}
inline std::string with_header(std::string_view header) { return forge(header, claims()); }

inline Rules rules() {
  return {.header = {.algorithm = Algorithm::kRs256, .types = {"at+jwt"}},
          .issuer = std::string(kIssuer),
          .audience = std::string(kAudience),
          .required = {"sub"},
          .max_lifetime = std::chrono::hours(1)};
}

}  // namespace base::jose::testing
