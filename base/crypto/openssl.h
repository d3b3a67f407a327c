#pragma once

// For this folder's own sources: OpenSSL's objects with an owner, and one answer
// to calls that fail only when memory is out or a provider is missing. Nothing
// safe can follow those, so they end the process.

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

namespace base::crypto::openssl {

struct Freed {
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(BIGNUM* p) const { BN_clear_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(EVP_CIPHER* p) const { EVP_CIPHER_free(p); }
  void operator()(EVP_CIPHER_CTX* p) const { EVP_CIPHER_CTX_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_PKEY_CTX* p) const { EVP_PKEY_CTX_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Freed>;

/// Aborts unless `ok`.
void require(bool ok);
/// Forgets the errors that OpenSSL queued on this thread, so that a refused
/// input does not show up as the reason of a later failure elsewhere.
void forget_errors();

[[nodiscard]] inline const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
[[nodiscard]] inline unsigned char* writable(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

/// SHA-256, looked up once for the process.
[[nodiscard]] const EVP_MD* sha256_algorithm();

/// The bytes of a number, big-endian without leading zeros.
[[nodiscard]] std::string big_endian(const BIGNUM* number);

}  // namespace base::crypto::openssl
