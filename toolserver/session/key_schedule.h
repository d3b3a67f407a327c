#pragma once

// One shared secret, and from it a key for each use: a key that leaks or is
// misused says nothing of the others, and none outlives its epoch.
// Source: docs/wire-3.0.md, sections 4.6, 4.7 and 7.1; RFC 5869.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/secret.h"
#include "base/crypto/digest.h"
#include "base/crypto/secret_bytes.h"

namespace tool::session {

using base::crypto::Digest;
using base::crypto::SecretBytes;

/// The labels of section 4.6.
enum class KeyLabel : std::uint8_t {
  kC2sKey,
  kS2cKey,
  kC2sIv,
  kS2cIv,
  kC2sSig,
  kS2cSig,
  kConfirmC,
  kConfirmS,
  kExport,
};
inline constexpr std::size_t kKeyLabels = 9;
/// "c2s key".
[[nodiscard]] std::string_view name(KeyLabel label);

/// 32 bytes of `handshake_secret`; 32 zero bytes when it is empty.
[[nodiscard]] SecretBytes make_psk(const base::Secret& handshake_secret,
                                   const base::Secret& kdf_salt);

/// v of the server's proof, 32 bytes.
[[nodiscard]] Digest server_proof(const SecretBytes& psk, const Digest& th1);

/// HKDF of section 6.2: a token key from the shared secret.
[[nodiscard]] SecretBytes derive_token_key(const base::Secret& jwt_secret,
                                           const base::Secret& kdf_salt, std::string_view info);

/// All keys of one epoch; wiped with it. Move-only.
class SessionKeys {
 public:
  /// Of epoch 0. `dh` is empty with suite NONE.
  [[nodiscard]] static SessionKeys first(const Digest& th1, const SecretBytes& dh,
                                         const SecretBytes& psk);
  /// Of the next epoch.
  [[nodiscard]] SessionKeys next(const Digest& th_r, const SecretBytes& dh) const;

  [[nodiscard]] const SecretBytes& key(KeyLabel label) const {
    return keys_[static_cast<std::size_t>(label)];
  }

 private:
  SessionKeys(const Digest& transcript, const SecretBytes& dh, const SecretBytes& secret);
  std::array<SecretBytes, kKeyLabels> keys_;
};

}  // namespace tool::session
