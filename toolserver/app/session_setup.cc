#include "toolserver/app/session_setup.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/crypto/signing_key.h"
#include "base/crypto/verify_key.h"
#include "toolserver/app/api_keys_file.h"
#include "toolserver/app/caller_files.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/tokens.h"
#include "toolserver/settings/text_rules.h"

namespace tool::app {
namespace {

using base::ErrorKind;
using base::fail;
using settings::SecureConfig;

template <class To>
To to(settings::Duration duration) {
  return std::chrono::duration_cast<To>(duration);
}

// The methods of the mode for which the configuration has what they need.
std::vector<Method> methods_of(const SecureConfig& config) {
  std::vector<Method> methods;
  auto add = [&](Method method, bool possible) {
    if (possible && session::fits(method, config.core.mode)) methods.push_back(method);
  };
  add(Method::kApiKey, !config.core.api_key.empty());
  add(Method::kJwt, true);
  add(Method::kOauth2, true);
  add(Method::kMtls, config.server.client_certificate != settings::ClientCertificate::kNone &&
                         (!config.security.certificate_scopes.empty() ||
                          !config.security.certificate_scopes_file.empty()));
  add(Method::kNode, is_node(config));
  add(Method::kSession, true);
  return methods;
}

base::Result<std::vector<session::Suite>> suites_of(const SecureConfig& config) {
  if (config.core.mode != Mode::kEncrypted) return std::vector{session::Suite::kNone};
  std::vector<session::Suite> suites;
  for (const auto& text : config.crypto.suites) {
    auto suite = session::suite_of(text);
    if (!suite || !session::has_records(*suite)) {
      return fail(ErrorKind::kInvalid, fmt::format("crypto.suites: no suite named {}", text));
    }
    suites.push_back(*suite);
  }
  return suites;
}

session::Secrets secrets_of(const SecureConfig& config) {
  return {config.core.secret_key, config.core.api_key, config.core.kdf_salt,
          config.core.secret_key_previous, config.core.api_key_previous};
}

session::RekeyLimits rekey_limits(const SecureConfig& config) {
  return {config.crypto.rekey_records, config.crypto.rekey_bytes};
}

base::Result<Scopes> scopes_of(const std::vector<std::string>& list) {
  return Scopes::parse(fmt::format("{}", fmt::join(list, " ")));
}

base::Result<base::jose::Signer> rs256_signer(const SecureConfig& config) {
  ASSIGN_OR_RETURN(std::string pem, read_file(config.security.jwt_private_key_path));
  auto key = base::crypto::SigningKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("security.jwt_private_key_path");
  return base::jose::Signer::with_key(base::jose::Algorithm::kRs256, std::move(*key));
}

base::Result<base::jose::Verifier> rs256_verifier(const std::filesystem::path& path,
                                                  std::string_view setting) {
  ASSIGN_OR_RETURN(std::string pem, read_file(path));
  auto key = base::crypto::VerifyKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context(setting);
  return base::jose::Verifier::with_key(base::jose::Algorithm::kRs256, std::move(*key));
}

// A node that only verifies holds the issuer's public key, whatever signs its
// own session tokens. Source: specification, section 5.2, rule 2.
base::Result<base::jose::Verifier> client_token_verifier(const SecureConfig& config) {
  const auto& security = config.security;
  if (!security.federation_jwt_public_key_path.empty()) {
    return rs256_verifier(security.federation_jwt_public_key_path,
                          "security.federation_jwt_public_key_path");
  }
  ASSIGN_OR_RETURN(auto signer, client_signer(config));
  return signer.verifier();
}

base::Result<transport::AccessTokens> access_tokens(const SecureConfig& config) {
  transport::AccessTokens tokens;
  tokens.rules = session::access_token_rules(config.oauth2.issuer, config.oauth2.audience,
                                             to<std::chrono::seconds>(config.oauth2.leeway));
  tokens.keys.url = config.oauth2.jwks_url;
  tokens.keys.ca_file = config.oauth2.ca_cert_path;
  tokens.roles.claims = config.oauth2.role_claims;
  ASSIGN_OR_RETURN(tokens.roles.scopes, read_role_scopes(config.oauth2.role_scopes_file));
  if (!config.oauth2.local_public_key_path.empty()) {
    ASSIGN_OR_RETURN(tokens.key, rs256_verifier(config.oauth2.local_public_key_path,
                                                "oauth2.local_public_key_path"));
  }
  return tokens;
}

// Thumbprints; of a file that of its key.
base::Result<std::vector<std::string>> server_keys(const SecureConfig& config) {
  std::vector<std::string> keys;
  for (const auto& text : config.security.server_keys) {
    if (settings::is_thumbprint(text)) {
      keys.push_back(text);
      continue;
    }
    ASSIGN_OR_RETURN(std::string pem, read_file(text));
    auto key = base::crypto::VerifyKey::from_pem(pem);
    if (!key || key->type() != base::crypto::KeyType::kEd25519) {
      return fail(ErrorKind::kInvalid,
                  "security.server_keys: must name Ed25519 public keys in PEM");
    }
    keys.push_back(key->thumbprint());
  }
  return keys;
}

void set_credential(const SecureConfig& config, client::ClientOptions& options) {
  auto& session = options.session;
  if (config.core.mode == Mode::kEnterprise) {
    session.method = Method::kOauth2;
    base::jose::ClientCredentialsOptions provider;
    provider.token_url = config.oauth2.token_url;
    provider.client_id = config.oauth2.client_id;
    provider.client_secret = config.oauth2.client_secret;
    provider.scope = config.oauth2.scope;
    provider.resource = config.oauth2.audience;
    provider.ca_file = config.oauth2.ca_cert_path;
    options.provider = std::move(provider);
  } else if (!config.security.client_token.empty()) {
    session.method = Method::kJwt;
    session.token = config.security.client_token;
  } else if (!config.core.api_key.empty()) {
    session.method = Method::kApiKey;
  } else {
    session.method = Method::kMtls;
  }
}

}  // namespace

base::Result<std::string> read_file(const std::filesystem::path& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  text.resize(most + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || text.empty()) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: cannot be read", path.string()));
  }
  if (text.size() > most) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: over {} KiB", path.string(), most >> 10));
  }
  return text;
}

