#pragma once

// One key agreement of one handshake. Forward secrecy means that the private
// key is gone afterwards: agree() consumes the key, and no function gives the
// private part away.
// Sources: RFC 7748 (X25519); SEC 1 version 2.0, sections 2.3.3, 2.3.4 and
// 3.3.1 (P-256); RFC 8446, sections 4.2.8.2 and 7.4.2.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/crypto/secret_bytes.h"

namespace base::crypto {

enum class Group : std::uint8_t { kX25519, kP256 };

/// Not thread-safe; movable, and of no use after a move.
class EphemeralKey {
 public:
  [[nodiscard]] static EphemeralKey generate(Group group, Random& random);
  /// The key of a given private part, 32 bytes; for P-256 a big-endian number.
  /// For test vectors and replayed handshakes.
  /// Errors: kInvalid  wrong length, or (P-256) zero or not below the order.
  [[nodiscard]] static Result<EphemeralKey> from_private_bytes(Group group, std::string_view bytes);

  EphemeralKey(EphemeralKey&&) noexcept;
  EphemeralKey& operator=(EphemeralKey&&) noexcept;
  ~EphemeralKey();

  [[nodiscard]] Group group() const;
  /// X25519: 32 bytes. P-256: the uncompressed point, 65 bytes.
  [[nodiscard]] const std::string& public_share() const;

  /// The shared secret, 32 bytes (P-256: the x coordinate), and the end of this
  /// key, whatever comes of it: `std::move(key).agree(share)`.
  /// Errors: kInvalid  a share of the wrong length or form, a point that is not
  /// on the curve or at infinity, or (X25519) one of small order, whose secret
  /// would be all zero. RFC 7748, section 6.1.
  [[nodiscard]] Result<SecretBytes> agree(std::string_view peer_share) &&;

 private:
  struct State;
  explicit EphemeralKey(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace base::crypto
