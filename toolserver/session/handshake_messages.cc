#include "toolserver/session/handshake_messages.h"

#include <utility>

#include "base/crypto/encoding.h"
#include "toolserver/session/payload_reader.h"

namespace tool::session {
namespace {

using base::crypto::to_base64url;
using base::json::Array;
using base::json::Object;

constexpr std::size_t kMaxVersions = 16;
constexpr std::size_t kMaxSuites = 8;
constexpr std::size_t kMaxGroups = 8;
constexpr std::size_t kMaxChannels = 4;
constexpr std::size_t kMaxProofs = 4;
constexpr std::size_t kMaxName = 64;    // Of a suite, group, channel, mode or method.
constexpr std::size_t kMaxShare = 512;  // Bytes; far above the groups of today.
constexpr std::size_t kMaxId = 256;     // Of a node, cluster or principal.
constexpr std::size_t kMaxToken = 8192;
constexpr std::size_t kMaxScopes = 256;
constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

boost::json::string_view text(std::string_view view) { return {view.data(), view.size()}; }

Array array_of(const std::vector<std::string>& texts) {
  Array out;
  for (const auto& one : texts) out.emplace_back(one);
  return out;
}

void read_versions(PayloadReader& reader, std::vector<Version>& out) {
  for (const auto& one : reader.texts("versions", 1, kMaxVersions, kMaxName)) {
    auto version = parse_version(one);
    if (!version) return reader.fail("versions", "must be texts of major.minor");
    out.push_back(*version);
  }
}

void read_shares(PayloadReader& reader, std::map<std::string, std::string, std::less<>>& out) {
  const Object* shares = reader.object("eph_c");
  if (shares == nullptr) return;
  if (shares->size() > kMaxGroups) return reader.fail("eph_c", "must have at most 8 members");
  for (const auto& member : *shares) {
    const auto* share = member.value().if_string();
    auto bytes = share == nullptr
                     ? base::fail(base::ErrorKind::kInvalid, "")
                     : base::crypto::from_base64url({share->data(), share->size()}, kMaxShare);
    if (!bytes || member.key().size() > kMaxName) {
      return reader.fail("eph_c", "must hold base64url of at most 512 bytes for each group");
    }
    out.emplace(std::string(member.key()), std::move(*bytes));
  }
}

}  // namespace

Outcome<Hello> read_hello(const Object& payload) {
  PayloadReader reader(payload, "p");
  Hello hello;
  read_versions(reader, hello.versions);
  hello.suites = reader.texts("suites", 1, kMaxSuites, kMaxName);
  hello.nonce = reader.bytes("nonce_c", kNonceBytes);
  read_shares(reader, hello.shares);
  hello.channels = reader.texts("channels", 1, kMaxChannels, kMaxName);
  hello.proofs = reader.texts("proofs", 1, kMaxProofs, kMaxName);
  hello.want_mode = reader.text("want_mode", kMaxName);
  if (const Object* client = reader.object("client")) {
    PayloadReader inner(*client, "p.client");
    hello.client_name = inner.words("name", kMaxName);
    hello.client_version = inner.words("version", kMaxName);
    if (inner.fault() && !reader.fault()) return *inner.fault();
  }
  if (reader.fault()) return *reader.fault();
  return hello;
}

Outcome<ShownProof> read_proof(const Object& payload) {
  PayloadReader reader(payload, "p");
  ShownProof shown;
  if (reader.has("node_key")) shown.node_key = reader.ed25519_key("node_key");
  const Object* proof = reader.object("proof");
  if (reader.fault()) return *reader.fault();
  PayloadReader inner(*proof, "p.proof");
  auto kind = inner.text("kind", kMaxName);
  if (kind == name(ProofKind::kKey)) {
    shown.kind = ProofKind::kKey;
    shown.value = inner.bytes("v", kSignatureBytes);
  } else if (kind == name(ProofKind::kSecret)) {
    shown.kind = ProofKind::kSecret;
    shown.value = inner.bytes("v", kDigestBytes);
  } else if (kind != name(ProofKind::kNone)) {
    inner.fail("kind", "must be ed25519, hmac or none");
  }
  if (inner.fault()) return *inner.fault();
  return shown;
}

Outcome<Welcome> read_welcome(const Object& payload) {
  PayloadReader reader(payload, "p");
  Welcome welcome;
  if (auto version = parse_version(reader.text("version", kMaxName))) {
    welcome.version = *version;
  } else {
    reader.fail("version", "must be major.minor");
  }
  welcome.mode = reader.text("mode", kMaxName);
  welcome.suite = reader.text("suite", kMaxName);
  welcome.nonce = reader.bytes("nonce_s", kNonceBytes);
  auto share = base::crypto::from_base64url(reader.text("eph_s", kMaxShare * 2), kMaxShare);
  if (!share || share->empty()) reader.fail("eph_s", "must be base64url of 1 to 512 bytes");
  if (share) welcome.share = std::move(*share);
  welcome.node_id = reader.text("node_id", kMaxId);
  welcome.cluster = reader.text("cluster", kMaxId);
  welcome.methods = reader.texts("auth", 1, kMaxSuites, kMaxName);
  welcome.channel = reader.text("channel", kMaxName);
  if (const Object* limits = reader.object("limits")) {
    PayloadReader inner(*limits, "p.limits");
    welcome.limits.message_bytes = static_cast<std::uint64_t>(inner.integer("message_bytes", 1));
    welcome.limits.in_flight = static_cast<std::uint64_t>(inner.integer("in_flight", 1));
    welcome.limits.deadline = std::chrono::milliseconds(inner.integer("deadline_ms", 1));
    welcome.limits.idle = std::chrono::milliseconds(inner.integer("idle_ms", 1));
    if (inner.fault() && !reader.fault()) return *inner.fault();
  }
  auto proof = read_proof(payload);
  if (!proof && !reader.fault()) return std::move(proof).error();
  if (proof) welcome.proof = std::move(*proof);
  if (reader.fault()) return *reader.fault();
  return welcome;
}

Outcome<Auth> read_credential(const Object& payload) {
  PayloadReader reader(payload, "p");
  Auth auth;
  auth.method = reader.text("method", kMaxName);
  auth.credential = base::Secret(reader.text("credential", kMaxToken));
  const Object* holder = reader.has("holder") ? reader.object("holder") : nullptr;
  if (reader.fault()) return *reader.fault();
  if (holder == nullptr) return auth;
  auto proof = read_holder(*holder);
  if (!proof) return std::move(proof).error();
  auth.holder = std::move(*proof);
  return auth;
}

Outcome<Auth> read_auth(const Object& payload) {
  auto auth = read_credential(payload);
  if (!auth) return auth;
  PayloadReader reader(payload, "p");
  if (reader.has("session_key")) auth->session_key = reader.ed25519_key("session_key");
  auth->confirm = reader.bytes("confirm", kDigestBytes);
  if (reader.fault()) return *reader.fault();
  return auth;
}

Outcome<Ready> read_ready(const Object& payload) {
  PayloadReader reader(payload, "p");
  Ready ready;
  auto id = Ulid::parse(reader.text("session_id", kMaxName));
  if (id) {
    ready.session_id = *id;
  } else {
    reader.fail("session_id", "must be a ULID");
  }
  ready.session_token = reader.text("session_token", kMaxToken);
  ready.scopes = reader.texts("scopes", 0, kMaxScopes, kMaxToken);
  ready.expires_at = WireTime(std::chrono::milliseconds(reader.time("expires_at")));
  ready.confirm = reader.bytes("confirm", kDigestBytes);
  if (const Object* principal = reader.object("principal")) {
    PayloadReader inner(*principal, "p.principal");
    ready.subject = inner.text("sub", kMaxToken);
    ready.issuer = inner.text("iss", kMaxToken);
    if (inner.fault() && !reader.fault()) return *inner.fault();
  }
  if (reader.fault()) return *reader.fault();
  return ready;
}

Object write_payload(const Hello& hello) {
  Array versions;
  for (Version version : hello.versions) versions.emplace_back(to_string(version));
  Object shares;
  for (const auto& [group, share] : hello.shares) shares.emplace(text(group), to_base64url(share));
  return {{"versions", std::move(versions)},
          {"suites", array_of(hello.suites)},
          {"nonce_c", to_base64url(hello.nonce)},
          {"eph_c", std::move(shares)},
          {"channels", array_of(hello.channels)},
          {"proofs", array_of(hello.proofs)},
          {"client", {{"name", hello.client_name}, {"version", hello.client_version}}},
          {"want_mode", hello.want_mode}};
}

Object write_payload(const Welcome& welcome) {
  Object limits{{"message_bytes", welcome.limits.message_bytes},
                {"in_flight", welcome.limits.in_flight},
                {"deadline_ms", welcome.limits.deadline.count()},
                {"idle_ms", welcome.limits.idle.count()}};
  Object out{{"version", to_string(welcome.version)},
             {"mode", welcome.mode},
             {"suite", welcome.suite},
             {"nonce_s", to_base64url(welcome.nonce)},
             {"eph_s", to_base64url(welcome.share)},
             {"node_id", welcome.node_id},
             {"cluster", welcome.cluster},
             {"auth", array_of(welcome.methods)},
             {"limits", std::move(limits)},
             {"channel", welcome.channel}};
  if (!welcome.proof.node_key.empty()) {
    out["node_key"] = {
        {"crv", "Ed25519"}, {"kty", "OKP"}, {"x", to_base64url(welcome.proof.node_key)}};
  }
  return out;
}

Object write_payload(const Ready& ready) {
  return {{"session_id", text(ready.session_id.text())},
          {"session_token", ready.session_token},
          {"principal", {{"sub", ready.subject}, {"iss", ready.issuer}}},
          {"scopes", array_of(ready.scopes)},
          {"expires_at", ready.expires_at.time_since_epoch().count()}};
}

Outcome<std::string> read_b64(const Object& payload, std::string_view name, std::size_t bytes) {
  PayloadReader reader(payload, "p");
  auto out = reader.bytes(name, bytes);
  if (reader.fault()) return *reader.fault();
  return out;
}

}  // namespace tool::session
