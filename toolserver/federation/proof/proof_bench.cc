#include <benchmark/benchmark.h>

#include "toolserver/federation/proof/fixture_test.h"

namespace tool::federation {
namespace {

using base::crypto::SignatureAlgorithm;
using testing::Known;

constexpr std::size_t kProofBytes = 700;  // Of a signed proof of one step.

void ed25519_sign(benchmark::State& state) {
  const auto& key = testing::key_of("node-a");
  const std::string proof(kProofBytes, 'x');
  for (auto _ : state) benchmark::DoNotOptimize(key.sign(SignatureAlgorithm::kEd25519, proof));
}
BENCHMARK(ed25519_sign);

void ed25519_verify(benchmark::State& state) {
  const auto& key = testing::key_of("node-a");
  const std::string proof(kProofBytes, 'x');
  const std::string signature = key.sign(SignatureAlgorithm::kEd25519, proof).value();
  for (auto _ : state) {
    if (!key.verify_key().verify(SignatureAlgorithm::kEd25519, proof, signature)) {
      state.SkipWithError("not verified");
    }
  }
}
BENCHMARK(ed25519_verify);

// The two ends of a step: the proof of a call is made by one node, and taken by
// the other.
struct Nodes {
  explicit Nodes(Known known)
      : a(testing::node("node-a", {"node-b"}, known)),
        b(testing::node("node-b", {"node-a"}, known)) {}

  Outcome<std::vector<std::string>> make() {
    return take_step(*a, call, {"node-b", "sql.query", testing::kSession, 4}, clock.now, random);
  }
  Outcome<Forwarded> take(std::vector<std::string> proofs) {
    return accept(*b, *memory, {"node-a", testing::kSession, "sql.query", &args, std::move(proofs)},
                  4, clock.now);
  }

  testing::FixedClock clock;
  base::SystemRandom random;
  base::json::Object args{{"text", std::string(256, 'x')}};
  Invocation call = testing::call_of(args);
  std::unique_ptr<ProofMemory> memory = std::make_unique<ProofMemory>(random);
  std::unique_ptr<NodeKeys> a;
  std::unique_ptr<NodeKeys> b;
};

void step(benchmark::State& state, Known known) {
  constexpr int kRemembered = 200'000;  // Below what the memory of proofs holds.
  Nodes nodes(known);
  int left = kRemembered;
  for (auto _ : state) {
    if (--left == 0) {
      nodes.memory = std::make_unique<ProofMemory>(nodes.random);
      left = kRemembered;
    }
    auto proofs = nodes.make();
    if (!proofs || !nodes.take(std::move(*proofs))) state.SkipWithError("refused");
  }
}
void proof_by_key(benchmark::State& state) { step(state, Known::kByKey); }
BENCHMARK(proof_by_key);
void proof_by_shared_secret(benchmark::State& state) { step(state, Known::kBySecret); }
BENCHMARK(proof_by_shared_secret);

}  // namespace
}  // namespace tool::federation
