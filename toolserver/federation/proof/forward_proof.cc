#include "toolserver/federation/proof/forward_proof.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/jose/jwt.h"
#include "base/json/fields.h"
#include "toolserver/model/details.h"
#include "toolserver/model/ulid.h"

namespace tool::federation {
namespace {

namespace json = base::json;
using base::jose::Claims;

constexpr std::size_t kTextBytes = 1024;
constexpr std::size_t kHashCharacters = 43;

boost::json::string_view text(std::string_view view) { return {view.data(), view.size()}; }

Fault broken(std::string what) {
  Fault fault = refuse(Code::kSignature, "the forwarding proof is not one");
  fault.detail = std::move(what);
  return fault;
}

// What a refusal of the token means here.
Fault fault_of(const base::Error& error) {
  namespace reason = base::jose::reason;
  Fault fault = broken(error.message());
  std::string_view why = error.reason();
  if (why == reason::kExpired || why == reason::kNotYetValid || why == reason::kLifetime) {
    fault = refuse(Code::kStale, "the forwarding proof is out of its time");
  } else if (why == reason::kIssuer || why == reason::kAudience) {
    fault = refuse(Code::kReplay, "the forwarding proof is of or for another node");
  }
  fault.detail = error.message();
  return fault;
}

// Claims one by one; the first that breaks its form is named.
class Reader {
 public:
  explicit Reader(const json::Object& claims) : claims_(claims) {}

  void read(std::string_view name, std::string& out, std::size_t most = kTextBytes) {
    const auto* value = claims_.if_contains(text(name));
    if (value == nullptr || !value->is_string() || value->get_string().size() > most) {
      return fail(name);
    }
    out = value->get_string();
  }
  void read(std::string_view name, std::int64_t& out, std::int64_t least, std::int64_t most) {
    const auto* value = claims_.if_contains(text(name));
    if (value == nullptr || !value->is_int64() || value->get_int64() < least ||
        value->get_int64() > most) {
      return fail(name);
    }
    out = value->get_int64();
  }
  void read(std::string_view name, std::vector<std::string>& out) {
    const auto* value = claims_.if_contains(text(name));
    if (value == nullptr || !value->is_array() || value->get_array().size() >= kMostHops) {
      return fail(name);
    }
    for (const auto& item : value->get_array()) {
      if (!item.is_string() || !base::jose::is_key_id(std::string(item.get_string()))) {
        return fail(name);
      }
      out.emplace_back(item.get_string());
    }
  }
  [[nodiscard]] bool has(std::string_view name) const { return claims_.contains(text(name)); }
  void fail(std::string_view name) {
    if (wrong_.empty()) wrong_ = name;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const json::Object& claims_;
  std::string wrong_;
};

Outcome<ForwardProof> read_claims(const Claims& claims) {
  ForwardProof out;
  out.issuer = claims.issuer();
  Reader reader(claims.all());
  reader.read("aud", out.audience);
  reader.read("sub", out.subject);
  reader.read("sub_iss", out.subject_issuer);
  reader.read("jti", out.id, Ulid::kChars);
  constexpr auto kLatest = std::numeric_limits<std::int64_t>::max();
  reader.read("iat", out.issued_at, 0, kLatest);
  reader.read("exp", out.expires_at, 0, kLatest);
  reader.read("rid", out.request, Ulid::kChars);
  reader.read("tool", out.tool);
  reader.read("args_h", out.args_hash);
  reader.read("scope", out.scope);
  std::int64_t hop = 0, most = 0;
  reader.read("hop", hop, 1, kMostHops);
  reader.read("max_hop", most, 1, kMostHops);
  reader.read("via", out.via);
  if (reader.has("prev")) reader.read("prev", out.previous, kHashCharacters);
  reader.read("sid", out.session, Ulid::kChars);
  if (const auto* details = claims.all().if_contains("details")) {
    auto tool = ToolId::parse(out.tool);
    if (!tool || !Details::parse_sets(*tool, *details)) return broken("claim details");
    out.details = details->get_array();
  }
  if (const auto* dry = claims.all().if_contains("dry")) {
    if (!dry->is_bool() || !dry->get_bool()) reader.fail("dry");
    out.dry_run = true;
  }
  if (!Ulid::parse(out.id)) reader.fail("jti");
  if (!Ulid::parse(out.request)) reader.fail("rid");
  if (!ToolId::parse(out.tool)) reader.fail("tool");
  if (!reader.wrong().empty()) return broken("claim " + reader.wrong());
  out.hop = static_cast<std::uint32_t>(hop);
  out.max_hops = static_cast<std::uint32_t>(most);
  // A step knows as many before it as there were, and names the last of them.
  if (out.via.size() + 1 != out.hop) return broken("claims hop and via");
  if (out.previous.empty() != out.via.empty()) return broken("claim prev");
  return out;
}

Outcome<ForwardProof> verify(const NodeKeys& keys, std::string_view token, std::string_view issuer,
                             std::string_view audience, base::WallTime now,
                             std::chrono::seconds leeway) {
  auto verifier = keys.verifier(issuer, audience);
  if (!verifier) return std::move(verifier).error();
  base::jose::Rules rules{
      .header = {.algorithm = verifier->algorithm(), .types = {std::string(kProofType)}},
      .issuer = std::string(issuer),
      .audience = std::string(audience),
      .required = {"sub", "jti", "iat"},
      .leeway = leeway,
      .max_lifetime = kProofLife};
  auto claims = base::jose::verify(token, *verifier, rules, now);
  if (!claims) return fault_of(claims.error());
  return read_claims(*claims);
}

}  // namespace

base::Result<std::string> sign_proof(const NodeKeys& keys, const ForwardProof& proof) {
  json::Object claims{{"iss", proof.issuer},      {"aud", proof.audience},
                      {"sub", proof.subject},     {"sub_iss", proof.subject_issuer},
                      {"jti", proof.id},          {"iat", proof.issued_at},
                      {"exp", proof.expires_at},  {"rid", proof.request},
                      {"tool", proof.tool},       {"args_h", proof.args_hash},
                      {"scope", proof.scope},     {"hop", proof.hop},
                      {"max_hop", proof.max_hops}};
  auto& via = claims["via"].emplace_array();
  for (const auto& node : proof.via) via.emplace_back(node);
  if (!proof.previous.empty()) claims["prev"] = proof.previous;
  claims["sid"] = proof.session;
  if (!proof.details.empty()) claims["details"] = proof.details;
  if (proof.dry_run) claims["dry"] = true;
  return base::jose::sign(keys.signer(proof.audience), kProofType, claims);
}

Outcome<ForwardProof> verify_proof(const NodeKeys& keys, std::string_view token,
                                   std::string_view issuer, std::string_view audience,
                                   base::WallTime now) {
  return verify(keys, token, issuer, audience, now, kProofLeeway);
}

Outcome<ForwardProof> verify_earlier(const NodeKeys& keys, std::string_view token,
                                     std::string_view issuer, std::string_view audience,
                                     base::WallTime now) {
  return verify(keys, token, issuer, audience, now, kEarlierLife);
}

base::Result<ToolId> far_id(std::string_view node, const ToolId& tool) {
  std::string name = tool.text();
  std::ranges::replace(name, '.', '_');
  return ToolId::parse(std::string(node) + '.' + name);
}

std::string proof_hash(std::string_view token) {
  return base::crypto::to_base64url(base::crypto::view(base::crypto::sha256(token)));
}

}  // namespace tool::federation
