#include "base/crypto/scram.h"

#include <fmt/format.h>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/crypto/openssl.h"

namespace base::crypto {
namespace {

constexpr int kIterations = 4096;  // RFC 7677, section 4: at least.

}  // namespace

std::string scram_verifier(std::string_view password, std::string_view salt) {
  std::string salted(32, '\0');
  openssl::require(
      PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), openssl::bytes(salt),
                        static_cast<int>(salt.size()), kIterations, openssl::sha256_algorithm(),
                        static_cast<int>(salted.size()), openssl::writable(salted)) == 1);
  const Digest client_key = hmac_sha256(salted, "Client Key");
  const Digest stored_key = sha256(view(client_key));
  const Digest server_key = hmac_sha256(salted, "Server Key");
  OPENSSL_cleanse(salted.data(), salted.size());
  return fmt::format("SCRAM-SHA-256${}:{}${}:{}", kIterations, to_base64(salt),
                     to_base64(view(stored_key)), to_base64(view(server_key)));
}

}  // namespace base::crypto
