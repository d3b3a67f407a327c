#include "base/crypto/signing_key.h"

#include <openssl/ecdsa.h>
#include <openssl/pem.h>

#include <array>

#include "base/crypto/key_state.h"
#include "base/crypto/pem.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

constexpr std::size_t kRsaBits = 3072;  // 128 bits of strength. NIST SP 800-57, part 1, table 2.
constexpr std::size_t kEd25519SignatureBytes = 64;
constexpr int kP256Bytes = 32;

std::string sign_ed25519(EVP_PKEY* key, std::string_view data) {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr, key,
                                           nullptr) == 1);
  std::string out(kEd25519SignatureBytes, '\0');
  std::size_t size = out.size();
  require(EVP_DigestSign(context.get(), openssl::writable(out), &size, bytes(data), data.size()) ==
          1);
  return out;
}

// Source: RFC 7518, section 3.4.
std::string sign_es256(EVP_PKEY* key, std::string_view data) {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  require(context && EVP_DigestSignInit_ex(context.get(), nullptr, "SHA256", nullptr, nullptr, key,
                                           nullptr) == 1);
  std::string der(128, '\0');
  std::size_t size = der.size();
  require(EVP_DigestSign(context.get(), openssl::writable(der), &size, bytes(data), data.size()) ==
          1);
  const unsigned char* at = bytes(der);
  ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size));
  require(parts != nullptr);
  std::string out(2 * kP256Bytes, '\0');
  const bool written =
      BN_bn2binpad(ECDSA_SIG_get0_r(parts), openssl::writable(out), kP256Bytes) == kP256Bytes &&
      BN_bn2binpad(ECDSA_SIG_get0_s(parts), openssl::writable(out) + kP256Bytes, kP256Bytes) ==
          kP256Bytes;
  ECDSA_SIG_free(parts);
  require(written);
  return out;
}

// The public half as an object of its own, so that nothing private hangs on it.
Owned<EVP_PKEY> public_half(EVP_PKEY* key) {
  Owned<BIO> bio(BIO_new(BIO_s_mem()));
  require(bio && i2d_PUBKEY_bio(bio.get(), key) == 1);
  Owned<EVP_PKEY> out(d2i_PUBKEY_bio(bio.get(), nullptr));
  require(out != nullptr);
  return out;
}

// By the curve's name; one that is written out is refused.
bool is_p256(const EVP_PKEY* key) {
  std::array<char, 64> name{};
  std::size_t size = 0;
  const bool is_named = EVP_PKEY_is_a(key, "EC") == 1 &&
                        EVP_PKEY_get_group_name(key, name.data(), name.size(), &size) == 1;
  openssl::forget_errors();
  return is_named && std::string_view(name.data(), size) == "prime256v1";
}

// Whether the halves belong together: a mixed-up file would make signatures
// that nobody can check.
bool fits(EVP_PKEY* key) {
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  require(context != nullptr);
  bool ok = EVP_PKEY_pairwise_check(context.get()) == 1;
  openssl::forget_errors();
  return ok;
}

}  // namespace

struct SigningKey::State {
  State(Owned<EVP_PKEY> checked, VerifyKey its_public)
      : key(std::move(checked)), public_key(std::move(its_public)) {
    if (public_key.type() == KeyType::kRsa) {
      rsa = std::make_unique<const RsaContexts>(key.get(), RsaUse::kSign);
    }
  }

  Owned<EVP_PKEY> key;
  VerifyKey public_key;
  std::unique_ptr<const RsaContexts> rsa;
};

SigningKey::SigningKey(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<SigningKey> SigningKey::from_pem(std::string_view text, P256 p256) {
  ASSIGN_OR_RETURN(auto key, pem::read_key(text, pem::Part::kPrivate));
  KeyType type = KeyType::kP256;
  if (p256 == P256::kRefused || !is_p256(key.get())) {
    ASSIGN_OR_RETURN(type, pem::check_key(key.get()));
  }
  if (!fits(key.get())) {
    return fail(ErrorKind::kInvalid, "the private key's parts do not belong together");
  }
  VerifyKey half(std::make_shared<const VerifyKey::State>(public_half(key.get()), type));
  return SigningKey(std::make_shared<const State>(std::move(key), std::move(half)));
}

SigningKey SigningKey::generate(KeyType type) {
  Owned<EVP_PKEY> key(type == KeyType::kRsa ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kRsaBits)
                      : type == KeyType::kP256 ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                               : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  require(key != nullptr);
  VerifyKey half(std::make_shared<const VerifyKey::State>(public_half(key.get()), type));
  return SigningKey(std::make_shared<const State>(std::move(key), std::move(half)));
}

KeyType SigningKey::type() const { return verify_key().type(); }
const VerifyKey& SigningKey::verify_key() const { return state_->public_key; }

Result<std::string> SigningKey::sign(SignatureAlgorithm algorithm, std::string_view data) const {
  if (key_type(algorithm) != type()) {
    return fail(ErrorKind::kInvalid, "the key is of another kind than the algorithm");
  }
  if (type() == KeyType::kEd25519) return sign_ed25519(state_->key.get(), data);
  if (type() == KeyType::kP256) return sign_es256(state_->key.get(), data);
  return state_->rsa->of(algorithm).sign(data);
}

SecretBytes SigningKey::to_pem() const {
  // A memory BIO clears its bytes when it grows and when it is freed.
  Owned<BIO> out(BIO_new(BIO_s_mem()));
  require(out && PEM_write_bio_PKCS8PrivateKey(out.get(), state_->key.get(), nullptr, nullptr, 0,
                                               nullptr, nullptr) == 1);
  char* text = nullptr;
  long size = BIO_get_mem_data(out.get(), &text);
  return SecretBytes::copy_of({text, static_cast<std::size_t>(size)});
}

}  // namespace base::crypto
