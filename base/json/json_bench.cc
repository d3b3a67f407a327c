#include <benchmark/benchmark.h>

#include "base/json/json.h"

namespace base::json {
namespace {

// The shape of a table's metadata: many small objects, integers and texts.
std::string make_document() {
  std::string text = R"({"format-version":2,"snapshots":[)";
  for (int i = 0; i < 500; ++i) {
    if (i > 0) text += ',';
    std::string n = std::to_string(4'000'000'000'000 + i);
    text += R"({"snapshot-id":)" + n + R"(,"timestamp-ms":)" + n +
            R"(,"manifest-list":"s3://lakehouse/data/main/table/metadata/snap-)" + n +
            R"(.avro","share":0.25,"summary":{"operation":"append","total-records":")" + n +
            R"("}})";
  }
  return text + "]}";
}

void BM_Parse(benchmark::State& state) {
  std::string text = make_document();
  for (auto _ : state) benchmark::DoNotOptimize(parse(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_Parse);

void BM_Write(benchmark::State& state) {
  std::string text = make_document();
  Value value = *parse(text);
  for (auto _ : state) benchmark::DoNotOptimize(write(value));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_Write);

}  // namespace
}  // namespace base::json
