#include "base/crypto/verify_key.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/params.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/crypto/digest.h"
#include "base/crypto/encoding.h"
#include "base/crypto/key_state.h"
#include "base/crypto/pem.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

constexpr std::size_t kEd25519Bytes = 32;
constexpr std::size_t kP256Bytes = 32;
constexpr std::size_t kMaxRsaBytes = 8192 / 8;

std::string number_of(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  require(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  return openssl::big_endian(Owned<BIGNUM>(number).get());
}

// Of a fixed length, as coordinates are written. Source: RFC 7518, section 6.2.1.2.
std::string coordinate(const EVP_PKEY* key, const char* name) {
  const std::string number = number_of(key, name);
  return std::string(kP256Bytes - number.size(), '\0') + number;
}

// Members in the order of their names, without white space.
// Source: RFC 7638, section 3.3; RFC 8037, section 2.
std::string canonical(const EVP_PKEY* key, KeyType type) {
  if (type == KeyType::kRsa) {
    return R"({"e":")" + to_base64url(number_of(key, OSSL_PKEY_PARAM_RSA_E)) +
           R"(","kty":"RSA","n":")" + to_base64url(number_of(key, OSSL_PKEY_PARAM_RSA_N)) + R"("})";
  }
  if (type == KeyType::kP256) {
    return R"({"crv":"P-256","kty":"EC","x":")" +
           to_base64url(coordinate(key, OSSL_PKEY_PARAM_EC_PUB_X)) + R"(","y":")" +
           to_base64url(coordinate(key, OSSL_PKEY_PARAM_EC_PUB_Y)) + R"("})";
  }
  std::string raw(kEd25519Bytes, '\0');
  std::size_t size = raw.size();
  require(EVP_PKEY_get_raw_public_key(key, openssl::writable(raw), &size) == 1);
  return R"({"crv":"Ed25519","kty":"OKP","x":")" + to_base64url(raw) + R"("})";
}

// A parameter's number has the machine's byte order.
std::string native(std::string_view big_endian) {
  static_assert(std::endian::native == std::endian::little);
  return {big_endian.rbegin(), big_endian.rend()};
}

bool verify_ed25519(EVP_PKEY* key, std::string_view data, std::string_view signature) {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestVerifyInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr, key,
                                             nullptr) == 1);
  int verified =
      EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(data), data.size());
  if (verified != 1) openssl::forget_errors();
  return verified == 1;
}

struct EcdsaFreed {
  void operator()(ECDSA_SIG* p) const { ECDSA_SIG_free(p); }
};

// The form that OpenSSL wants. Source: RFC 7518, section 3.4; RFC 5753, section 7.2.
std::string der_of(std::string_view signature) {
  std::unique_ptr<ECDSA_SIG, EcdsaFreed> parts(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes(signature), kP256Bytes, nullptr);
  BIGNUM* s = BN_bin2bn(bytes(signature.substr(kP256Bytes)), kP256Bytes, nullptr);
  require(parts && r != nullptr && s != nullptr && ECDSA_SIG_set0(parts.get(), r, s) == 1);
  std::string der(static_cast<std::size_t>(i2d_ECDSA_SIG(parts.get(), nullptr)), '\0');
  unsigned char* end = openssl::writable(der);
  require(i2d_ECDSA_SIG(parts.get(), &end) == static_cast<int>(der.size()));
  return der;
}

bool verify_es256(EVP_PKEY* key, std::string_view data, std::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return false;
  const std::string der = der_of(signature);
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestVerifyInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr,
                                             key, nullptr) == 1);
  const int verified =
      EVP_DigestVerify(context.get(), bytes(der), der.size(), bytes(data), data.size());
  if (verified != 1) openssl::forget_errors();
  return verified == 1;
}

}  // namespace

KeyType key_type(SignatureAlgorithm algorithm) {
  switch (algorithm) {
    case SignatureAlgorithm::kEd25519: return KeyType::kEd25519;
    case SignatureAlgorithm::kEs256: return KeyType::kP256;
    case SignatureAlgorithm::kRs256:
    case SignatureAlgorithm::kPs256: break;
  }
  return KeyType::kRsa;
}

