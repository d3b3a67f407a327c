#include "base/crypto/hkdf.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>

#include "base/crypto/digest.h"

namespace base::crypto {
namespace {

constexpr std::size_t kMaxBlocks = 255;

}  // namespace

SecretBytes hkdf_extract(std::string_view salt, std::string_view key_material) {
  // HMAC pads a key with zeros, so an empty salt is 32 zero bytes already.
  Digest key = hmac_sha256(salt, key_material);
  SecretBytes out = SecretBytes::copy_of(view(key));
  OPENSSL_cleanse(key.data(), key.size());
  return out;
}

SecretBytes hkdf_expand(std::string_view pseudo_random_key, std::string_view info,
                        std::size_t length) {
  if (length == 0 || length > kMaxBlocks * sizeof(Digest)) std::abort();
  HmacKey key(pseudo_random_key);
  SecretBytes out(length);
  Digest block{};
  std::string_view previous;  // Nothing before the first block.
  auto rest = out.writable();
  for (char counter = 1; !rest.empty(); ++counter) {
    block = key.mac({previous, info, std::string_view(&counter, 1)});
    previous = view(block);
    auto count = std::min(rest.size(), block.size());
    std::ranges::copy_n(block.begin(), static_cast<std::ptrdiff_t>(count), rest.begin());
    rest = rest.subspan(count);
  }
  OPENSSL_cleanse(block.data(), block.size());
  return out;
}

}  // namespace base::crypto
