#pragma once

// Keys that lie about in freed memory are found by the next over-read. The
// bytes of a SecretBytes live in one heap block from birth to death: a move
// hands the block over and leaves no copy, and destruction wipes it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace base::crypto {

/// Move-only; a moved-from value is empty. Has no way into a stream, a
/// formatter or JSON.
class SecretBytes {
 public:
  SecretBytes() = default;
  /// `size` zero bytes, to be filled through writable().
  explicit SecretBytes(std::size_t size);
  /// A copy of `bytes`, which stay with their owner.
  [[nodiscard]] static SecretBytes copy_of(std::string_view bytes);
  /// Takes the bytes over and wipes `bytes`.
  [[nodiscard]] static SecretBytes take(std::string&& bytes);
  /// The parts one after another: HKDF input such as ECDH secret || PSK.
  [[nodiscard]] static SecretBytes concat(std::string_view first, std::string_view second);

  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// The bytes themselves, valid while this value is: for the call that needs
  /// them, never for a log.
  [[nodiscard]] std::string_view reveal() const;
  [[nodiscard]] std::span<std::uint8_t> writable() { return {bytes_.get(), size_}; }
  /// Bytes `from` .. `from + count`, copied. The range must lie inside.
  [[nodiscard]] SecretBytes slice(std::size_t from, std::size_t count) const;

 private:
  void wipe() noexcept;

  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace base::crypto
