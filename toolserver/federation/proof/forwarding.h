#pragma once

// The two ends of a step: what a node says when it forwards a call, and what the
// node that is asked makes of it. The second takes no word on trust: every step
// from the caller's own node on must be signed by the node that took it, lead to
// the next, and ask for the same call.
// Source: docs/wire-3.0.md, section 18.2; docs/adr/0138.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/federation/proof/forward_proof.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/federation/proof/proof_memory.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/forwarded.h"
#include "toolserver/model/invocation.h"

namespace tool::federation {

/// A step that this node is about to take.
struct Step {
  std::string_view to;       ///< The node that is asked.
  std::string_view tool;     ///< As that node names it.
  std::string_view session;  ///< Ours there.
  std::uint32_t max_hops = 0;
};
/// All proofs of `call`, with one for this step at the end.
/// Errors: E_POLICY  `to` is on the way already; E_LIMIT  one step too many, or
///         a name that makes a proof longer than 8 KiB.
[[nodiscard]] Outcome<std::vector<std::string>> take_step(const NodeKeys& keys,
                                                          const Invocation& call, const Step& step,
                                                          base::WallTime now, base::Random& random);

/// A call as another node asks for it.
struct Asked {
  std::string_view node;     ///< Whose session it came in, as that was opened.
  std::string_view session;  ///< Of this node.
  std::string_view tool;
  const base::json::Object* args = nullptr;  ///< Never null.
  std::vector<std::string> proofs;
  bool dry_run = false;
};
/// Whose call it is and how it came here, once every step holds. What the node
/// may ask for here is for the caller of this to decide.
/// Errors: those of verify_proof(); E_SIG  the proof is for another tool, other
///         arguments, or does not continue the one before it; E_REPLAY  used
///         before, or for another session; E_SCOPE  a step asks for more than
///         the one before; E_POLICY  a loop; E_LIMIT  too many steps; E_SHAPE.
[[nodiscard]] Outcome<Forwarded> accept(const NodeKeys& keys, ProofMemory& memory, Asked asked,
                                        std::uint32_t max_hops, base::WallTime now);

}  // namespace tool::federation
