#pragma once

// Who asks. Until clients are configured nobody can prove a name, and every
// caller is the operator's own: authentication is off, as the start-up log says.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/http/message.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"
#include "lakeproxy/auth/scope.h"

namespace lake::auth {

/// What a token says that its bearer may do. Shared by the requests of one token.
struct Grants {
  Scopes scopes;
  std::vector<std::string> roles;  ///< For governance.
};

struct Principal {
  std::string subject;
  bool superuser = false;              ///< Has the scope "*", or authentication is off.
  std::optional<std::string> account;  ///< Whose client it is.
  std::string issuer = {};  ///< Who vouches for `subject`, which is unique with it alone.
  std::shared_ptr<const Grants> grants = {};  ///< Null: none.
  /// Who acts for `subject`, the last one first, parted by ", "; empty: the subject itself. For
  /// the log and the audit trail; what may be done stands in the other members alone.
  std::string actor = {};
};

/// The caller of a server without configured clients.
/// Source: specification, section 5.1.
[[nodiscard]] inline Principal unauthenticated() { return {"anonymous", true, std::nullopt}; }

/// Who sends a request; without configured clients everybody is the same. A task, since what
/// proves a name may have to be fetched.
[[nodiscard]] inline base::Task<base::Result<Principal>> everybody(base::RequestContext,
                                                                   const base::http::Headers*) {
  co_return unauthenticated();
}

}  // namespace lake::auth
