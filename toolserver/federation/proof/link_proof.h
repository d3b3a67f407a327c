#pragma once

// Nodes name themselves on a link: the one that connects by a credential for
// this handshake alone, the one that is connected to by a proof for this session
// alone. A node that has a key is known by it, so that no other holder of the
// shared secret can stand in its place.
// Source: docs/wire-3.0.md, sections 4.8 and 9; docs/adr/0139.

#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/crypto/digest.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/model/fault.h"

namespace tool::federation {

inline constexpr std::string_view kCredentialType = "scp-node+jws";
inline constexpr std::string_view kPeerType = "scp-peer+jws";
/// Of both; they are of no use on any other link.
inline constexpr std::chrono::hours kLinkProofLife{24};

/// The credential of method `node`, for `to`.
[[nodiscard]] base::Result<std::string> node_credential(const NodeKeys& keys, std::string_view to,
                                                        const base::crypto::Digest& th1,
                                                        base::WallTime now, base::Random& random);
/// The node that connects.
/// Errors: E_AUTH  another node's, another link's, or not by the key that is
///         registered.
[[nodiscard]] Outcome<std::string> verify_node_credential(const NodeKeys& keys,
                                                          std::string_view token,
                                                          const base::crypto::Digest& th1,
                                                          base::WallTime now);

/// What this node shows to `to`, which has opened `session` here.
[[nodiscard]] base::Result<std::string> peer_proof(const NodeKeys& keys, std::string_view to,
                                                   std::string_view session, base::WallTime now,
                                                   base::Random& random);
/// Whether the node at the other end of our `session` is `peer`. Errors: E_AUTH.
[[nodiscard]] Outcome<void> verify_peer_proof(const NodeKeys& keys, std::string_view token,
                                              std::string_view peer, std::string_view session,
                                              base::WallTime now);

}  // namespace tool::federation
