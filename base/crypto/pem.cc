#include "base/crypto/pem.h"

#include <openssl/core_names.h>
#include <openssl/decoder.h>

#include <array>
#include <span>

namespace base::crypto::pem {
namespace {

using openssl::Owned;
using openssl::require;

constexpr std::size_t kMaxPemBytes = 64 * 1024;
constexpr std::string_view kBegin = "-----BEGIN ";
constexpr int kMinModulusBits = 2048;
constexpr int kMaxModulusBits = 8192;  // More would let a stranger's key cost us seconds.
constexpr int kMaxExponentBits = 64;

struct DecoderFreed {
  void operator()(OSSL_DECODER_CTX* p) const { OSSL_DECODER_CTX_free(p); }
};

// The label of the one block in the text, or nothing.
std::string_view only_label(std::string_view text) {
  auto at = text.find(kBegin);
  if (at == std::string_view::npos) return {};
  auto label = text.substr(at + kBegin.size());
  if (label.contains(kBegin)) return {};
  return label.substr(0, label.find("-----"));
}

bool is_label_of(Part part, std::string_view label) {
  if (part == Part::kPublic) return label == "PUBLIC KEY" || label == "RSA PUBLIC KEY";
  return label == "PRIVATE KEY" || label == "RSA PRIVATE KEY";
}

Error not_a_key(Part part) {
  return fail(ErrorKind::kInvalid, part == Part::kPublic
                                       ? "must be one public key in PEM"
                                       : "must be one private key in PEM, not encrypted");
}

Status check_rsa(const EVP_PKEY* key) {
  BIGNUM* n = nullptr;
  BIGNUM* e = nullptr;
  bool got = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &n) == 1 &&
             EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1;
  Owned<BIGNUM> modulus(n);
  Owned<BIGNUM> exponent(e);
  if (!got || BN_num_bits(n) < kMinModulusBits || BN_num_bits(n) > kMaxModulusBits) {
    return fail(ErrorKind::kInvalid, "an RSA key must have 2048 to 8192 bits");
  }
  if (!BN_is_odd(n) || !BN_is_odd(e) || BN_is_one(e) || BN_num_bits(e) > kMaxExponentBits) {
    return fail(ErrorKind::kInvalid,
                "an RSA key's modulus must be odd and its exponent odd, from 3 to 64 bits");
  }
  return {};
}

}  // namespace

Result<Owned<EVP_PKEY>> read_key(std::string_view text, Part part) {
  if (text.size() > kMaxPemBytes || !is_label_of(part, only_label(text)) ||
      text.contains("Proc-Type:")) {
    return not_a_key(part);
  }
  EVP_PKEY* key = nullptr;
  int selection = part == Part::kPublic ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
  std::unique_ptr<OSSL_DECODER_CTX, DecoderFreed> decoder(
      OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", nullptr, nullptr, selection, nullptr, nullptr));
  require(decoder != nullptr);
  const unsigned char* at = openssl::bytes(text);
  std::size_t left = text.size();
  int decoded = OSSL_DECODER_from_data(decoder.get(), &at, &left);
  openssl::forget_errors();
  Owned<EVP_PKEY> owned(key);
  if (decoded != 1 || owned == nullptr) return not_a_key(part);
  return owned;
}

Result<KeyType> check_key(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return KeyType::kEd25519;
  if (EVP_PKEY_is_a(key, "RSA") != 1) {
    return fail(ErrorKind::kInvalid, "must be an RSA or Ed25519 key");
  }
  Status checked = check_rsa(key);
  openssl::forget_errors();
  RETURN_IF_ERROR(std::move(checked));
  return KeyType::kRsa;
}

}  // namespace base::crypto::pem
