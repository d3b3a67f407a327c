#pragma once

// From settings to what makes a service a node of a federation.
// Source: docs/tools/federation.md.

#include <memory>

#include "base/core/result.h"
#include "toolserver/client/client_options.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// This node's key and those of cluster.peers. Null where it is no node of a
/// federation: it has no peers and no security.proof_signing_key_path.
/// Errors: kInvalid  a key file that cannot be used, and those of NodeKeys.
[[nodiscard]] base::Result<std::shared_ptr<federation::NodeKeys>> node_keys(
    const settings::SecureConfig& config);

/// Registers `peer`. Errors: as above.
[[nodiscard]] base::Status register_node(federation::NodeKeys& keys, const settings::Peer& peer);

/// How this node connects to `peer`, but for its credential.
/// Errors: kInvalid  see client::check().
[[nodiscard]] base::Result<client::ClientOptions> peer_options(const settings::SecureConfig& config,
                                                               const settings::Peer& peer);

}  // namespace tool::app
