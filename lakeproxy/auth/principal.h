#pragma once

// Who asks. Until clients are configured nobody can prove a name, and every
// caller is the operator's own: authentication is off, as the start-up log says.

#include <optional>
#include <string>

#include "base/core/result.h"
#include "base/runtime/request_context.h"
#include "base/runtime/task.h"

namespace lake::auth {

struct Principal {
  std::string subject;
  bool superuser = false;
  std::optional<std::string> account;  ///< Whose client it is.
  std::string issuer = {};  ///< Who vouches for `subject`, which is unique with it alone.
};

/// The caller of a server without configured clients.
/// Source: specification, section 5.1.
[[nodiscard]] inline Principal unauthenticated() { return {"anonymous", true, std::nullopt}; }

/// Who sends a request; without configured clients everybody is the same. A task, since what
/// proves a name may have to be fetched.
[[nodiscard]] inline base::Task<base::Result<Principal>> authenticate(base::RequestContext) {
  co_return unauthenticated();
}

}  // namespace lake::auth
