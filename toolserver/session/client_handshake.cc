#include "toolserver/session/client_handshake.h"

#include <algorithm>
#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/random_bytes.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

using base::crypto::EphemeralKey;
using base::crypto::view;

Fault distrust(std::string message) { return refuse(Code::kSignature, std::move(message)); }

std::size_t slot_of(base::crypto::Group group) { return static_cast<std::size_t>(group); }

ProofTrust trust_of(const ClientConfig& config) {
  ProofTrust trust{.server_keys = config.server_keys,
                   .psks = {},
                   .may_be_none = config.mode == Mode::kEnterprise};
  const auto& secret = handshake_secret(config.secrets, config.mode);
  if (!trust.server_keys.empty() || secret.empty()) return trust;
  trust.psks.push_back(make_psk(secret, config.secrets.kdf_salt));
  const auto& before = previous_handshake_secret(config.secrets, config.mode);
  if (!before.empty()) trust.psks.push_back(make_psk(before, config.secrets.kdf_salt));
  return trust;
}

Outcome<std::string> canonical_of(const Envelope& envelope) {
  auto text = canonical_without_sig(envelope);
  if (!text) return refuse(Code::kShape, text.error().message());
  return std::move(*text);
}

}  // namespace

ClientHandshake::ClientHandshake(const ClientConfig& config, Channel channel, base::Random& random)
    : config_(config), channel_(std::move(channel)), random_(random), trust_(trust_of(config)) {}

Outcome<void> ClientHandshake::check_config() const {
  if (config_.versions.empty() || config_.suites.empty()) {
    return refuse(Code::kShape, "suites: at least one is needed");
  }
  for (Suite suite : config_.suites) {
    if (!fits(suite, config_.mode)) return refuse(Code::kShape, "suites: do not fit the mode");
    if (!has_records(suite) && !protects(channel_)) {
      return refuse(Code::kShape, "suites: NONE needs TLS or a loopback address");
    }
  }
  if (!fits(config_.method, config_.mode)) {
    return refuse(Code::kShape, "method: does not fit the mode");
  }
  bool knows_server = !trust_.server_keys.empty() || !trust_.psks.empty();
  if (!knows_server && (config_.mode != Mode::kEnterprise || !channel_.tls)) {
    return refuse(Code::kShape, "server_key: or secret_key is needed to know the server by");
  }
  if (config_.method == Method::kApiKey && config_.secrets.api_key.empty()) {
    return refuse(Code::kShape, "api_key: is not set");
  }
  bool needs_token = config_.method == Method::kJwt || config_.method == Method::kOauth2;
  bool has_token = !config_.token.empty() || !config_.former_session.empty();
  if (needs_token && !has_token) return refuse(Code::kShape, "token: is not set");
  if (config_.method == Method::kNode && !config_.node_credential) {
    return refuse(Code::kShape, "node_credential: is not set");
  }
  return {};
}

Outcome<std::string> ClientHandshake::start(Envelope& envelope) {
  if (auto good = check_config(); !good) return std::move(good).error();
  Hello hello;
  hello.versions = config_.versions;
  hello.nonce = random_bytes(random_, kNonceBytes);
  for (Suite suite : config_.suites) {
    hello.suites.emplace_back(name(suite));
    const SuiteTraits& offered = traits(suite);
    auto& key = keys_[slot_of(offered.group)];
    if (!key) key = EphemeralKey::generate(offered.group, random_);
    hello.shares[std::string(offered.group_name)] = key->public_share();
  }
  hello.channels.emplace_back(offered_binding(channel_, config_.mode).name);
  hello.proofs = offered_proofs(trust_);
  hello.client_name = config_.name;
  hello.client_version = config_.version;
  hello.want_mode = name(config_.mode);
  envelope.version = to_string(std::ranges::max(config_.versions));
  envelope.audience = "*";
  envelope.payload = write_payload(hello);
  auto text = canonical_of(envelope);
  if (text) hello_ = *text;
  return text;
}

// What the server chose must be what we asked for: everything else is a
// downgrade.
Outcome<Suite> ClientHandshake::check_choice() const {
  if (!covers(config_.versions, welcome_.version)) {
    return refuse(Code::kVersion, "the server chose a version that was not offered");
  }
  if (welcome_.mode != name(config_.mode)) {
    return refuse(Code::kAuth, "the server has another mode");
  }
  auto suite = suite_of(welcome_.suite);
  if (!suite || std::ranges::count(config_.suites, *suite) == 0) {
    return refuse(Code::kAuth, "the server chose a suite that was not offered");
  }
  if (!config_.node_id.empty() && welcome_.node_id != config_.node_id) {
    return distrust("the server is another node");
  }
  if (!config_.cluster.empty() && welcome_.cluster != config_.cluster) {
    return distrust("the server is of another cluster");
  }
  if (welcome_.channel != offered_binding(channel_, config_.mode).name) {
    return distrust("the server sees another transport than we do");
  }
  return *suite;
}

