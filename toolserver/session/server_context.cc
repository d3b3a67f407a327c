#include "toolserver/session/server_context.h"

#include <algorithm>
#include <utility>

#include "toolserver/session/credentials.h"

namespace tool::session {
namespace {

constexpr std::size_t kMaxId = 256;

base::Error invalid(std::string message) {
  return base::fail(base::ErrorKind::kInvalid, std::move(message));
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
  if (config.mode != Mode::kEnterprise && handshake_secret(config.secrets, config.mode).empty()) {
    return invalid("secret_key: the mode needs one");
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
      psk_(make_psk(handshake_secret(config_.secrets, config_.mode), config_.secrets.kdf_salt)) {}

bool ServerContext::has_secret() const {
  return !handshake_secret(config_.secrets, config_.mode).empty();
}

}  // namespace tool::session
