#pragma once

// From another node's answer to a call to ours. A node is authenticated, and may lie all
// the same.
// Source: docs/wire-3.0.md, sections 9 and 18.3; docs/adr/0139.

#include <string_view>

#include "base/json/json.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/invocation.h"

namespace tool::federation {

/// The answer of fed.forward. Errors: E_UPSTREAM  it is none; E_LIMIT  it has
/// more than 1,024 parts.
[[nodiscard]] Outcome<ToolResult> read_reply(base::json::Object payload);

/// What a caller is told of a refusal by `peer`: whose it is and its code. The
/// words are the peer's, which no filter has seen: they are for the log.
[[nodiscard]] Fault relayed(std::string_view peer, Fault fault);

}  // namespace tool::federation
