#include "base/crypto/openssl.h"

#include <openssl/err.h>

#include <cstdlib>

namespace base::crypto::openssl {

void require(bool ok) {
  if (!ok) std::abort();
}

void forget_errors() { ERR_clear_error(); }

const EVP_MD* sha256_algorithm() {
  static const EVP_MD* const algorithm = [] {
    const EVP_MD* fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    require(fetched != nullptr);
    return fetched;
  }();
  return algorithm;
}

std::string big_endian(const BIGNUM* number) {
  std::string out(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, writable(out));
  return out;
}

}  // namespace base::crypto::openssl