VerifyKey::State::State(Owned<EVP_PKEY> checked, KeyType its_type)
    : key(std::move(checked)),
      type(its_type),
      jwk(canonical(key.get(), type)),
      thumbprint(to_base64url(view(sha256(jwk)))) {
  if (type == KeyType::kRsa) rsa = std::make_unique<const RsaContexts>(key.get(), RsaUse::kVerify);
}

VerifyKey::VerifyKey(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<VerifyKey> VerifyKey::from_pem(std::string_view text) {
  ASSIGN_OR_RETURN(auto key, pem::read_key(text, pem::Part::kPublic));
  ASSIGN_OR_RETURN(auto type, pem::check_key(key.get()));
  return VerifyKey(std::make_shared<const State>(std::move(key), type));
}

Result<VerifyKey> VerifyKey::from_rsa(std::string_view modulus, std::string_view exponent) {
  auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() <= kMaxRsaBytes && text.front() != '\0';
  };
  if (!is_number(modulus) || !is_number(exponent)) {
    return fail(ErrorKind::kInvalid, "an RSA key's numbers must have no leading zeros");
  }
  std::string n = native(modulus);
  std::string e = native(exponent);
  std::array<OSSL_PARAM, 3> params{
      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_N, openssl::writable(n), n.size()),
      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_RSA_E, openssl::writable(e), e.size()),
      OSSL_PARAM_construct_end()};
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
  require(context && EVP_PKEY_fromdata_init(context.get()) == 1);
  EVP_PKEY* made = nullptr;
  int done = EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.data());
  Owned<EVP_PKEY> key(made);
  openssl::forget_errors();
  if (done != 1) return fail(ErrorKind::kInvalid, "the RSA numbers make no key");
  ASSIGN_OR_RETURN(auto type, pem::check_key(key.get()));
  return VerifyKey(std::make_shared<const State>(std::move(key), type));
}

Result<VerifyKey> VerifyKey::from_p256(std::string_view x, std::string_view y) {
  if (x.size() != kP256Bytes || y.size() != kP256Bytes) {
    return fail(ErrorKind::kInvalid, "the coordinates of a P-256 key must be 32 bytes each");
  }
  std::string point = '\x04' + std::string(x) + std::string(y);
  std::string group = "prime256v1";
  std::array<OSSL_PARAM, 3> params{
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group.data(), group.size()),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()),
      OSSL_PARAM_construct_end()};
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  require(context && EVP_PKEY_fromdata_init(context.get()) == 1);
  EVP_PKEY* made = nullptr;
  const int done = EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.data());
  Owned<EVP_PKEY> key(made);
  bool is_point = done == 1;
  if (is_point) {
    Owned<EVP_PKEY_CTX> check(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
    require(check != nullptr);
    is_point = EVP_PKEY_public_check(check.get()) == 1;
  }
  openssl::forget_errors();
  if (!is_point) return fail(ErrorKind::kInvalid, "the coordinates are no point of P-256");
  return VerifyKey(std::make_shared<const State>(std::move(key), KeyType::kP256));
}

Result<VerifyKey> VerifyKey::from_ed25519(std::string_view raw) {
  if (raw.size() != kEd25519Bytes) {
    return fail(ErrorKind::kInvalid, "an Ed25519 public key must be 32 bytes");
  }
  Owned<EVP_PKEY> key(
      EVP_PKEY_new_raw_public_key_ex(nullptr, "ED25519", nullptr, bytes(raw), raw.size()));
  require(key != nullptr);
  return VerifyKey(std::make_shared<const State>(std::move(key), KeyType::kEd25519));
}

KeyType VerifyKey::type() const { return state_->type; }
const std::string& VerifyKey::thumbprint() const { return state_->thumbprint; }
const std::string& VerifyKey::canonical_jwk() const { return state_->jwk; }

bool VerifyKey::verify(SignatureAlgorithm algorithm, std::string_view data,
                       std::string_view signature) const {
  if (key_type(algorithm) != type()) return false;
  if (type() == KeyType::kEd25519) return verify_ed25519(state_->key.get(), data, signature);
  if (type() == KeyType::kP256) return verify_es256(state_->key.get(), data, signature);
  return state_->rsa->of(algorithm).verify(data, signature);
}

std::string VerifyKey::to_pem() const {
  Owned<BIO> out(BIO_new(BIO_s_mem()));
  require(out && PEM_write_bio_PUBKEY_ex(out.get(), state_->key.get(), nullptr, nullptr) == 1);
  char* text = nullptr;
  long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace base::crypto
