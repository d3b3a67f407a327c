#include "toolserver/app/federation_setup.h"

#include <utility>

#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/app/session_setup.h"

namespace tool::app {

base::Status register_node(federation::NodeKeys& keys, const settings::Peer& peer) {
  std::optional<base::crypto::VerifyKey> key;
  if (!peer.proof_public_key_path.empty()) {
    ASSIGN_OR_RETURN(std::string pem, read_file(peer.proof_public_key_path));
    auto read = base::crypto::VerifyKey::from_pem(pem);
    if (!read) return std::move(read).error().with_context("cluster.peers: " + peer.node_id);
    key = std::move(*read);
  }
  auto added = keys.add(peer.node_id, std::move(key));
  if (!added) return std::move(added).error().with_context("cluster.peers: " + peer.node_id);
  return {};
}

base::Result<std::shared_ptr<federation::NodeKeys>> node_keys(
    const settings::SecureConfig& config) {
  if (!is_node(config)) return std::shared_ptr<federation::NodeKeys>();
  ASSIGN_OR_RETURN(auto key, node_key(config));
  federation::OwnKeys own{.node_id = config.core.node_id,
                          .key = std::move(key),
                          .secret = config.core.secret_key,
                          .salt = config.core.kdf_salt};
  ASSIGN_OR_RETURN(auto keys, federation::NodeKeys::create(std::move(own)));
  for (const auto& peer : config.cluster.peers) RETURN_IF_ERROR(register_node(*keys, peer));
  return std::shared_ptr<federation::NodeKeys>(std::move(keys));
}

base::Result<client::ClientOptions> peer_options(const settings::SecureConfig& config,
                                                 const settings::Peer& peer) {
  ASSIGN_OR_RETURN(auto options, link_options(config));
  options.url = peer.endpoint;
  options.session.cluster = config.cluster.name;
  RETURN_IF_ERROR(client::check(options));
  return options;
}

}  // namespace tool::app
