#pragma once

// SHA-256 and HMAC-SHA-256. A MAC over every message must not pay for the
// set-up of its key each time: HmacKey holds the two half-finished hashes that
// the key leads to, and a MAC starts from copies of them.
// Sources: FIPS 180-4; RFC 2104; RFC 4231 (test vectors).

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

namespace base::crypto {

/// The 32 bytes of SHA-256 or HMAC-SHA-256.
using Digest = std::array<std::uint8_t, 32>;

/// The digest's bytes; valid while `digest` is.
[[nodiscard]] std::string_view view(const Digest& digest [[clang::lifetimebound]]);

/// Whether two byte strings are equal, in time that depends on their lengths
/// only. A length is not a secret.
[[nodiscard]] bool equal(std::string_view a, std::string_view b);

[[nodiscard]] Digest sha256(std::string_view data);

/// SHA-256 of data that comes in parts. Not thread-safe; movable, and of no use
/// after a move.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  Sha256& update(std::string_view part);
  /// The digest of all parts; afterwards the object starts anew.
  [[nodiscard]] Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One MAC. For many with one key see HmacKey.
[[nodiscard]] Digest hmac_sha256(std::string_view key, std::string_view data);

/// A key made ready for many MACs. Thread-safe after construction; movable, and
/// of no use after a move. The key is wiped on destruction.
class HmacKey {
 public:
  /// Takes keys of any length; how long one must be is the caller's rule.
  explicit HmacKey(std::string_view key);
  HmacKey(HmacKey&&) noexcept;
  HmacKey& operator=(HmacKey&&) noexcept;
  ~HmacKey();

  [[nodiscard]] Digest mac(std::string_view data) const;
  /// The MAC of the parts one after another, without joining them first.
  [[nodiscard]] Digest mac(std::initializer_list<std::string_view> parts) const;
  /// Whether `tag` is the whole MAC of `data`; constant time.
  [[nodiscard]] bool verify(std::string_view data, std::string_view tag) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace base::crypto
