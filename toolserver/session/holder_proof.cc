#include "toolserver/session/holder_proof.h"

#include <utility>

#include "base/crypto/encoding.h"
#include "base/crypto/verify_key.h"
#include "toolserver/session/credentials.h"
#include "toolserver/session/payload_reader.h"

namespace tool::session {
namespace {

using base::crypto::SignatureAlgorithm;
using base::crypto::view;
using base::json::Object;

constexpr std::string_view kContext{"SCP3-HOLDER\0", 12};
constexpr std::string_view kAlgorithm = "Ed25519";
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kMaxName = 64;

boost::json::string_view json_text(std::string_view text) { return {text.data(), text.size()}; }

std::string signed_text(const base::crypto::Digest& th1, std::string_view credential) {
  std::string text(kContext);
  text += view(th1);
  text += view(base::crypto::sha256(credential));
  return text;
}

// A member of cnf: b64 of a SHA-256, kept as the text it is. Empty when absent.
Outcome<std::string> read_hash(const Object& confirmation, std::string_view name) {
  const auto* value = confirmation.if_contains(json_text(name));
  if (value == nullptr) return std::string();
  if (value->is_string()) {
    std::string_view text(value->get_string().data(), value->get_string().size());
    auto bytes = base::crypto::from_base64url(text, view(base::crypto::Digest{}).size());
    if (bytes && bytes->size() == view(base::crypto::Digest{}).size()) return std::string(text);
  }
  return wrong_credential("cnf names no hash");
}

bool holds(const std::string& wanted, const std::string& shown) {
  return wanted.empty() || base::crypto::equal(wanted, shown);
}

}  // namespace

Outcome<HolderProof> read_holder(const Object& holder) {
  PayloadReader reader(holder, "p.holder");
  HolderProof proof;
  // What a message says of its algorithm is compared with the only one, never used.
  if (reader.text("alg", kMaxName) != kAlgorithm) reader.fail("alg", "must be Ed25519");
  proof.key = reader.ed25519_key("jwk");
  proof.signature = reader.bytes("v", kSignatureBytes);
  if (reader.fault()) return *reader.fault();
  if (holder.size() != 3) return refuse(Code::kShape, "p.holder: must have no other members");
  return proof;
}

base::Result<Object> make_holder(const base::crypto::SigningKey& key,
                                 const base::crypto::Digest& th1, std::string_view credential) {
  ASSIGN_OR_RETURN(std::string signature,
                   key.sign(SignatureAlgorithm::kEd25519, signed_text(th1, credential)));
  ASSIGN_OR_RETURN(auto jwk, base::json::parse(key.verify_key().canonical_jwk()));
  return Object{{"alg", json_text(kAlgorithm)},
                {"jwk", std::move(jwk)},
                {"v", base::crypto::to_base64url(signature)}};
}

Outcome<std::string> verify_holder(const HolderProof& proof, const base::crypto::Digest& th1,
                                   std::string_view credential) {
  auto key = base::crypto::VerifyKey::from_ed25519(proof.key);
  if (!key ||
      !key->verify(SignatureAlgorithm::kEd25519, signed_text(th1, credential), proof.signature)) {
    return wrong_credential("the proof of possession does not hold");
  }
  return key->thumbprint();
}

Outcome<Binding> read_binding(const Object& claims) {
  const auto* confirmation = claims.if_contains("cnf");
  if (confirmation == nullptr) return Binding{};
  if (!confirmation->is_object()) return wrong_credential("cnf is not an object");
  auto key = read_hash(confirmation->get_object(), "jkt");
  if (!key) return std::move(key).error();
  auto certificate = read_hash(confirmation->get_object(), "x5t#S256");
  if (!certificate) return std::move(certificate).error();
  if (key->empty() && certificate->empty()) {
    return wrong_credential("cnf binds to something that cannot be checked");
  }
  return Binding{std::move(*key), std::move(*certificate)};
}

Outcome<void> check_binding(const Binding& wanted, const Binding& shown, Unbound unbound) {
  if (wanted.empty()) {
    if (unbound == Unbound::kAccepted) return {};
    return wrong_credential("a token that is not bound, which require_bound_tokens refuses");
  }
  if (!holds(wanted.key, shown.key)) {
    return wrong_credential(shown.key.empty() ? "a bound token without a proof of possession"
                                              : "a bound token with the proof of another key");
  }
  if (!holds(wanted.certificate, shown.certificate)) {
    return wrong_credential("a bound token without its client certificate");
  }
  return {};
}

}  // namespace tool::session
