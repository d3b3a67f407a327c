#include "base/core/secret.h"

#include <openssl/crypto.h>

namespace base {

Secret::~Secret() { OPENSSL_cleanse(value_.data(), value_.size()); }

bool Secret::equals(std::string_view other) const {
  // The length of a secret is not what is protected; its bytes are.
  return value_.size() == other.size() &&
         CRYPTO_memcmp(value_.data(), other.data(), other.size()) == 0;
}

}  // namespace base
