#pragma once

// From settings to what makes a service a node of a federation.
// Source: docs/tools/federation.md, docs/tools/discovery.md.

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/core/result.h"
#include "toolserver/discovery/discovery.h"
#include "toolserver/federation/peers.h"
#include "toolserver/federation/proof/node_keys.h"
#include "toolserver/settings/settings.h"

namespace tool::app {

/// This node's key alone; null where it is no node of a federation.
/// Errors: kInvalid  a key file that cannot be used, and those of NodeKeys.
[[nodiscard]] base::Result<std::shared_ptr<federation::NodeKeys>> node_keys(
    const settings::SecureConfig& config);

/// Which other nodes are known, and which of them are called by which ways: those of
/// the configuration, those that the program added, and what discovery found of both.
/// An address in the configuration is the only one of its node. Safe from any thread.
class PeerBook {
 public:
  /// Errors: kInvalid  a suite that the wire does not know.
  [[nodiscard]] static base::Result<std::unique_ptr<PeerBook>> create(
      const settings::SecureConfig& config, std::shared_ptr<federation::NodeKeys> keys,
      federation::PeerParts parts);

  /// Puts cluster.peers and the keys of cluster.peer_keys_path in the place of those
  /// before; all or nothing. Reads files.
  /// Errors: kInvalid  a key or an address that cannot be used; kTooLarge  too many
  ///         nodes; kConflict  one that the program has added.
  [[nodiscard]] base::Status configure(const settings::SecureConfig& config);
  /// Adds a node until the process ends. Errors: as above.
  [[nodiscard]] base::Status add(const settings::SecureConfig& config, const settings::Peer& peer);
  /// What discovery has found, in the place of what it found before. A node whose key
  /// is not known, also not after a look into cluster.peer_keys_path, is not called.
  void found(const discovery::Nodes& nodes);
  /// The node has connected itself to this one, so it is there.
  void came(const std::string& node_id) { peers_.hurry(node_id); }

 private:
  PeerBook(std::shared_ptr<federation::NodeKeys> keys, federation::PeerParts parts,
           client::ClientOptions options)
      : keys_(std::move(keys)), log_(parts.log), peers_(std::move(parts), std::move(options)) {}
  [[nodiscard]] base::Status read_again();
  void apply();
  void report_unknown(const std::string& node_id);

  const std::shared_ptr<federation::NodeKeys> keys_;
  const base::log::Logger log_;
  std::mutex mutex_;
  settings::Cluster cluster_;  // As it is in force.
  discovery::Nodes fixed_;     // With an address in the configuration.
  discovery::Nodes added_;     // By the program, with an address.
  discovery::Nodes found_;
  std::set<std::string> unknown_;  // That the log has named.
  federation::Peers peers_;        // Last: its thread ends first.
};

/// Asks the discovery server of `config`, for `book`. Null for discovery_method static.
/// `parts` and `book` outlive it.
/// Errors: kInvalid, kForbidden  an address that cannot be used.
[[nodiscard]] base::Result<std::unique_ptr<discovery::Discovery>> start_discovery(
    const settings::SecureConfig& config, discovery::Parts parts, PeerBook& book);

}  // namespace tool::app
