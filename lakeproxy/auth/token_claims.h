#pragma once

// What verified claims say here: who it is, whose, and what it may do.

#include <string>
#include <string_view>
#include <vector>

#include "base/jose/jwt.h"
#include "lakeproxy/auth/principal.h"

namespace lake::auth {

/// The claims' names; a provider's may be others. "realm_access.roles" is a claim of that name, or
/// else the member "roles" of the claim "realm_access".
struct ClaimNames {
  std::string roles = "roles";
  std::string account = "account";
};

/// Whoever acts for the subject, the last one first. A token whose chain is longer is refused.
/// Source: RFC 8693, section 4.1.
inline constexpr std::size_t kMostActors = 3;

/// What parts the names in Principal::actor; no name holds it.
inline constexpr std::string_view kActorMark = ", ";

/// The subject and whoever acts for it: a right that is not each one's is none.
[[nodiscard]] std::vector<std::string> names_of(const Principal& principal);

/// The claim `act`; empty where it is absent.
/// Errors: kUnauthenticated (jose::reason::kClaims)  it is no chain of at most kMostActors names,
/// or
///         one of them holds what parts them in Principal::actor.
[[nodiscard]] base::Result<std::vector<std::string>> actors_of(const base::jose::Claims& claims);

/// Roles are a text of words or a list of texts; the account is a text or a list of one. The scope
/// is `scope`, words parted by spaces, or `scp`, the same or a list.
/// Errors: kUnauthenticated (jose::reason::kClaims)  a claim of another shape, or without a
///         subject; never repeats a value.
[[nodiscard]] base::Result<Principal> principal_of(const base::jose::Claims& claims,
                                                   const ClaimNames& names, OtherWords others);

}  // namespace lake::auth
