#include "toolserver/app/federation_setup.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/app/session_setup.h"
#include "toolserver/discovery/consul.h"
#include "toolserver/discovery/dns.h"
#include "toolserver/discovery/etcd.h"

namespace tool::app {
namespace {

using base::ErrorKind;
using base::fail;
using settings::SecureConfig;

constexpr std::size_t kKeyFiles = 1'024;  // Looked at in a folder.
constexpr std::size_t kUnknownTold = 1'024;

base::Result<base::crypto::VerifyKey> read_key(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(std::string pem, read_file(path));
  return base::crypto::VerifyKey::from_pem(pem);
}

// The files NODE.pub of a folder; that of this node may be among them.
base::Status add_keys_of(const std::filesystem::path& folder, const std::string& self,
                         federation::NodeKeys::Known& known) {
  if (folder.empty()) return {};
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++count > kKeyFiles)
      return fail(ErrorKind::kTooLarge, "cluster.peer_keys_path: too many files");
    std::string node_id = at->path().stem().string();
    if (at->path().extension() != ".pub" || node_id == self || known.contains(node_id)) continue;
    using std::filesystem::perms;
    auto mode = std::filesystem::status(at->path(), error).permissions();
    if (error || (mode & (perms::others_write | perms::group_write)) != perms::none) {
      return fail(ErrorKind::kInvalid, "cluster.peer_keys_path: " + node_id +
                                           ".pub must not be open to be written by others");
    }
    auto key = read_key(at->path());
    if (!key) return std::move(key).error().with_context("cluster.peer_keys_path: " + node_id);
    known.emplace(std::move(node_id), std::move(*key));
  }
  if (error) return fail(ErrorKind::kInvalid, "cluster.peer_keys_path: cannot be read");
  return {};
}

base::Result<federation::NodeKeys::Known> known_nodes(const settings::Cluster& cluster,
                                                      const std::string& self) {
  federation::NodeKeys::Known out;
  for (const auto& peer : cluster.peers) {
    std::optional<base::crypto::VerifyKey> key;
    if (!peer.proof_public_key_path.empty()) {
      auto read = read_key(peer.proof_public_key_path);
      if (!read) return std::move(read).error().with_context("cluster.peers: " + peer.node_id);
      key = std::move(*read);
    }
    out.insert_or_assign(peer.node_id, std::move(key));
  }
  RETURN_IF_ERROR(add_keys_of(cluster.peer_keys_path, self, out));
  return out;
}

base::Status check_address(const SecureConfig& config, const settings::Peer& peer) {
  ASSIGN_OR_RETURN(auto options, link_options(config));
  options.url = peer.endpoint;
  return client::check(options);
}

discovery::Plain plain_of(const SecureConfig& config) {
  bool by_tls = config.core.mode == Mode::kBasic || config.core.mode == Mode::kEnterprise;
  return config.security.allow_insecure_transit && !by_tls ? discovery::Plain::kLoopback
                                                           : discovery::Plain::kRefused;
}

std::optional<discovery::Self> self_of(const SecureConfig& config) {
  const auto& found = config.cluster.discovery_config;
  if (found.announce.empty()) return {};
  return discovery::Self{
      .node_id = config.core.node_id,
      .endpoint = found.announce,
      .lifetime = std::chrono::duration_cast<std::chrono::seconds>(found.lifetime)};
}

struct Method {
  const char* name = "";
  std::shared_ptr<discovery::Source> source;
  std::shared_ptr<discovery::Announcer> announcer;  ///< Null: nothing is announced.
};

template <class Registry, class Options>
Method method_of(const char* name, std::shared_ptr<discovery::RegistryClient> client,
                 Options options) {
  bool announces = options.self.has_value();
  auto registry = std::make_shared<Registry>(std::move(client), std::move(options));
  return {name, registry, announces ? registry : nullptr};
}

base::Result<Method> method_of(const SecureConfig& config) {
  const auto& found = config.cluster.discovery_config;
  auto plain = plain_of(config);
  if (config.cluster.discovery_method == settings::Discovery::kDns) {
    discovery::DnsOptions options{.name = found.name, .server = {}, .plain = plain};
    if (!found.endpoint.empty()) {
      ASSIGN_OR_RETURN(options.server, discovery::name_server_of(found.endpoint));
    }
    return Method{"dns", std::make_shared<discovery::Dns>(std::move(options)), nullptr};
  }
  ASSIGN_OR_RETURN(auto client,
                   discovery::RegistryClient::create(found.endpoint, found.ca_cert_path));
  if (config.cluster.discovery_method == settings::Discovery::kConsul) {
    return method_of<discovery::Consul>(
        "consul", std::move(client),
        discovery::ConsulOptions{found.name, found.token, plain, self_of(config)});
  }
  return method_of<discovery::Etcd>(
      "etcd", std::move(client),
      discovery::EtcdOptions{found.prefix, found.user, found.token, plain, self_of(config)});
}

}  // namespace

