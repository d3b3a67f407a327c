#include "toolserver/session/server_context.h"

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/json/json.h"
#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

constexpr std::size_t kMaxId = 256;

base::Error invalid(std::string message) {
  return base::fail(base::ErrorKind::kInvalid, std::move(message));
}

// Of an Ed25519 key, which says itself what its JWK is.
std::string raw_bytes(const base::crypto::VerifyKey& key) {
  auto jwk = base::json::parse(key.canonical_jwk());
  const auto& x = jwk->as_object().at("x").as_string();
  return base::crypto::from_base64url({x.data(), x.size()}, x.size()).value();
}

base::Status check_names(const ServerConfig& config) {
  for (const auto* name : {&config.node_id, &config.cluster}) {
    if (name->empty() || name->size() > kMaxId) {
      return invalid("node_id and cluster: must have 1 to 256 bytes");
    }
  }
  // A hello is for "*", before anybody's name is known.
  if (config.node_id == "*") return invalid("node_id: must not be *");
  return {};
}

base::Status check_offer(const ServerConfig& config) {
  if (config.versions.empty() || config.suites.empty() || config.methods.empty()) {
    return invalid("versions, suites and methods: at least one of each");
  }
  for (Suite suite : config.suites) {
    if (!fits(suite, config.mode)) {
      return invalid("suites: " + std::string(name(suite)) + " does not fit the mode");
    }
  }
  for (Method method : config.methods) {
    if (!fits(method, config.mode)) {
      return invalid("methods: " + std::string(name(method)) + " does not fit the mode");
    }
  }
  return {};
}

base::Status check_secrets(const ServerConfig& config) {
  bool has_secret = !handshake_secret(config.secrets, config.mode).empty();
  if (config.mode != Mode::kEnterprise && !has_secret && !config.node_key) {
    return invalid("secret_key: the mode needs one, or a node key");
  }
  if (config.node_key && config.node_key->type() != base::crypto::KeyType::kEd25519) {
    return invalid("node_key: must be an Ed25519 key");
  }
  if (std::ranges::count(config.methods, Method::kApiKey) > 0 && config.secrets.api_key.empty()) {
    return invalid("api_key: the method api_key needs one");
  }
  return {};
}

}  // namespace

const base::Secret& handshake_secret(const Secrets& secrets, Mode mode) {
  bool use_api_key = secrets.secret_key.empty() && mode == Mode::kSimple;
  return use_api_key ? secrets.api_key : secrets.secret_key;
}

const base::Secret& previous_handshake_secret(const Secrets& secrets, Mode mode) {
  bool use_api_key = secrets.secret_key.empty() && mode == Mode::kSimple;
  return use_api_key ? secrets.api_key_previous : secrets.secret_key_previous;
}

base::Result<std::shared_ptr<const ServerContext>> ServerContext::create(ServerConfig config,
                                                                         SessionTokens tokens,
                                                                         ReplayWindow& replay,
                                                                         const base::Clock& clock,
                                                                         base::Random& random) {
  RETURN_IF_ERROR(check_names(config));
  RETURN_IF_ERROR(check_offer(config));
  RETURN_IF_ERROR(check_secrets(config));
  return std::shared_ptr<const ServerContext>(
      new ServerContext(std::move(config), std::move(tokens), replay, clock, random));
}

ServerContext::ServerContext(ServerConfig config, SessionTokens tokens, ReplayWindow& replay,
                             const base::Clock& clock, base::Random& random)
    : config_(std::move(config)),
      tokens_(std::move(tokens)),
      replay_(replay),
      clock_(clock),
      random_(random),
      psk_(make_psk(handshake_secret(config_.secrets, config_.mode), config_.secrets.kdf_salt)),
      means_{.node_key = config_.node_key.has_value(),
             .secret = !handshake_secret(config_.secrets, config_.mode).empty(),
             .may_be_none = config_.mode == Mode::kEnterprise},
      node_key_(config_.node_key ? raw_bytes(config_.node_key->verify_key()) : std::string()) {}

}  // namespace tool::session
