#pragma once

// Authenticated encryption of records. Setting up a cipher costs more than
// encrypting a small record, so the context is kept between records and only
// the nonce changes. A nonce must never be used twice with one key to seal:
// counting is the caller's part.
// Sources: NIST SP 800-38D (GCM); RFC 8439 (ChaCha20-Poly1305).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace base::crypto {

/// Not thread-safe; movable, and of no use after a move.
class Aead {
 public:
  enum class Algorithm : std::uint8_t { kAes256Gcm, kChaCha20Poly1305 };
  /// A cipher that is used one way needs half of the memory, which counts when
  /// each of many connections has two.
  enum class Use : std::uint8_t { kBoth, kSealing, kOpening };
  using Nonce = std::array<std::uint8_t, 12>;
  static constexpr std::size_t kKeyBytes = 32;
  static constexpr std::size_t kTagBytes = 16;
  /// Longest plaintext or additional data of one record.
  static constexpr std::size_t kMaxBytes = 1U << 30;

  /// Copies the key; its copies are wiped on destruction.
  /// What is not in `use` aborts.
  /// Errors: kInvalid  `key` is not 32 bytes.
  [[nodiscard]] static Result<Aead> create(Algorithm algorithm, std::string_view key,
                                           Use use = Use::kBoth);

  Aead(Aead&&) noexcept;
  Aead& operator=(Aead&&) noexcept;
  ~Aead();

  /// Ciphertext and tag. `aad` is authenticated and not encrypted.
  [[nodiscard]] std::string seal(const Nonce& nonce, std::string_view aad,
                                 std::string_view plaintext);
  /// Appends ciphertext and tag to `out`. `plaintext` and `aad` may not lie in
  /// `out`. More than kMaxBytes aborts: messages are bounded long before.
  void seal_into(const Nonce& nonce, std::string_view aad, std::string_view plaintext,
                 std::string& out);

  /// The plaintext of ciphertext and tag.
  /// Errors: kInvalid  shorter than a tag, longer than kMaxBytes, or not sealed
  /// with this key, nonce and `aad`: which of them is not told.
  [[nodiscard]] Result<std::string> open(const Nonce& nonce, std::string_view aad,
                                         std::string_view sealed);
  /// Appends the plaintext to `out`, which an error leaves as it was. `sealed`
  /// may not lie in `out`. Errors: as open().
  [[nodiscard]] Status open_into(const Nonce& nonce, std::string_view aad, std::string_view sealed,
                                 std::string& out);

 private:
  struct State;
  explicit Aead(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace base::crypto