base::Result<std::shared_ptr<federation::NodeKeys>> node_keys(const SecureConfig& config) {
  if (!is_node(config)) return std::shared_ptr<federation::NodeKeys>();
  ASSIGN_OR_RETURN(auto key, node_key(config));
  federation::OwnKeys own{.node_id = config.core.node_id,
                          .key = std::move(key),
                          .secret = config.core.secret_key,
                          .salt = config.core.kdf_salt};
  ASSIGN_OR_RETURN(auto keys, federation::NodeKeys::create(std::move(own)));
  return std::shared_ptr<federation::NodeKeys>(std::move(keys));
}

base::Result<std::unique_ptr<PeerBook>> PeerBook::create(const SecureConfig& config,
                                                         std::shared_ptr<federation::NodeKeys> keys,
                                                         federation::PeerParts parts) {
  ASSIGN_OR_RETURN(auto options, link_options(config));
  options.session.cluster = config.cluster.name;
  return std::unique_ptr<PeerBook>(
      new PeerBook(std::move(keys), std::move(parts), std::move(options)));
}

base::Status PeerBook::configure(const SecureConfig& config) {
  discovery::Nodes fixed;
  for (const auto& peer : config.cluster.peers) {
    if (peer.endpoint.empty()) continue;
    RETURN_IF_ERROR(check_address(config, peer));
    fixed[peer.node_id].push_back({peer.endpoint, {}});
  }
  std::lock_guard lock(mutex_);
  ASSIGN_OR_RETURN(auto known, known_nodes(config.cluster, keys_->node_id()));
  RETURN_IF_ERROR(keys_->put(std::move(known)));
  cluster_ = config.cluster;
  fixed_ = std::move(fixed);
  apply();
  return {};
}

base::Status PeerBook::add(const SecureConfig& config, const settings::Peer& peer) {
  if (!peer.endpoint.empty()) RETURN_IF_ERROR(check_address(config, peer));
  std::optional<base::crypto::VerifyKey> key;
  if (!peer.proof_public_key_path.empty()) {
    auto read = read_key(peer.proof_public_key_path);
    if (!read) return std::move(read).error().with_context("cluster.peers: " + peer.node_id);
    key = std::move(*read);
  }
  std::lock_guard lock(mutex_);
  auto added = keys_->add(peer.node_id, std::move(key));
  if (!added) return std::move(added).error().with_context("cluster.peers: " + peer.node_id);
  if (!peer.endpoint.empty()) added_[peer.node_id].push_back({peer.endpoint, {}});
  apply();
  return {};
}

// A node may have come whose key was put into the folder before it.
base::Status PeerBook::read_again() {
  ASSIGN_OR_RETURN(auto known, known_nodes(cluster_, keys_->node_id()));
  return keys_->put(std::move(known));
}

void PeerBook::report_unknown(const std::string& node_id) {
  if (unknown_.size() > kUnknownTold) unknown_.clear();
  if (!unknown_.insert(node_id).second) return;
  log_.warning("discovery: a node whose key is not known is not called", {{"node", node_id}});
}

void PeerBook::found(const discovery::Nodes& nodes) {
  std::lock_guard lock(mutex_);
  found_ = nodes;
  found_.erase(keys_->node_id());
  bool strangers =
      std::ranges::any_of(found_, [this](const auto& one) { return !keys_->knows(one.first); });
  if (strangers && !cluster_.peer_keys_path.empty()) {
    if (auto read = read_again(); !read) {
      log_.warning("discovery: the keys of nodes cannot be read",
                   {{"reason", read.error().message()}});
    }
  }
  apply();
}

void PeerBook::apply() {
  discovery::Nodes called = fixed_;
  called.insert(added_.begin(), added_.end());
  for (const auto& [node_id, ways] : found_) {
    if (keys_->knows(node_id)) {
      called.try_emplace(node_id, ways);
    } else {
      report_unknown(node_id);
    }
  }
  peers_.call(called);
}

base::Result<std::unique_ptr<discovery::Discovery>> start_discovery(const SecureConfig& config,
                                                                    discovery::Parts parts,
                                                                    PeerBook& book) {
  using Started = std::unique_ptr<discovery::Discovery>;
  if (config.cluster.discovery_method == settings::Discovery::kStatic) return Started();
  auto method = method_of(config);
  if (!method) return std::move(method).error().with_context("cluster.discovery_config.endpoint");
  const auto& found = config.cluster.discovery_config;
  auto time = [](settings::Duration value) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(value);
  };
  discovery::Options options{.method = method->name,
                             .interval = time(found.interval),
                             .keep = time(found.keep),
                             .lifetime = time(found.lifetime)};
  return std::make_unique<discovery::Discovery>(
      std::move(options), std::move(method->source), std::move(method->announcer), std::move(parts),
      [&book](const discovery::Nodes& nodes) { book.found(nodes); });
}

}  // namespace tool::app
