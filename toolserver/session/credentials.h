#pragma once

// The API key is proved, never sent: the credential is a MAC over this
// connection's transcript, of no use to whoever reads or relays it.
// Source: docs/wire-3.0.md, section 4.8.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::session {

[[nodiscard]] std::optional<Method> method_of(std::string_view name);
/// Whether the table of section 4.8 has the method in that mode.
[[nodiscard]] bool fits(Method method, Mode mode);

/// Whether the credential is a token, which may be bound to a key.
[[nodiscard]] bool is_token(Method method);

/// The credential of method api_key.
[[nodiscard]] std::string api_key_credential(const base::Secret& api_key,
                                             const base::crypto::Digest& th1);

/// Whom the holder of the API key acts as.
struct ApiKeyPrincipal {
  std::string subject = "api-key";
  std::string issuer;  ///< The node.
  Scopes scopes;
  base::WallTime expires_at = base::WallTime::max();
};
/// Compares in constant time.
/// Errors: E_AUTH  no API key is set, or it is not the credential's.
[[nodiscard]] Outcome<Principal> verify_api_key(std::string_view credential,
                                                const base::Secret& api_key,
                                                const base::crypto::Digest& th1,
                                                ApiKeyPrincipal principal);

/// The one answer to every wrong credential.
[[nodiscard]] Fault wrong_credential(std::string detail);

}  // namespace tool::session
