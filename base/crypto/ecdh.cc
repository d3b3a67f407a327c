#include "base/crypto/ecdh.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/crypto/digest.h"
#include "base/crypto/openssl.h"

namespace base::crypto {
namespace {

using openssl::bytes;
using openssl::Owned;
using openssl::require;

constexpr std::size_t kPrivateBytes = 32;  // Of both groups, and of the secret.
constexpr std::size_t kX25519ShareBytes = 32;
constexpr std::size_t kP256ShareBytes = 65;
constexpr char kUncompressed = 4;  // SEC 1, section 2.3.3

struct CurveFreed {
  void operator()(EC_GROUP* p) const { EC_GROUP_free(p); }
  void operator()(EC_POINT* p) const { EC_POINT_clear_free(p); }
  void operator()(BN_CTX* p) const { BN_CTX_free(p); }
};
template <class T>
using OwnedCurve = std::unique_ptr<T, CurveFreed>;

const EC_GROUP* p256() {
  static const OwnedCurve<EC_GROUP> group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  require(group != nullptr);
  return group.get();
}

Error bad_share() { return fail(ErrorKind::kInvalid, "the peer's key share is not valid"); }

// A P-256 key from its octets; `secret` is null for a peer's share. OpenSSL
// checks that the point is on the curve.
Owned<EVP_PKEY> p256_key(std::string share, SecretBytes* secret) {
  std::array<char, 6> curve{"P-256"};
  std::array<OSSL_PARAM, 4> params{
      OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, share.data(), share.size()),
      OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end()};
  int selection = EVP_PKEY_PUBLIC_KEY;
  if (secret != nullptr) {
    // A number in a parameter has the machine's byte order.
    static_assert(std::endian::native == std::endian::little);
    std::ranges::reverse(secret->writable());
    params[2] = OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, secret->writable().data(),
                                        secret->size());
    selection = EVP_PKEY_KEYPAIR;
  }
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  require(context && EVP_PKEY_fromdata_init(context.get()) == 1);
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata(context.get(), &key, selection, params.data()) != 1) return nullptr;
  return Owned<EVP_PKEY>(key);
}

// The point of a private number; nothing when it is 0 or not below the order.
std::optional<std::string> p256_share(std::string_view secret) {
  Owned<BIGNUM> number(BN_secure_new());
  require(number && BN_bin2bn(bytes(secret), kPrivateBytes, number.get()) != nullptr);
  BN_set_flags(number.get(), BN_FLG_CONSTTIME);
  if (BN_is_zero(number.get()) || BN_cmp(number.get(), EC_GROUP_get0_order(p256())) >= 0) {
    return std::nullopt;
  }
  OwnedCurve<EC_POINT> point(EC_POINT_new(p256()));
  OwnedCurve<BN_CTX> scratch(BN_CTX_secure_new());
  require(point && scratch);
  std::string share(kP256ShareBytes, '\0');
  require(EC_POINT_mul(p256(), point.get(), number.get(), nullptr, nullptr, scratch.get()) == 1 &&
          EC_POINT_point2oct(p256(), point.get(), POINT_CONVERSION_UNCOMPRESSED,
                             openssl::writable(share), share.size(),
                             scratch.get()) == kP256ShareBytes);
  return share;
}

// The public key of a peer's share, or null.
Owned<EVP_PKEY> peer_key(Group group, std::string_view share) {
  if (group == Group::kX25519) {
    if (share.size() != kX25519ShareBytes) return nullptr;
    return Owned<EVP_PKEY>(
        EVP_PKEY_new_raw_public_key_ex(nullptr, "X25519", nullptr, bytes(share), share.size()));
  }
  // Other lengths are compressed points, hybrid ones and the one at infinity.
  if (share.size() != kP256ShareBytes || share.front() != kUncompressed) return nullptr;
  return p256_key(std::string(share), nullptr);
}

std::optional<SecretBytes> derive(EVP_PKEY* own, EVP_PKEY* peer) {
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_pkey(nullptr, own, nullptr));
  require(context && EVP_PKEY_derive_init(context.get()) == 1);
  SecretBytes secret(kPrivateBytes);
  std::size_t size = secret.size();
  if (EVP_PKEY_derive_set_peer_ex(context.get(), peer, 1) != 1 ||
      EVP_PKEY_derive(context.get(), secret.writable().data(), &size) != 1 ||
      size != secret.size()) {
    return std::nullopt;
  }
  return secret;
}

}  // namespace

struct EphemeralKey::State {
  Group group;
  std::string share;
  Owned<EVP_PKEY> key;
};

EphemeralKey::EphemeralKey(std::unique_ptr<State> state) : state_(std::move(state)) {}
EphemeralKey::EphemeralKey(EphemeralKey&&) noexcept = default;
EphemeralKey& EphemeralKey::operator=(EphemeralKey&&) noexcept = default;
EphemeralKey::~EphemeralKey() = default;

EphemeralKey EphemeralKey::generate(Group group, Random& random) {
  SecretBytes secret(kPrivateBytes);
  // A number at or above the order of P-256 comes once in 2^32 tries; a source
  // that gives nothing else is broken.
  for (int attempt = 0; attempt < 16; ++attempt) {
    random.fill(std::as_writable_bytes(secret.writable()));
    auto key = from_private_bytes(group, secret.reveal());
    if (key) return std::move(*key);
  }
  std::abort();
}

Result<EphemeralKey> EphemeralKey::from_private_bytes(Group group, std::string_view secret) {
  if (secret.size() != kPrivateBytes) {
    return fail(ErrorKind::kInvalid, "a private key must be 32 bytes");
  }
  auto state = std::make_unique<State>(group, std::string());
  if (group == Group::kX25519) {
    state->key.reset(
        EVP_PKEY_new_raw_private_key_ex(nullptr, "X25519", nullptr, bytes(secret), secret.size()));
    state->share.resize(kX25519ShareBytes);
    std::size_t size = state->share.size();
    require(state->key && EVP_PKEY_get_raw_public_key(state->key.get(),
                                                      openssl::writable(state->share), &size) == 1);
    return EphemeralKey(std::move(state));
  }
  auto share = p256_share(secret);
  if (!share) return fail(ErrorKind::kInvalid, "a private key must be between 0 and the order");
  state->share = std::move(*share);
  SecretBytes copy = SecretBytes::copy_of(secret);
  state->key = p256_key(state->share, &copy);
  require(state->key != nullptr);
  return EphemeralKey(std::move(state));
}

Group EphemeralKey::group() const { return state_->group; }
const std::string& EphemeralKey::public_share() const { return state_->share; }

Result<SecretBytes> EphemeralKey::agree(std::string_view peer_share) && {
  auto state = std::move(state_);  // Gone at the end, and its private part wiped.
  auto peer = peer_key(state->group, peer_share);
  auto secret = peer ? derive(state->key.get(), peer.get()) : std::nullopt;
  openssl::forget_errors();
  if (!secret) return bad_share();
  // An all-zero secret is one that anybody can name. RFC 7748, section 6.1.
  constexpr std::array<char, kPrivateBytes> kZeros{};
  if (equal(secret->reveal(), {kZeros.data(), kZeros.size()})) return bad_share();
  return std::move(*secret);
}

}  // namespace base::crypto
