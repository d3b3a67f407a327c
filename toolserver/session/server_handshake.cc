#include "toolserver/session/server_handshake.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/crypto/encoding.h"
#include "base/crypto/verify_key.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/random_bytes.h"
#include "toolserver/session/transcript.h"

namespace tool::session {
namespace {

using base::crypto::view;

Fault internal(const base::Error& error) {
  return {Code::kInternal, "the handshake cannot go on", std::nullopt, error.message()};
}

// Who proves itself by its key is believed by nothing that others have as well.
SecretBytes psk_for(const ServerContext& context, ProofKind kind) {
  return kind == ProofKind::kSecret ? SecretBytes::copy_of(context.psk().reveal())
                                    : make_psk({}, {});
}

Digest confirmation(const SecretBytes& key, const Digest& transcript) {
  return base::crypto::HmacKey(key.reveal()).mac(view(transcript));
}

}  // namespace

ServerHandshake::ServerHandshake(std::shared_ptr<const ServerContext> context, Channel channel)
    : context_(std::move(context)), channel_(std::move(channel)) {}

Outcome<ServerHandshake::Chosen> ServerHandshake::choose(const Hello& hello) const {
  const ServerConfig& config = context_->config();
  auto version = negotiate(config.versions, hello.versions);
  if (!version) return refuse(Code::kVersion, "no version in common");
  if (hello.want_mode != name(config.mode)) {
    return refuse(Code::kAuth, "the server has another mode");
  }
  auto proof = choose_proof(context_->proof_means(), hello.proofs);
  if (!proof) return refuse(Code::kShape, "p.proofs: none in common");
  Chosen chosen{.version = *version, .proof = *proof};
  auto usable = [&](Suite suite) {
    if (!has_records(suite) && !protects(channel_)) return false;
    return std::ranges::count(hello.suites, name(suite)) > 0 &&
           hello.shares.contains(traits(suite).group_name);
  };
  auto suite = std::ranges::find_if(config.suites, usable);
  if (suite == config.suites.end()) return refuse(Code::kShape, "p.suites: none in common");
  chosen.suite = *suite;
  chosen.share_c = hello.shares.find(traits(*suite).group_name)->second;
  auto binding = choose_binding(channel_, config.mode, hello.channels);
  if (!binding) return refuse(Code::kShape, "p.channels: none in common");
  chosen.channel = binding->name;
  chosen.binding = std::move(binding->bytes);
  return chosen;
}

Welcome ServerHandshake::make_welcome(const Chosen& chosen, std::string share_s) const {
  const ServerConfig& config = context_->config();
  Welcome welcome;
  welcome.version = chosen.version;
  welcome.mode = name(config.mode);
  welcome.suite = name(chosen.suite);
  welcome.nonce = random_bytes(context_->random(), kNonceBytes);
  welcome.share = std::move(share_s);
  welcome.node_id = config.node_id;
  welcome.cluster = config.cluster;
  for (Method method : config.methods) welcome.methods.emplace_back(name(method));
  welcome.limits = config.limits;
  welcome.channel = chosen.channel;
  if (chosen.proof == ProofKind::kKey) welcome.proof.node_key = context_->node_key();
  return welcome;
}

Outcome<ServerHandshake::Welcomed> ServerHandshake::on_hello(std::string_view text,
                                                             const Envelope& envelope) {
  if (envelope.audience != "*") return refuse(Code::kReplay, "aud: must be * in hello");
  auto hello = read_hello(envelope.payload);
  if (!hello) return std::move(hello).error();
  if (parse_version(envelope.version) != std::ranges::max(hello->versions)) {
    return refuse(Code::kShape, "v: must be the highest of p.versions");
  }
  auto chosen = choose(*hello);
  if (!chosen) return std::move(chosen).error();

  auto key = base::crypto::EphemeralKey::generate(traits(chosen->suite).group, context_->random());
  std::string share_s = key.public_share();
  auto dh = std::move(key).agree(chosen->share_c);
  if (!dh) return refuse(Code::kShape, "p.eph_c: not a share of its group");

  Envelope welcome{.type = MessageType::kRes,
                   .id = envelope.id,
                   .op = envelope.op,
                   .time = wire_time(context_->now()),
                   .nonce = random_nonce(context_->random()),
                   .payload = write_payload(make_welcome(*chosen, std::move(share_s)))};
  auto welcome0 = canonical_without_sig(welcome);
  if (!welcome0) return internal(welcome0.error());
  th1_ = transcript_hello(text, *welcome0, chosen->binding);
  auto proof = prove(chosen->proof);
  if (!proof) return std::move(proof).error();
  welcome.payload["proof"] = std::move(*proof);
  auto written = write_envelope(welcome);
  if (!written) return internal(written.error());
  return Welcomed{
      std::move(*written),
      MessageLayer(Side::kServer, chosen->suite,
                   SessionKeys::first(th1_, *dh, psk_for(*context_, chosen->proof)), th1_)};
}

Outcome<base::json::Object> ServerHandshake::prove(ProofKind kind) const {
  std::string_view word = name(kind);
  base::json::Object proof{{"kind", boost::json::string_view(word.data(), word.size())}};
  if (kind == ProofKind::kSecret) {
    proof["v"] = base::crypto::to_base64url(view(server_proof(context_->psk(), th1_)));
  } else if (kind == ProofKind::kKey) {
    auto signature = sign_node_proof(*context_->config().node_key, th1_);
    if (!signature) return internal(signature.error());
    proof["v"] = base::crypto::to_base64url(*signature);
  }
  return proof;
}

Outcome<ServerHandshake::Presented> ServerHandshake::on_auth(Envelope auth,
                                                             const SessionKeys& keys) {
  auto read = read_auth(auth.payload);
  if (!read) return std::move(read).error();
  auth.payload.erase("confirm");
  auto auth0 = canonical_without_sig(auth);
  if (!auth0) return internal(auth0.error());
  th_auth_ = transcript_auth(th1_, *auth0);
  Digest wanted = confirmation(keys.key(KeyLabel::kConfirmC), th_auth_);
  if (!base::crypto::equal(view(wanted), read->confirm)) {
    return refuse(Code::kSignature, "the client does not confirm the handshake");
  }
  return check_presented(std::move(*read));
}

Outcome<ServerHandshake::Presented> ServerHandshake::on_refresh(
    const base::json::Object& payload) const {
  auto read = read_credential(payload);
  if (!read) return std::move(read).error();
  if (read->method == name(Method::kSession)) {
    return wrong_credential("a session token, which refreshes nothing");
  }
  return check_presented(std::move(*read));
}

Outcome<ServerHandshake::Presented> ServerHandshake::check_presented(Auth shown) const {
  auto method = method_of(shown.method);
  const auto& offered = context_->config().methods;
  if (!method || std::ranges::count(offered, *method) == 0) {
    return wrong_credential("a method that is not offered");
  }
  if (*method == Method::kMtls && !shown.credential.empty()) {
    return wrong_credential("mtls with a credential beside the certificate");
  }
  if (*method == Method::kSession && !shown.holder) {
    return wrong_credential("a session token without a proof of possession");
  }
  Presented presented{*method, std::move(shown.credential), {}, {}};
  if (!shown.session_key.empty()) {
    auto key = base::crypto::VerifyKey::from_ed25519(shown.session_key);
    if (!key) return internal(key.error());
    presented.session_key = key->thumbprint();
  }
  if (!shown.holder) return presented;
  if (!is_token(*method) && *method != Method::kSession) {
    return wrong_credential("a proof of possession without a token");
  }
  auto holder = verify_holder(*shown.holder, th1_, presented.credential.reveal());
  if (!holder) return std::move(holder).error();
  presented.holder = std::move(*holder);
  return presented;
}

Outcome<Digest> ServerHandshake::finish(Envelope& ready, const SessionKeys& keys) {
  auto ready0 = canonical_without_sig(ready);
  if (!ready0) return internal(ready0.error());
  Digest th2 = transcript_ready(th_auth_, *ready0);
  Digest confirm = confirmation(keys.key(KeyLabel::kConfirmS), th2);
  ready.payload["confirm"] = base::crypto::to_base64url(view(confirm));
  return th2;
}

}  // namespace tool::session
