#pragma once

// A person's sign-in at a bridged server, outside of the service: one connection
// as a bridge makes it, with somebody there to ask. What comes of it is stored,
// and the service finds it.

#include "toolserver/mcp_bridge/http_link.h"
#include "toolserver/mcp_login/login.h"
#include "toolserver/settings/bridge.h"

namespace tool::bridge {

/// Of a bridge to a URL; without its login.
[[nodiscard]] HttpLinkOptions http_options(const settings::Bridge& config);
/// Of a bridge with a login.
[[nodiscard]] login::LoginOptions login_options(const settings::Bridge& config);

/// Connects to the server of `config`, which has a login; `parts` have a person.
/// The sign-in is asked for anew. Returns how many tools the server lists then.
/// On the loop of `parts`; sets its own cancellation state.
/// Errors: those of Login and ServerSession; E_POLICY  the server let us in
///         without asking for a login.
[[nodiscard]] base::Task<Outcome<std::size_t>> sign_in(settings::Bridge config,
                                                       login::LoginParts parts,
                                                       std::chrono::milliseconds time);

}  // namespace tool::bridge
