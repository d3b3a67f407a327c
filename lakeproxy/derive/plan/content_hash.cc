#include "lakeproxy/derive/plan/content_hash.h"

#include <openssl/sha.h>

#include <array>

#include "base/core/text.h"

namespace lake::materialize {

std::string content_sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return base::to_hex(digest);
}

}  // namespace lake::materialize
