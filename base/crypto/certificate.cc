#include "base/crypto/certificate.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace base::crypto {

Result<Digest> certificate_hash(std::string_view pem) {
  std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(source.get(), nullptr, nullptr, nullptr), X509_free);
  Digest digest;
  unsigned length = 0;
  if (!certificate || X509_digest(certificate.get(), EVP_sha256(), digest.data(), &length) != 1 ||
      length != digest.size()) {
    return fail(ErrorKind::kInvalid, "must be a certificate in PEM");
  }
  return digest;
}

}  // namespace base::crypto
