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
constexpr std::string_view kReceiptPrefix{"SCP3-RECEIPT\0", 13};
constexpr std::size_t kMaxSignature = 1024;

boost::json::string text(std::string_view value) { return boost::json::string(value); }

SignatureAlgorithm algorithm_of(KeyType type) {
  return type == KeyType::kEd25519 ? SignatureAlgorithm::kEd25519 : SignatureAlgorithm::kPs256;
}

constexpr std::string_view kCheckpointLabel = "scp3 audit checkpoint";
constexpr std::string_view kArgumentsLabel = "scp3 audit arguments";

std::shared_ptr<const base::crypto::HmacKey> derive(std::string_view secret,
                                                    std::string_view label) {
  auto pseudo_random = base::crypto::hkdf_extract("", secret);
  auto key = base::crypto::hkdf_expand(pseudo_random.reveal(), label, 32);
  return std::make_shared<const base::crypto::HmacKey>(key.reveal());
}

std::string receipt_text(const AuditReceipt& receipt) {
  std::string out(kReceiptPrefix);
  out.reserve(out.size() + receipt.hash.size() + receipt.node.size() + 64);
  out += R"({"hash":)";
  base::json::append_quoted(out, receipt.hash);
  out += R"(,"node":)";
  base::json::append_quoted(out, receipt.node);
  out += R"(,"seq":)";
  out += std::to_string(receipt.seq);
  out += '}';
  return out;
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
  signer.arguments_ = derive(key.to_pem().reveal(), kArgumentsLabel);
  signer.key_ = std::move(key);
  return signer;
}

CheckpointSigner CheckpointSigner::with_secret(const base::Secret& secret) {
  CheckpointSigner signer;
  signer.secret_ = derive(secret.reveal(), kCheckpointLabel);
  signer.arguments_ = derive(secret.reveal(), kArgumentsLabel);
  return signer;
}

base::Result<Object> CheckpointSigner::sign(const ChainHead& covered, const Origin& origin,
                                            base::WallTime now) const {
  Object line{{"boot", text(origin.boot)},
              {"covers", {{"h", text(covered.hash_text())}, {"seq", covered.seq}}},
              {"kind", "checkpoint"},
              {"node", text(origin.node)},
              {"ts", text(time_text(now))}};
  ASSIGN_OR_RETURN(auto sig, sign(signed_text(line)));
  line["sig"] = Object{{"kid", text(sig.kid)}, {"v", text(sig.value)}};
  return line;
}

base::Status CheckpointSigner::sign(AuditReceipt& receipt, std::string_view node) const {
  receipt.node = node;
  ASSIGN_OR_RETURN(auto sig, sign(receipt_text(receipt)));
  receipt.kid = std::move(sig.kid);
  receipt.signature = std::move(sig.value);
  return {};
}

base::Result<CheckpointSigner::Signature> CheckpointSigner::sign(std::string_view message) const {
  if (key_) {
    ASSIGN_OR_RETURN(auto signature, key_->sign(algorithm_of(key_->type()), message));
    return Signature{key_->thumbprint(), base::crypto::to_base64url(signature)};
  }
  auto tag = secret_->mac(message);
  return Signature{std::string(kSecretKid), base::crypto::to_base64url(base::crypto::view(tag))};
}

std::string CheckpointSigner::arguments_mac(std::string_view args_digest) const {
  auto tag = arguments_->mac(args_digest);
  return "hmac-sha256:" + base::crypto::to_hex(base::crypto::view(tag));
}

void CheckpointKeys::add(const base::Secret& secret) {
  secrets_.push_back(derive(secret.reveal(), kCheckpointLabel));
}

void CheckpointKeys::add(const CheckpointSigner& signer) {
  if (signer.key()) keys_.push_back(signer.key()->verify_key());
  if (signer.secret()) secrets_.push_back(signer.secret());
}

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

bool CheckpointKeys::is_signed(const AuditReceipt& receipt) const {
  auto signature = base::crypto::from_base64url(receipt.signature, kMaxSignature);
  return signature && is_signed(receipt_text(receipt), receipt.kid, *signature);
}

CheckedLine CheckpointKeys::check(const Object& line) const {
  const auto* covers = line.if_contains("covers");
  const auto* sig = line.if_contains("sig");
  if (!covers || !covers->is_object() || !sig || !sig->is_object()) return {};
  const auto* seq = covers->get_object().if_contains("seq");
  const auto* hash = covers->get_object().if_contains("h");
  const auto* kid = sig->get_object().if_contains("kid");
  const auto* value = sig->get_object().if_contains("v");
  if (!seq || !seq->is_int64() || seq->get_int64() < 0 || !hash || !hash->is_string() || !kid ||
      !kid->is_string() || !value || !value->is_string()) {
    return {};
  }
  auto bytes = base::crypto::from_hex(hash->get_string(), sizeof(base::crypto::Digest));
  auto signature = base::crypto::from_base64url(value->get_string(), kMaxSignature);
  if (!bytes || bytes->size() != sizeof(base::crypto::Digest) || !signature) return {};
  CheckedLine checked;
  checked.covered.seq = static_cast<std::uint64_t>(seq->get_int64());
  std::ranges::copy(*bytes, checked.covered.hash.begin());
  checked.kid = std::string(kid->get_string());
  checked.is_by_key_pair = checked.kid != kSecretKid;
  checked.standing = is_signed(signed_text(line), checked.kid, *signature)
                         ? CheckedLine::Standing::kVerified
                         : CheckedLine::Standing::kUnknown;
  return checked;
}

}  // namespace tool::audit
