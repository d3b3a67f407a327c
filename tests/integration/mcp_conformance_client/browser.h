#pragma once

// A browser with a person before it who agrees to everything: opens the address
// and follows where it leads, back to the listener.

#include "toolserver/mcp_login/login.h"
#include "toolserver/mcp_login/redirect_listener.h"

namespace conformance {

/// `listener` outlives it.
[[nodiscard]] tool::login::Person browser(tool::login::RedirectListener& listener);

}  // namespace conformance
