#include "base/crypto/aead.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/crypto/openssl.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

enum Direction : int { kOpening = 0, kSealing = 1 };

const EVP_CIPHER* cipher_of(Aead::Algorithm algorithm) {
  static const Owned<EVP_CIPHER> aes(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  static const Owned<EVP_CIPHER> chacha(EVP_CIPHER_fetch(nullptr, "ChaCha20-Poly1305", nullptr));
  const auto& cipher = algorithm == Aead::Algorithm::kAes256Gcm ? aes : chacha;
  require(cipher != nullptr);
  return cipher.get();
}

Owned<EVP_CIPHER_CTX> with_key(Aead::Algorithm algorithm, std::string_view key, Direction to) {
  Owned<EVP_CIPHER_CTX> context(EVP_CIPHER_CTX_new());
  require(context && EVP_CipherInit_ex2(context.get(), cipher_of(algorithm), bytes(key), nullptr,
                                        to, nullptr) == 1);
  return context;
}

// Starts a record: the nonce, and the additional data.
void begin(EVP_CIPHER_CTX* context, const Aead::Nonce& nonce, std::string_view aad, Direction to) {
  require(context != nullptr);
  require(EVP_CipherInit_ex2(context, nullptr, nullptr, nonce.data(), to, nullptr) == 1);
  int size = 0;
  require(aad.size() <= Aead::kMaxBytes);
  if (aad.empty()) return;
  require(EVP_CipherUpdate(context, nullptr, &size, bytes(aad), static_cast<int>(aad.size())) == 1);
}

void transform(EVP_CIPHER_CTX* context, std::string_view in, unsigned char* out) {
  int size = 0;
  if (in.empty()) return;
  require(EVP_CipherUpdate(context, out, &size, bytes(in), static_cast<int>(in.size())) == 1);
}

Error not_authentic() { return fail(ErrorKind::kInvalid, "the record is not authentic"); }

}  // namespace

struct Aead::State {
  Owned<EVP_CIPHER_CTX> sealing;
  Owned<EVP_CIPHER_CTX> opening;
};

Aead::Aead(std::unique_ptr<State> state) : state_(std::move(state)) {}
Aead::Aead(Aead&&) noexcept = default;
Aead& Aead::operator=(Aead&&) noexcept = default;
Aead::~Aead() = default;

Result<Aead> Aead::create(Algorithm algorithm, std::string_view key, Use use) {
  if (key.size() != kKeyBytes) return fail(ErrorKind::kInvalid, "the key must be 32 bytes");
  auto state = std::make_unique<State>();
  if (use != Use::kOpening) state->sealing = with_key(algorithm, key, kSealing);
  if (use != Use::kSealing) state->opening = with_key(algorithm, key, kOpening);
  return Aead(std::move(state));
}

void Aead::seal_into(const Nonce& nonce, std::string_view aad, std::string_view plaintext,
                     std::string& out) {
  require(plaintext.size() <= kMaxBytes);
  std::size_t start = out.size();
  out.resize(start + plaintext.size() + kTagBytes);
  unsigned char* to = openssl::writable(out) + start;
  EVP_CIPHER_CTX* context = state_->sealing.get();
  begin(context, nonce, aad, kSealing);
  transform(context, plaintext, to);
  unsigned char* tag = to + plaintext.size();
  int size = 0;
  require(EVP_CipherFinal_ex(context, tag, &size) == 1 && size == 0);
  require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1);
}

Status Aead::open_into(const Nonce& nonce, std::string_view aad, std::string_view sealed,
                       std::string& out) {
  if (sealed.size() < kTagBytes || sealed.size() - kTagBytes > kMaxBytes ||
      aad.size() > kMaxBytes) {
    return not_authentic();
  }
  std::string_view ciphertext = sealed.substr(0, sealed.size() - kTagBytes);
  std::array<unsigned char, kTagBytes> tag;
  std::copy_n(bytes(sealed) + ciphertext.size(), kTagBytes, tag.begin());
  std::size_t start = out.size();
  // One byte more than the plaintext, as a place for a final part of length 0.
  out.resize(start + ciphertext.size() + 1);
  unsigned char* to = openssl::writable(out) + start;
  EVP_CIPHER_CTX* context = state_->opening.get();
  begin(context, nonce, aad, kOpening);
  transform(context, ciphertext, to);
  require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1);
  int size = 0;
  if (EVP_CipherFinal_ex(context, to + ciphertext.size(), &size) != 1) {
    // Nobody may see a plaintext that nobody vouches for.
    OPENSSL_cleanse(to, ciphertext.size());
    out.resize(start);
    openssl::forget_errors();
    return not_authentic();
  }
  out.resize(start + ciphertext.size());
  return {};
}

std::string Aead::seal(const Nonce& nonce, std::string_view aad, std::string_view plaintext) {
  std::string out;
  out.reserve(plaintext.size() + kTagBytes);
  seal_into(nonce, aad, plaintext, out);
  return out;
}

Result<std::string> Aead::open(const Nonce& nonce, std::string_view aad, std::string_view sealed) {
  std::string out;
  out.reserve(sealed.size());
  RETURN_IF_ERROR(open_into(nonce, aad, sealed, out));
  return out;
}

}  // namespace base::crypto
