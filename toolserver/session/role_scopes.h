#pragma once

// An identity provider says what somebody is, in roles and groups of its own
// making; a service says what somebody may do, in scopes. Here an operator's
// table leads from the one to the other.
// Sources: RFC 9068, section 2.2.3.1 (roles, groups); RFC 6901.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/principal.h"

namespace tool::session {

struct RoleScopes {
  static constexpr std::size_t kRoles = 1024;  ///< That one token may name.

  /// JSON Pointers to claims, such as "/groups" or "/realm_access/roles".
  std::vector<std::string> claims;
  /// By role, as the provider writes it. A role that is not here grants nothing.
  std::map<std::string, Grant, std::less<>> scopes;
};

/// `own`, and what the roles grant that the claims of a token name: a text is one
/// role, a list of texts one for each. A claim that is not there names none. The
/// details of a role narrow what that role grants and no other; those of the
/// token narrow all.
/// Errors: E_AUTH  a claim is neither, or names more than kRoles; the scopes or
/// the details are more than one may have.
[[nodiscard]] Outcome<Grant> with_roles(const RoleScopes& rules, const base::json::Object& claims,
                                        const Grant& own);

}  // namespace tool::session