base::Result<std::optional<base::crypto::SigningKey>> node_key(const SecureConfig& config) {
  const auto& path = config.security.proof_signing_key_path;
  std::optional<base::crypto::SigningKey> out;
  if (path.empty()) return out;
  ASSIGN_OR_RETURN(std::string pem, read_file(path));
  auto key = base::crypto::SigningKey::from_pem(pem);
  if (!key) return std::move(key).error().with_context("security.proof_signing_key_path");
  out = std::move(*key);
  return out;
}

base::Result<session::ServerConfig> server_config(const SecureConfig& config) {
  using std::chrono::milliseconds, std::chrono::seconds;
  session::ServerConfig out;
  out.node_id = config.core.node_id;
  out.cluster = config.cluster.name;
  out.mode = config.core.mode;
  ASSIGN_OR_RETURN(out.suites, suites_of(config));
  out.methods = methods_of(config);
  out.secrets = secrets_of(config);
  ASSIGN_OR_RETURN(out.node_key, node_key(config));
  // One of RSA signs what is forwarded, and no handshake.
  if (out.node_key && out.node_key->type() != base::crypto::KeyType::kEd25519) out.node_key.reset();
  out.answer_bytes = config.limits.send_queue_bytes;
  out.limits = {config.limits.message_bytes, config.limits.in_flight,
                to<milliseconds>(config.limits.deadline),
                to<milliseconds>(config.server.idle_timeout)};
  out.handshake_bytes = config.limits.handshake_bytes;
  out.times = {to<milliseconds>(config.server.hello_timeout),
               to<milliseconds>(config.server.auth_timeout),
               to<seconds>(config.security.session_lifetime),
               to<seconds>(config.security.session_token_lifetime)};
  out.rekey = rekey_limits(config);
  out.rekey_interval = to<seconds>(config.crypto.rekey_interval);
  return out;
}

base::Result<base::jose::Signer> session_signer(const SecureConfig& config) {
  if (config.security.jwt_algorithm == settings::JwtAlgorithm::kRs256) return rs256_signer(config);
  return session::session_token_signer(config.core.jwt_secret, config.core.kdf_salt);
}

base::Result<base::jose::Signer> client_signer(const SecureConfig& config) {
  if (config.security.jwt_algorithm == settings::JwtAlgorithm::kRs256) return rs256_signer(config);
  if (!config.security.federation_jwt_public_key_path.empty()) {
    return fail(ErrorKind::kInvalid,
                "security.jwt_private_key_path: missing; this node checks the client tokens of "
                "another one, and mints none");
  }
  return session::client_token_signer(config.core.jwt_secret, config.core.kdf_salt);
}

