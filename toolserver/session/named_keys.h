#pragma once

// API keys of which each has a name, scopes and an end of its own, beside the one
// that all share. A service keeps the hash of a key and not the key: whoever reads
// its file has no key to show as a bearer. In the native protocol a key is proved
// by its hash, which is why the file is to be kept like a key all the same.
// Source: docs/wire-3.0.md, section 4.8.

#include <map>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::session {

struct NamedKey {
  base::crypto::Digest hash{};  ///< SHA-256 of the whole key.
  Grant grant;
  base::WallTime expires_at = base::WallTime::max();
};
using NamedKeys = std::map<std::string, NamedKey, std::less<>>;

/// 1 to 64 of a-z, 0-9 and '-', the first a letter.
[[nodiscard]] bool is_key_name(std::string_view name);
/// "scpk_NAME_SECRET", with 256 random bits.
[[nodiscard]] base::Secret make_named_key(std::string_view name, base::Random& random);
/// The name in such a key; empty where the text is none.
[[nodiscard]] std::string_view name_in_key(std::string_view key);

/// The credential of the method api_key by a named key, "NAME.MAC".
[[nodiscard]] std::string named_key_credential(std::string_view name,
                                               const base::crypto::Digest& hash,
                                               const base::crypto::Digest& th1);
/// Whether a credential is of that form, whatever it proves.
[[nodiscard]] bool is_of_named_key(std::string_view credential);
/// The subject is "key:NAME", which no client token of the service has unless it is
/// minted so. Compares in constant time.
/// Errors: E_AUTH  no such key, or it is not the credential's; E_EXPIRED  it is, and
/// past its end.
[[nodiscard]] Outcome<Principal> verify_named_key(std::string_view credential,
                                                  const NamedKeys& keys,
                                                  const base::crypto::Digest& th1,
                                                  const std::string& issuer, base::WallTime now,
                                                  base::WallTime at_most);

}  // namespace tool::session
