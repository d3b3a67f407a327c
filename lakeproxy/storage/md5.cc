#include "lakeproxy/storage/md5.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace lake::storage {

Md5 md5(std::string_view bytes) {
  Md5 out;
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, EVP_md5(), nullptr) != 1) {
    std::abort();  // Out of memory, or a library without MD5.
  }
  return out;
}

}  // namespace lake::storage
