#include <benchmark/benchmark.h>

#include "toolserver/pipeline/fixture_test.h"

namespace tool::pipeline {
namespace {

// Lends the fixture to a benchmark.
class Bench final : public testing::PipelineTest {
 public:
  Bench() {
    options_.rate.burst = 1e12;
    add({testing::capability("t.a")});
  }
  void TestBody() override {}
  bool call() { return ask(testing::call_of("t.a", R"({"n":1})")).has_value(); }
};

void call_of_an_empty_tool(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    if (!bench.call()) state.SkipWithError("refused");
  }
}
BENCHMARK(call_of_an_empty_tool)->UseRealTime();

}  // namespace
}  // namespace tool::pipeline
