#include "base/crypto/rsa_signature.h"

#include <openssl/rsa.h>

#include "base/crypto/digest.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

constexpr int kSaltBytes = 32;                   // As long as the hash. RFC 7518, section 3.5.
constexpr std::size_t kMaxSignature = 8192 / 8;  // Of the largest key taken.

Owned<EVP_PKEY_CTX> copy(const Owned<EVP_PKEY_CTX>& prepared) {
  Owned<EVP_PKEY_CTX> out(EVP_PKEY_CTX_dup(prepared.get()));
  require(out != nullptr);
  return out;
}

}  // namespace

RsaSignature::RsaSignature(EVP_PKEY* key, RsaPadding padding, RsaUse use)
    : prepared_(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr)) {
  EVP_PKEY_CTX* context = prepared_.get();
  const EVP_MD* sha256 = openssl::sha256_algorithm();
  require(context != nullptr);
  require((use == RsaUse::kSign ? EVP_PKEY_sign_init(context) : EVP_PKEY_verify_init(context)) ==
          1);
  bool pss = padding == RsaPadding::kPss;
  require(EVP_PKEY_CTX_set_rsa_padding(context, pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) ==
          1);
  require(EVP_PKEY_CTX_set_signature_md(context, sha256) == 1);
  if (!pss) return;
  require(EVP_PKEY_CTX_set_rsa_mgf1_md(context, sha256) == 1 &&
          EVP_PKEY_CTX_set_rsa_pss_saltlen(context, kSaltBytes) == 1);
}

std::string RsaSignature::sign(std::string_view data) const {
  Digest digest = sha256(data);
  std::string out(kMaxSignature, '\0');
  std::size_t size = out.size();
  require(EVP_PKEY_sign(copy(prepared_).get(), openssl::writable(out), &size, digest.data(),
                        digest.size()) == 1);
  out.resize(size);
  return out;
}

bool RsaSignature::verify(std::string_view data, std::string_view signature) const {
  if (signature.size() > kMaxSignature) return false;
  Digest digest = sha256(data);
  int verified = EVP_PKEY_verify(copy(prepared_).get(), bytes(signature), signature.size(),
                                 digest.data(), digest.size());
  if (verified != 1) openssl::forget_errors();
  return verified == 1;
}

}  // namespace base::crypto
