// POST /v1/oauth/tokens. Without configured clients nobody can get a token, and nobody needs one:
// clients that ask are told so, and go on without.
// Source: RFC 6749, section 4.4.2.

#include "lakeproxy/http/actions.h"
#include "lakeproxy/http/wire.h"

namespace lake::http {

base::Result<AskToken> ask_token_of(const Call& call) {
  ASSIGN_OR_RETURN(auto fields, form_of(call));
  auto grant = fields.find("grant_type");
  if (grant == fields.end()) {
    return base::fail(base::ErrorKind::kInvalid, "grant_type: is required");
  }
  return AskToken{std::move(grant->second)};
}

ActionResult ask_token(RequestContext, Call*, Authorized<AskToken>) {
  co_return base::fail(base::ErrorKind::kNotFound,
                       "No clients are configured: this server is open and gives no tokens.");
}

}  // namespace lake::http