Outcome<void> ClientHandshake::check_proof() {
  auto proved = session::check_proof(welcome_.proof, trust_, th1_);
  if (!proved) return std::move(proved).error();
  psk_ = *proved ? std::move(trust_.psks[**proved]) : make_psk({}, {});
  previous_ = proved->value_or(0) > 0;
  return {};
}

Outcome<SecretBytes> ClientHandshake::agree(Suite suite) {
  auto dh = std::move(*keys_[slot_of(traits(suite).group)]).agree(welcome_.share);
  for (auto& key : keys_) key.reset();
  if (!dh) return refuse(Code::kShape, "p.eph_s: not a share of its group");
  return std::move(*dh);
}

Outcome<MessageLayer> ClientHandshake::on_welcome(const Envelope& envelope) {
  auto welcome = read_welcome(envelope.payload);
  if (!welcome) return std::move(welcome).error();
  welcome_ = std::move(*welcome);
  auto suite = check_choice();
  if (!suite) return std::move(suite).error();
  Envelope bare = envelope;
  bare.payload.erase("proof");
  auto welcome0 = canonical_of(bare);
  if (!welcome0) return std::move(welcome0).error();
  th1_ = transcript_hello(hello_, *welcome0, offered_binding(channel_, config_.mode).bytes);
  if (auto proved = check_proof(); !proved) return std::move(proved).error();
  auto dh = agree(*suite);
  if (!dh) return std::move(dh).error();
  return MessageLayer(Side::kClient, *suite, SessionKeys::first(th1_, *dh, psk_), th1_);
}

std::string ClientHandshake::credential() const {
  switch (config_.method) {
    case Method::kApiKey: {
      // In mode simple the API key can be the shared secret itself.
      bool before = previous_ && config_.secrets.secret_key.empty();
      return api_key_credential(before ? config_.secrets.api_key_previous : config_.secrets.api_key,
                                th1_);
    }
    case Method::kJwt:
    case Method::kOauth2: return config_.token.reveal();
    case Method::kMtls: return {};
    case Method::kNode: return config_.node_credential(th1_);
    case Method::kSession: return config_.former_session.reveal();
  }
  return {};
}

Outcome<base::json::Object> ClientHandshake::shown_credential() const {
  return shown(config_.method, credential());
}

Outcome<base::json::Object> ClientHandshake::shown(Method method,
                                                   std::string_view credential) const {
  std::string_view word = name(method);
  base::json::Object out{
      {"method", boost::json::string_view(word.data(), word.size())},
      {"credential", boost::json::string_view(credential.data(), credential.size())}};
  const auto& key = method == Method::kSession ? config_.session_key : config_.holder;
  if (!key || (!is_token(method) && method != Method::kSession)) return out;
  auto holder = make_holder(*key, th1_, credential);
  if (!holder) return refuse(Code::kShape, "holder: must be an Ed25519 key");
  out["holder"] = std::move(*holder);
  return out;
}

Outcome<void> ClientHandshake::make_auth(Envelope& auth, const SessionKeys& keys) {
  bool follows = !config_.former_session.empty();
  Method method = follows ? Method::kSession : config_.method;
  if (std::ranges::count(welcome_.methods, name(method)) == 0) {
    return refuse(Code::kAuth, "the server does not take our method");
  }
  auto made = follows ? shown(method, config_.former_session.reveal()) : shown_credential();
  if (!made) return std::move(made).error();
  auth.audience = welcome_.node_id;
  auth.payload = std::move(*made);
  if (config_.session_key) {
    auto jwk = base::json::parse(config_.session_key->verify_key().canonical_jwk());
    if (!jwk) return refuse(Code::kInternal, jwk.error().message());
    auth.payload["session_key"] = std::move(*jwk);
  }
  auto auth0 = canonical_of(auth);
  if (!auth0) return std::move(auth0).error();
  th_auth_ = transcript_auth(th1_, *auth0);
  base::crypto::HmacKey key(keys.key(KeyLabel::kConfirmC).reveal());
  Digest confirm = key.mac(view(th_auth_));
  auth.payload["confirm"] = base::crypto::to_base64url(view(confirm));
  return {};
}

Outcome<Ready> ClientHandshake::on_ready(const Envelope& envelope, const SessionKeys& keys) {
  auto ready = read_ready(envelope.payload);
  if (!ready) return std::move(ready).error();
  Envelope bare = envelope;
  bare.payload.erase("confirm");
  auto ready0 = canonical_of(bare);
  if (!ready0) return std::move(ready0).error();
  th2_ = transcript_ready(th_auth_, *ready0);
  base::crypto::HmacKey key(keys.key(KeyLabel::kConfirmS).reveal());
  Digest wanted = key.mac(view(th2_));
  if (!base::crypto::equal(view(wanted), ready->confirm)) {
    return distrust("the server does not confirm the handshake");
  }
  return std::move(*ready);
}

}  // namespace tool::session
