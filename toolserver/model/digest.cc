#include "toolserver/model/digest.h"

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/json/canonical.h"

namespace tool {

std::string digest(std::string_view bytes) {
  base::crypto::Digest hash = base::crypto::sha256(bytes);
  return "sha256:" + base::crypto::to_hex(base::crypto::view(hash));
}

base::Result<std::string> args_digest(const base::json::Object& args) {
  ASSIGN_OR_RETURN(auto text, base::json::canonical(args));
  return digest(text);
}

}  // namespace tool
