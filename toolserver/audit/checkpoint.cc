#include "toolserver/audit/checkpoint.h"

#include <algorithm>

#include "base/crypto/encoding.h"
#include "base/crypto/hkdf.h"
#include "base/json/canonical.h"

namespace tool::audit {
namespace {

using base::crypto::KeyType;
using base::crypto::SignatureAlgorithm;
using base::json::Object;

constexpr std::string_view kSecretKid = "secret";
// No other signature of the service is over text that begins so.
constexpr std::string_view kPrefix{"SCP3-AUDIT\0", 11};
constexpr std::size_t kMaxSignature = 1024;

boost::json::string text(std::string_view value) { return boost::json::string(value); }

SignatureAlgorithm algorithm_of(KeyType type) {
  return type == KeyType::kEd25519 ? SignatureAlgorithm::kEd25519 : SignatureAlgorithm::kPs256;
}

std::shared_ptr<const base::crypto::HmacKey> derive(const base::Secret& secret) {
  auto pseudo_random = base::crypto::hkdf_extract("", secret.reveal());
  auto key = base::crypto::hkdf_expand(pseudo_random.reveal(), "scp3 audit checkpoint", 32);
  return std::make_shared<const base::crypto::HmacKey>(key.reveal());
}

// What is signed: every member that says what is vouched for and by whom.
std::string signed_text(const Object& line) {
  Object part;
  for (std::string_view key : {"boot", "covers", "kind", "node", "ts"}) {
    if (const auto* value = line.if_contains(key)) part[key] = *value;
  }
  auto canonical = base::json::canonical(part);
  return canonical ? std::string(kPrefix) + *canonical : std::string();
}

}  // namespace

CheckpointSigner CheckpointSigner::with_key(base::crypto::SigningKey key) {
  CheckpointSigner signer;
  signer.key_ = std::move(key);
  return signer;
}

CheckpointSigner CheckpointSigner::with_secret(const base::Secret& secret) {
  CheckpointSigner signer;
  signer.secret_ = derive(secret);
  return signer;
}

base::Result<Object> CheckpointSigner::sign(const ChainHead& covered, const Origin& origin,
                                            base::WallTime now) const {
  Object line{{"boot", text(origin.boot)},
              {"covers", {{"h", text(covered.hash_text())}, {"seq", covered.seq}}},
              {"kind", "checkpoint"},
              {"node", text(origin.node)},
              {"ts", text(time_text(now))}};
  std::string message = signed_text(line);
  std::string signature;
  if (key_) {
    ASSIGN_OR_RETURN(signature, key_->sign(algorithm_of(key_->type()), message));
  } else {
    auto tag = secret_->mac(message);
    signature = base::crypto::view(tag);
  }
  line["sig"] = Object{{"kid", text(key_ ? std::string_view(key_->thumbprint()) : kSecretKid)},
                       {"v", text(base::crypto::to_base64url(signature))}};
  return line;
}

void CheckpointKeys::add(const base::Secret& secret) { secrets_.push_back(derive(secret)); }

bool CheckpointKeys::is_signed(std::string_view message, std::string_view kid,
                               std::string_view signature) const {
  if (kid == kSecretKid) {
    return std::ranges::any_of(secrets_,
                               [&](const auto& key) { return key->verify(message, signature); });
  }
  return std::ranges::any_of(keys_, [&](const auto& key) {
    return key.thumbprint() == kid && key.verify(algorithm_of(key.type()), message, signature);
  });
}

std::optional<ChainHead> CheckpointKeys::check(const Object& line) const {
  const auto* covers = line.if_contains("covers");
  const auto* sig = line.if_contains("sig");
  if (!covers || !covers->is_object() || !sig || !sig->is_object()) return std::nullopt;
  const auto* seq = covers->get_object().if_contains("seq");
  const auto* hash = covers->get_object().if_contains("h");
  const auto* kid = sig->get_object().if_contains("kid");
  const auto* value = sig->get_object().if_contains("v");
  if (!seq || !seq->is_int64() || seq->get_int64() < 0 || !hash || !hash->is_string() || !kid ||
      !kid->is_string() || !value || !value->is_string()) {
    return std::nullopt;
  }
  auto bytes = base::crypto::from_hex(hash->get_string(), sizeof(base::crypto::Digest));
  auto signature = base::crypto::from_base64url(value->get_string(), kMaxSignature);
  if (!bytes || bytes->size() != sizeof(base::crypto::Digest) || !signature) return std::nullopt;
  if (!is_signed(signed_text(line), kid->get_string(), *signature)) return std::nullopt;
  ChainHead head{static_cast<std::uint64_t>(seq->get_int64()), {}};
  std::ranges::copy(*bytes, head.hash.begin());
  return head;
}

}  // namespace tool::audit
