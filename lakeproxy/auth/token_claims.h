#pragma once

// What verified claims say here: who it is, whose, and what it may do.

#include <string>

#include "base/jose/jwt.h"
#include "lakeproxy/auth/principal.h"

namespace lake::auth {

/// The claims' names; a provider's may be others. "realm_access.roles" is a claim of that name, or
/// else the member "roles" of the claim "realm_access".
struct ClaimNames {
  std::string roles = "roles";
  std::string account = "account";
};

/// Roles are a text of words or a list of texts; the account is a text or a list of one. The scope
/// is `scope`, words parted by spaces, or `scp`, the same or a list.
/// Errors: kUnauthenticated (jose::reason::kClaims)  a claim of another shape, or without a
///         subject; never repeats a value.
[[nodiscard]] base::Result<Principal> principal_of(const base::jose::Claims& claims,
                                                   const ClaimNames& names, OtherWords others);

}  // namespace lake::auth
