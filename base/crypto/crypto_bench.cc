#include <benchmark/benchmark.h>

#include "base/core/clock.h"
#include "base/crypto/aead.h"
#include "base/crypto/digest.h"
#include "base/crypto/ecdh.h"
#include "base/crypto/encoding.h"
#include "base/crypto/signing_key.h"

namespace base::crypto {
namespace {

std::string data_of(const benchmark::State& state) {
  return std::string(static_cast<std::size_t>(state.range(0)), 'd');
}

void BM_Sha256(benchmark::State& state) {
  std::string data = data_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(sha256(data));
}
BENCHMARK(BM_Sha256)->Arg(256)->Arg(16384);

void BM_HmacKey(benchmark::State& state) {
  HmacKey key(std::string(32, 'k'));
  std::string data = data_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(key.mac(data));
}
BENCHMARK(BM_HmacKey)->Arg(256)->Arg(1024)->Arg(16384);

void BM_HmacOnce(benchmark::State& state) {
  std::string key(32, 'k');
  std::string data = data_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(hmac_sha256(key, data));
}
BENCHMARK(BM_HmacOnce)->Arg(256);

void seal(benchmark::State& state, Aead::Algorithm algorithm) {
  Aead aead = Aead::create(algorithm, std::string(32, 'k')).value();
  std::string data = data_of(state);
  std::string out;
  Aead::Nonce nonce{};
  for (auto _ : state) {
    out.clear();
    ++nonce[state.iterations() % 8];
    aead.seal_into(nonce, "header of a record", data, out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK_CAPTURE(seal, aes256gcm, Aead::Algorithm::kAes256Gcm)->Arg(256)->Arg(16384);
BENCHMARK_CAPTURE(seal, chacha20poly1305, Aead::Algorithm::kChaCha20Poly1305)->Arg(256)->Arg(16384);

void open(benchmark::State& state, Aead::Algorithm algorithm) {
  Aead aead = Aead::create(algorithm, std::string(32, 'k')).value();
  Aead::Nonce nonce{};
  std::string sealed = aead.seal(nonce, "header of a record", data_of(state));
  std::string out;
  for (auto _ : state) {
    out.clear();
    if (!aead.open_into(nonce, "header of a record", sealed, out))
      state.SkipWithError("not opened");
  }
}
BENCHMARK_CAPTURE(open, aes256gcm, Aead::Algorithm::kAes256Gcm)->Arg(256)->Arg(16384);
BENCHMARK_CAPTURE(open, chacha20poly1305, Aead::Algorithm::kChaCha20Poly1305)->Arg(256);

void handshake(benchmark::State& state, Group group) {
  SystemRandom random;
  std::string peer = EphemeralKey::generate(group, random).public_share();
  for (auto _ : state) {
    benchmark::DoNotOptimize(EphemeralKey::generate(group, random).agree(peer));
  }
}
BENCHMARK_CAPTURE(handshake, x25519, Group::kX25519);
BENCHMARK_CAPTURE(handshake, p256, Group::kP256);

void sign(benchmark::State& state, KeyType type, SignatureAlgorithm algorithm) {
  SigningKey key = SigningKey::generate(type);
  std::string data(512, 'd');
  for (auto _ : state) benchmark::DoNotOptimize(key.sign(algorithm, data));
}
BENCHMARK_CAPTURE(sign, rs256_3072, KeyType::kRsa, SignatureAlgorithm::kRs256);
BENCHMARK_CAPTURE(sign, ps256_3072, KeyType::kRsa, SignatureAlgorithm::kPs256);
BENCHMARK_CAPTURE(sign, ed25519, KeyType::kEd25519, SignatureAlgorithm::kEd25519);

void verify(benchmark::State& state, KeyType type, SignatureAlgorithm algorithm) {
  SigningKey key = SigningKey::generate(type);
  std::string data(512, 'd');
  std::string signature = key.sign(algorithm, data).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(key.verify_key().verify(algorithm, data, signature));
  }
}
BENCHMARK_CAPTURE(verify, rs256_3072, KeyType::kRsa, SignatureAlgorithm::kRs256);
BENCHMARK_CAPTURE(verify, ps256_3072, KeyType::kRsa, SignatureAlgorithm::kPs256);
BENCHMARK_CAPTURE(verify, ed25519, KeyType::kEd25519, SignatureAlgorithm::kEd25519);

void BM_Base64Url(benchmark::State& state) {
  std::string data = data_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(from_base64url(to_base64url(data), 1 << 20));
}
BENCHMARK(BM_Base64Url)->Arg(1024);

}  // namespace
}  // namespace base::crypto
