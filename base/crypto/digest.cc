#include "base/crypto/digest.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/crypto/openssl.h"
#include "base/crypto/secret_bytes.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

constexpr std::size_t kBlockBytes = 64;  // Of SHA-256. FIPS 180-4, section 1.

Owned<EVP_MD_CTX> begin() {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestInit_ex2(context.get(), openssl::sha256_algorithm(), nullptr) == 1);
  return context;
}

void add(EVP_MD_CTX* context, std::string_view part) {
  require(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
}

Digest end(EVP_MD_CTX* context) {
  Digest out;
  require(EVP_DigestFinal_ex(context, out.data(), nullptr) == 1);
  return out;
}

// The hash of one block of the key, each byte xored with `pad`.
Owned<EVP_MD_CTX> begin_padded(const SecretBytes& block, std::uint8_t pad) {
  SecretBytes padded = SecretBytes::copy_of(block.reveal());
  for (auto& byte : padded.writable()) byte ^= pad;
  auto context = begin();
  add(context.get(), padded.reveal());
  return context;
}

}  // namespace

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

bool equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Digest sha256(std::string_view data) {
  Digest out;
  require(EVP_Digest(data.data(), data.size(), out.data(), nullptr, openssl::sha256_algorithm(),
                     nullptr) == 1);
  return out;
}

struct Sha256::State {
  Owned<EVP_MD_CTX> context = begin();
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::string_view part) {
  add(state_->context.get(), part);
  return *this;
}

Digest Sha256::finish() {
  Digest out = end(state_->context.get());
  require(EVP_DigestInit_ex2(state_->context.get(), nullptr, nullptr) == 1);
  return out;
}

// Source: RFC 2104, section 4 (keeping the intermediate results of a key).
struct HmacKey::State {
  Owned<EVP_MD_CTX> inner;
  Owned<EVP_MD_CTX> outer;
};

HmacKey::HmacKey(std::string_view key) {
  SecretBytes block(kBlockBytes);
  if (key.size() > kBlockBytes) {
    Digest shortened = sha256(key);
    std::ranges::copy(shortened, block.writable().begin());
    OPENSSL_cleanse(shortened.data(), shortened.size());
  } else {
    std::ranges::copy(key, block.writable().begin());
  }
  state_ = std::make_unique<const State>(begin_padded(block, 0x36), begin_padded(block, 0x5c));
}

HmacKey::HmacKey(HmacKey&&) noexcept = default;
HmacKey& HmacKey::operator=(HmacKey&&) noexcept = default;
HmacKey::~HmacKey() = default;

Digest HmacKey::mac(std::initializer_list<std::string_view> parts) const {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_MD_CTX_copy_ex(context.get(), state_->inner.get()) == 1);
  for (auto part : parts) add(context.get(), part);
  Digest inner = end(context.get());
  require(EVP_MD_CTX_copy_ex(context.get(), state_->outer.get()) == 1);
  add(context.get(), view(inner));
  return end(context.get());
}

Digest HmacKey::mac(std::string_view data) const { return mac({data}); }

bool HmacKey::verify(std::string_view data, std::string_view tag) const {
  return equal(view(mac(data)), tag);
}

Digest hmac_sha256(std::string_view key, std::string_view data) { return HmacKey(key).mac(data); }

}  // namespace base::crypto
