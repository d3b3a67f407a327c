#include <benchmark/benchmark.h>

#include "base/jose/jwt.h"

namespace base::jose {
namespace {

constexpr std::int64_t kNow = 1'795'251'600;

json::Object claims() {
  return {{"iss", "https://issuer.example"},
          {"aud", "api://tools"},
          {"sub", "agent-7"},
          {"iat", kNow},
          {"exp", kNow + 900},
          {"jti", "01J0000000000000000000000"},
          {"scope", "cap:list tool:invoke:db.query tool:describe:db.query"}};
}

Signer signer_of(Algorithm algorithm) {
  if (algorithm == Algorithm::kHs256) return Signer::hs256(std::string(32, 's'), "k1").value();
  auto type = algorithm == Algorithm::kEdDsa ? crypto::KeyType::kEd25519 : crypto::KeyType::kRsa;
  return Signer::with_key(algorithm, crypto::SigningKey::generate(type), "k1").value();
}

void jwt_sign(benchmark::State& state, Algorithm algorithm) {
  Signer signer = signer_of(algorithm);
  auto object = claims();
  for (auto _ : state) benchmark::DoNotOptimize(sign(signer, "at+jwt", object));
}
BENCHMARK_CAPTURE(jwt_sign, hs256, Algorithm::kHs256);
BENCHMARK_CAPTURE(jwt_sign, ps256_3072, Algorithm::kPs256);
BENCHMARK_CAPTURE(jwt_sign, eddsa, Algorithm::kEdDsa);

void jwt_verify(benchmark::State& state, Algorithm algorithm) {
  Signer signer = signer_of(algorithm);
  std::string token = sign(signer, "at+jwt", claims()).value();
  Verifier verifier = signer.verifier();
  Rules rules{.header = {.algorithm = algorithm, .types = {"at+jwt"}},
              .issuer = "https://issuer.example",
              .audience = "api://tools"};
  WallTime now{std::chrono::seconds(kNow)};
  for (auto _ : state) {
    if (!verify(token, verifier, rules, now)) state.SkipWithError("not verified");
  }
}
BENCHMARK_CAPTURE(jwt_verify, hs256, Algorithm::kHs256);
BENCHMARK_CAPTURE(jwt_verify, rs256_3072, Algorithm::kRs256);
BENCHMARK_CAPTURE(jwt_verify, ps256_3072, Algorithm::kPs256);
BENCHMARK_CAPTURE(jwt_verify, eddsa, Algorithm::kEdDsa);

}  // namespace
}  // namespace base::jose
