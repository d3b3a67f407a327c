#include "toolserver/session/key_schedule.h"

#include "base/crypto/hkdf.h"

namespace tool::session {
namespace {

using base::crypto::hkdf_expand;
using base::crypto::hkdf_extract;
using base::crypto::view;

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kIvBytes = 12;
constexpr std::string_view kProofPrefix("SCP3-PROOF\0", 11);

std::size_t size_of(KeyLabel label) {
  return label == KeyLabel::kC2sIv || label == KeyLabel::kS2cIv ? kIvBytes : kKeyBytes;
}

}  // namespace

std::string_view name(KeyLabel label) {
  switch (label) {
    case KeyLabel::kC2sKey: return "c2s key";
    case KeyLabel::kS2cKey: return "s2c key";
    case KeyLabel::kC2sIv: return "c2s iv";
    case KeyLabel::kS2cIv: return "s2c iv";
    case KeyLabel::kC2sSig: return "c2s sig";
    case KeyLabel::kS2cSig: return "s2c sig";
    case KeyLabel::kConfirmC: return "confirm c";
    case KeyLabel::kConfirmS: return "confirm s";
    case KeyLabel::kExport: return "export";
  }
  return "";
}

SecretBytes make_psk(const base::Secret& handshake_secret, const base::Secret& kdf_salt) {
  if (handshake_secret.empty()) return SecretBytes(kKeyBytes);
  auto prk = hkdf_extract(kdf_salt.reveal(), handshake_secret.reveal());
  return hkdf_expand(prk.reveal(), "scp3 psk", kKeyBytes);
}

Digest server_proof(const SecretBytes& psk, const Digest& th1) {
  auto key = hkdf_expand(psk.reveal(), "scp3 proof", kKeyBytes);
  return base::crypto::HmacKey(key.reveal()).mac({kProofPrefix, view(th1)});
}

SecretBytes derive_token_key(const base::Secret& jwt_secret, const base::Secret& kdf_salt,
                             std::string_view info) {
  auto prk = hkdf_extract(kdf_salt.reveal(), jwt_secret.reveal());
  return hkdf_expand(prk.reveal(), info, kKeyBytes);
}

SessionKeys::SessionKeys(const Digest& transcript, const SecretBytes& dh,
                         const SecretBytes& secret) {
  auto material = SecretBytes::concat(dh.reveal(), secret.reveal());
  auto prk = hkdf_extract(view(transcript), material.reveal());
  for (std::size_t i = 0; i < kKeyLabels; ++i) {
    auto label = static_cast<KeyLabel>(i);
    std::string info = "scp3 ";
    info += name(label);
    info += view(transcript);
    keys_[i] = hkdf_expand(prk.reveal(), info, size_of(label));
  }
}

SessionKeys SessionKeys::first(const Digest& th1, const SecretBytes& dh, const SecretBytes& psk) {
  return SessionKeys(th1, dh, psk);
}

SessionKeys SessionKeys::next(const Digest& th_r, const SecretBytes& dh) const {
  return SessionKeys(th_r, dh, key(KeyLabel::kExport));
}

}  // namespace tool::session
