#include "toolserver/federation/proof/link_proof.h"

#include <utility>

#include "base/crypto/encoding.h"
#include "base/jose/jwt.h"
#include "base/json/json.h"
#include "toolserver/model/ulid.h"

namespace tool::federation {
namespace {

namespace jose = base::jose;

boost::json::string_view text(std::string_view view) { return {view.data(), view.size()}; }

Fault wrong(std::string detail) {
  return Fault{Code::kAuth, "the credential is wrong", std::nullopt, std::move(detail)};
}

// `bound` is the one claim by which the two kinds differ.
base::Result<std::string> sign(const NodeKeys& keys, std::string_view to, std::string_view typ,
                               std::string_view bound, std::string_view value, base::WallTime now,
                               base::Random& random) {
  base::json::Object claims{{"iss", keys.node_id()},
                            {"aud", text(to)},
                            {"jti", text(Ulid::make(now, random).text())},
                            {"iat", jose::numeric_date(now)},
                            {"exp", jose::numeric_date(now + kLinkProofLife)}};
  claims[text(bound)] = text(value);
  return jose::sign(keys.signer(to), typ, claims);
}

Outcome<void> verify(const NodeKeys& keys, std::string_view token, std::string_view from,
                     std::string_view typ, std::string_view bound, std::string_view value,
                     base::WallTime now) {
  auto verifier = keys.verifier(from, keys.node_id());
  if (!verifier) return wrong(verifier.error().message);
  jose::Rules rules{.header = {.algorithm = verifier->algorithm(), .types = {std::string(typ)}},
                    .issuer = std::string(from),
                    .audience = keys.node_id(),
                    .required = {"jti", "iat"},
                    .max_lifetime = kLinkProofLife};
  auto claims = jose::verify(token, *verifier, rules, now);
  if (!claims) return wrong(claims.error().message());
  const auto* shown = claims->all().if_contains(text(bound));
  if (shown == nullptr || !shown->is_string() || shown->get_string() != text(value)) {
    return wrong("it is for another link");
  }
  return {};
}

std::string transcript(const base::crypto::Digest& th1) {
  return base::crypto::to_base64url(base::crypto::view(th1));
}

// The node that the token names as its maker, if it is written as a token is.
std::string named_issuer(std::string_view token) {
  for (auto algorithm :
       {jose::Algorithm::kEdDsa, jose::Algorithm::kPs256, jose::Algorithm::kHs256}) {
    auto parsed = jose::UnverifiedJws::parse(
        token, {.algorithm = algorithm, .types = {std::string(kCredentialType)}});
    if (parsed) return parsed->kid();
  }
  return {};
}

}  // namespace

base::Result<std::string> node_credential(const NodeKeys& keys, std::string_view to,
                                          const base::crypto::Digest& th1, base::WallTime now,
                                          base::Random& random) {
  return sign(keys, to, kCredentialType, "th", transcript(th1), now, random);
}

Outcome<std::string> verify_node_credential(const NodeKeys& keys, std::string_view token,
                                            const base::crypto::Digest& th1, base::WallTime now) {
  // Only to find the registered key, which then decides.
  std::string node = named_issuer(token);
  auto good = verify(keys, token, node, kCredentialType, "th", transcript(th1), now);
  if (!good) return std::move(good).error();
  return node;
}

base::Result<std::string> peer_proof(const NodeKeys& keys, std::string_view to,
                                     std::string_view session, base::WallTime now,
                                     base::Random& random) {
  return sign(keys, to, kPeerType, "sid", session, now, random);
}

Outcome<void> verify_peer_proof(const NodeKeys& keys, std::string_view token, std::string_view peer,
                                std::string_view session, base::WallTime now) {
  return verify(keys, token, peer, kPeerType, "sid", session, now);
}

}  // namespace tool::federation
