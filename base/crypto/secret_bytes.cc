#include "base/crypto/secret_bytes.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace base::crypto {

SecretBytes::SecretBytes(std::size_t size)
    : bytes_(std::make_unique<std::uint8_t[]>(size)), size_(size) {}

SecretBytes SecretBytes::copy_of(std::string_view bytes) { return concat(bytes, {}); }

SecretBytes SecretBytes::take(std::string&& bytes) {
  auto out = copy_of(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  bytes.clear();
  return out;
}

SecretBytes SecretBytes::concat(std::string_view first, std::string_view second) {
  SecretBytes out(first.size() + second.size());
  std::ranges::copy(second, std::ranges::copy(first, out.bytes_.get()).out);
  return out;
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  bytes_ = std::move(other.bytes_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

SecretBytes::~SecretBytes() { wipe(); }

std::string_view SecretBytes::reveal() const {
  return {reinterpret_cast<const char*>(bytes_.get()), size_};
}

SecretBytes SecretBytes::slice(std::size_t from, std::size_t count) const {
  if (from > size_ || count > size_ - from) std::abort();
  return copy_of(reveal().substr(from, count));
}

void SecretBytes::wipe() noexcept { OPENSSL_cleanse(bytes_.get(), size_); }

}  // namespace base::crypto