std::string client_token_issuer(const SecureConfig& config) {
  return config.security.federation_issuer.empty() ? config.core.node_id
                                                   : config.security.federation_issuer;
}

std::string client_token_audience(const SecureConfig& config) {
  return config.security.federation_audience.empty() ? config.cluster.name
                                                     : config.security.federation_audience;
}

base::Result<transport::CredentialRules> credential_rules(const SecureConfig& config) {
  transport::CredentialRules rules;
  rules.node_id = config.core.node_id;
  rules.api_key_life = to<std::chrono::seconds>(config.security.session_lifetime);
  ASSIGN_OR_RETURN(rules.certificate_scopes, scopes_of(config.security.certificate_scopes));
  ASSIGN_OR_RETURN(rules.subject_scopes,
                   read_subject_scopes(config.security.certificate_scopes_file));
  ASSIGN_OR_RETURN(rules.denied, read_deny_list(config.security.deny_file));
  ASSIGN_OR_RETURN(rules.node_scopes, scopes_of(config.cluster.peer_scopes));
  ASSIGN_OR_RETURN(rules.scopes_of_nodes, read_subject_scopes(config.cluster.peer_scopes_file));
  rules.unbound = config.security.require_bound_tokens ? session::Unbound::kRefused
                                                       : session::Unbound::kAccepted;
  if (config.core.mode == Mode::kEnterprise) {
    ASSIGN_OR_RETURN(rules.access_tokens, access_tokens(config));
    return rules;
  }
  rules.api_key = config.core.api_key;
  rules.api_key_previous = config.core.api_key_previous;
  ASSIGN_OR_RETURN(rules.api_keys, read_api_keys(config.security.api_keys_file));
  ASSIGN_OR_RETURN(rules.api_key_scopes, scopes_of(config.security.api_key_scopes));
  ASSIGN_OR_RETURN(auto verifier, client_token_verifier(config));
  rules.client_tokens.emplace(client_token_issuer(config), client_token_audience(config),
                              std::move(verifier));
  if (!config.core.jwt_secret_previous.empty()) {
    ASSIGN_OR_RETURN(auto before, session::client_token_signer(config.core.jwt_secret_previous,
                                                               config.core.kdf_salt));
    rules.client_tokens_previous.emplace(client_token_issuer(config), client_token_audience(config),
                                         before.verifier());
  }
  return rules;
}

bool is_node(const SecureConfig& config) {
  return !config.cluster.peers.empty() || !config.security.proof_signing_key_path.empty() ||
         !config.cluster.peer_keys_path.empty() ||
         config.cluster.discovery_method != settings::Discovery::kStatic;
}

base::Result<client::ClientOptions> link_options(const SecureConfig& config) {
  client::ClientOptions options;
  options.path = config.server.path;
  options.plain = config.security.allow_insecure_transit ? client::PlainTransport::kLoopbackOnly
                                                         : client::PlainTransport::kRefused;
  options.ca_file = config.security.ca_cert_path;
  options.certificate_file = config.security.client_cert_path;
  options.key_file = config.security.client_key_path;
  auto& session = options.session;
  session.mode = config.core.mode;
  ASSIGN_OR_RETURN(session.suites, suites_of(config));
  session.secrets = secrets_of(config);
  session.window = to<std::chrono::seconds>(config.security.replay_window);
  session.rekey = rekey_limits(config);
  session.rekey_interval = to<std::chrono::seconds>(config.crypto.rekey_interval);
  return options;
}

base::Result<client::ClientOptions> client_options(const SecureConfig& config) {
  ASSIGN_OR_RETURN(auto options, link_options(config));
  options.url = config.core.server_url;
  options.holder_key_file = config.security.holder_key_path;
  auto& session = options.session;
  ASSIGN_OR_RETURN(session.server_keys, server_keys(config));
  if (!config.security.jwt_public_key_path.empty()) {
    ASSIGN_OR_RETURN(session.session_tokens, rs256_verifier(config.security.jwt_public_key_path,
                                                            "security.jwt_public_key_path"));
  }
  set_credential(config, options);
  if (session.method == Method::kMtls && options.certificate_file.empty()) {
    return fail(ErrorKind::kInvalid,
                "security.client_token: must be set, or security.client_cert_path");
  }
  RETURN_IF_ERROR(client::check(options));
  return options;
}

}  // namespace tool::app
