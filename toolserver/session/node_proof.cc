#include "toolserver/session/node_proof.h"

#include <algorithm>
#include <array>

#include "base/crypto/verify_key.h"
#include "toolserver/session/key_schedule.h"

namespace tool::session {
namespace {

using base::crypto::SignatureAlgorithm;
using base::crypto::view;

constexpr std::string_view kContext{"SCP3-NODE\0", 10};
// The best first.
constexpr std::array kKinds{ProofKind::kKey, ProofKind::kSecret, ProofKind::kNone};

std::string signed_text(const base::crypto::Digest& th1) {
  std::string text(kContext);
  text += view(th1);
  return text;
}

Fault distrust(std::string message) { return refuse(Code::kSignature, std::move(message)); }

Outcome<void> check_node_key(const ShownProof& shown, const ProofTrust& trust,
                             const base::crypto::Digest& th1) {
  auto key = base::crypto::VerifyKey::from_ed25519(shown.node_key);
  if (!key || std::ranges::count(trust.server_keys, key->thumbprint()) == 0) {
    return distrust("the server has another key than the one that is pinned");
  }
  if (!key->verify(SignatureAlgorithm::kEd25519, signed_text(th1), shown.value)) {
    return distrust("the server does not prove that it has its key");
  }
  return {};
}

}  // namespace

std::string_view name(ProofKind kind) {
  switch (kind) {
    case ProofKind::kKey: return "ed25519";
    case ProofKind::kSecret: return "hmac";
    case ProofKind::kNone: return "none";
  }
  return "";
}

std::optional<ProofKind> choose_proof(const ProofMeans& means,
                                      std::span<const std::string> offered) {
  auto can = [&](ProofKind kind) {
    switch (kind) {
      case ProofKind::kKey: return means.node_key;
      case ProofKind::kSecret: return means.secret;
      case ProofKind::kNone: return means.may_be_none && !means.secret;
    }
    return false;
  };
  for (ProofKind kind : kKinds) {
    if (can(kind) && std::ranges::count(offered, name(kind)) > 0) return kind;
  }
  return std::nullopt;
}

base::Result<std::string> sign_node_proof(const base::crypto::SigningKey& key,
                                          const base::crypto::Digest& th1) {
  return key.sign(SignatureAlgorithm::kEd25519, signed_text(th1));
}

std::vector<std::string> offered_proofs(const ProofTrust& trust) {
  auto only = [](ProofKind kind) { return std::vector{std::string(name(kind))}; };
  if (!trust.server_keys.empty()) return only(ProofKind::kKey);
  if (!trust.psks.empty()) return only(ProofKind::kSecret);
  if (trust.may_be_none) return only(ProofKind::kNone);
  return {};
}

Outcome<std::optional<std::size_t>> check_proof(const ShownProof& shown, const ProofTrust& trust,
                                                const base::crypto::Digest& th1) {
  std::optional<std::size_t> proved;
  auto wanted = offered_proofs(trust);
  bool is_key = shown.kind == ProofKind::kKey;
  if (wanted.empty() || wanted.front() != name(shown.kind) || is_key == shown.node_key.empty()) {
    return distrust("the server proves itself by something that was not asked for");
  }
  if (is_key) {
    if (auto good = check_node_key(shown, trust, th1); !good) return std::move(good).error();
    return proved;
  }
  if (shown.kind == ProofKind::kNone) return proved;
  for (std::size_t at = 0; at < trust.psks.size(); ++at) {
    if (base::crypto::equal(view(server_proof(trust.psks[at], th1)), shown.value))
      return std::optional(at);
  }
  return distrust("the server does not prove that it knows the secret");
}

}  // namespace tool::session
