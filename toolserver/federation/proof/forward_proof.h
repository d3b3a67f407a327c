#pragma once

// A node that forwards a call says for whom, which call, and by which way it
// came, and signs that for the one node that is to run it. Each node adds its
// own proof and hands on those before, so that the last one sees every step
// signed by the node that took it: none can be left out, added or changed, and
// no node can ask for more than it was asked for.
// Source: specification, section 5.2, rules 3 and 4; docs/wire-3.0.md, section
// 18.2; docs/adr/0138.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/json/json.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/model/fault.h"
#include "toolserver/model/tool_id.h"

namespace tool::federation {

inline constexpr std::string_view kProofType = "scp-fwd+jws";
/// From its making to its use.
inline constexpr std::chrono::seconds kProofLife{30};
/// For clocks that differ; both ways.
inline constexpr std::chrono::seconds kProofLeeway{5};
/// How old the proof of an earlier step may be: a call may have waited there, for
/// consent and for its tool.
inline constexpr std::chrono::seconds kEarlierLife{3600};
inline constexpr std::uint32_t kMostHops = 8;

/// The claims of one step.
struct ForwardProof {
  std::string issuer;    ///< The node that forwards.
  std::string audience;  ///< The node that is asked.
  std::string subject;   ///< The caller, as its own node knows it.
  std::string subject_issuer;
  std::string id;  ///< jti, a ULID.
  std::int64_t issued_at = 0;
  std::int64_t expires_at = 0;
  std::string request;  ///< rid: the caller's request, the same on all nodes.
  std::string tool;     ///< As the audience names it.
  std::string args_hash;
  std::string scope;             ///< tool:invoke: and the tool, and nothing else.
  std::uint32_t hop = 1;         ///< Which step this is.
  std::uint32_t max_hops = 0;    ///< How many there may be; never grows.
  std::vector<std::string> via;  ///< The nodes before the issuer, the caller's own first.
  std::string previous;          ///< base64url of the SHA-256 of the proof before; or empty.
  std::string session;           ///< The session of the audience that it is sent in.
  /// What narrows the caller's right to this tool, as Details::sets_of() gives it; none
  /// when empty. It never loses a set.
  base::json::Array details = {};
  bool dry_run = false;  ///< Nothing is to be done. A step after one that says so says so.

  friend bool operator==(const ForwardProof&, const ForwardProof&) = default;
};

/// As compact JWS. Errors: kTooLarge  over 8 KiB.
[[nodiscard]] base::Result<std::string> sign_proof(const NodeKeys& keys, const ForwardProof& proof);

/// The claims of a proof whose signature, type, issuer and audience are right and
/// whose times are within `life`; what it says is checked for form alone.
/// Errors: E_AUTH  the issuer is not registered; E_SIG  another key, algorithm or
///         type, or claims that break their form; E_REPLAY  it is of or for
///         another node; E_STALE  out of its time.
[[nodiscard]] Outcome<ForwardProof> verify_proof(const NodeKeys& keys, std::string_view token,
                                                 std::string_view issuer, std::string_view audience,
                                                 base::WallTime now);
/// The same of an earlier step, whose time is over.
[[nodiscard]] Outcome<ForwardProof> verify_earlier(const NodeKeys& keys, std::string_view token,
                                                   std::string_view issuer,
                                                   std::string_view audience, base::WallTime now);

/// The id under which `node` offers a tool that it knows of another: the other's
/// name is the namespace, and '.' becomes '_'.
/// Errors: kInvalid  the node's name is no namespace, or the whole is too long.
[[nodiscard]] base::Result<ToolId> far_id(std::string_view node, const ToolId& tool);

/// What `previous` says of a proof.
[[nodiscard]] std::string proof_hash(std::string_view token);

}  // namespace tool::federation
