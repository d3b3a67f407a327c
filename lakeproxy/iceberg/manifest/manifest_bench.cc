// How long a manifest of 10,000 files with statistics of 20 columns takes.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/avro/codec.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"
#include "lakeproxy/iceberg/value/single_value.h"

namespace lake::materialize {
namespace {

constexpr int kFiles = 10'000;
constexpr int kColumns = 20;

model::ManifestHeader header() {
  model::ManifestHeader out;
  for (int i = 1; i <= kColumns; ++i) {
    const auto kind = i % 3 == 0 ? model::TypeKind::kString : model::TypeKind::kLong;
    out.schema.fields.push_back(
        {.id = i, .name = "column_" + std::to_string(i), .type = model::Type(kind)});
  }
  out.spec.fields = {{1, 1000, "part", {model::TransformKind::kBucket, 64}}};
  return out;
}

std::vector<model::ManifestEntry> entries() {
  std::vector<model::ManifestEntry> out;
  for (int i = 0; i < kFiles; ++i) {
    model::ManifestEntry entry{.snapshot_id = model::SnapshotId(1)};
    model::DataFile& file = entry.data_file;
    file.file_path = "s3://warehouse/main/orders/ducklake-0198f6b2-7c1e-7a" +
                     std::to_string(100'000 + i) + ".parquet";
    file.partition = {model::Literal(i % 64)};
    file.record_count = 100'000 + i;
    file.file_size_in_bytes = 4'000'000 + i * 7;
    for (int column = 1; column <= kColumns; ++column) {
      model::ColumnMetrics& metrics = file.metrics[column];
      metrics.column_size = 10'000 + i * column;
      metrics.value_count = file.record_count;
      metrics.null_count = i % column;
      const std::int64_t low = std::int64_t{i} * 1'000'003 + column;
      const bool is_text = column % 3 == 0;
      metrics.lower_bound = is_text ? "customer#" + std::to_string(low) : encode_single_value(low);
      metrics.upper_bound =
          is_text ? "customer#" + std::to_string(low + i) : encode_single_value(low + i);
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string encode_or_exit(const std::vector<model::ManifestEntry>& rows, base::avro::Codec codec) {
  auto file = encode_manifest_v2(header(), rows, codec);
  if (!file) std::abort();
  return std::move(*file);
}

void encode_manifest(benchmark::State& state, base::avro::Codec codec) {
  const auto rows = entries();
  std::size_t size = 0;
  for (auto _ : state) size = encode_or_exit(rows, codec).size();
  state.counters["bytes"] = static_cast<double>(size);
}

void decode_manifest(benchmark::State& state, base::avro::Codec codec) {
  const std::string file = encode_or_exit(entries(), codec);
  for (auto _ : state) {
    auto manifest = read_manifest(file);
    if (!manifest || manifest->entries.size() != kFiles) std::abort();
    benchmark::DoNotOptimize(manifest);
  }
}

using Bench = void (*)(benchmark::State&, base::avro::Codec);

// BENCHMARK_CAPTURE's __COUNTER__ is an extension that our flags refuse.
int add(const char* name, Bench bench, base::avro::Codec codec) {
  benchmark::RegisterBenchmark(name, bench, codec)->Unit(benchmark::kMillisecond);
  return 0;
}

[[maybe_unused]] const int kAdded =
    add("encode/null", encode_manifest, base::avro::Codec::kNull) +
    add("encode/deflate", encode_manifest, base::avro::Codec::kDeflate) +
    add("encode/zstandard", encode_manifest, base::avro::Codec::kZstandard) +
    add("decode/null", decode_manifest, base::avro::Codec::kNull) +
    add("decode/deflate", decode_manifest, base::avro::Codec::kDeflate);

}  // namespace
}  // namespace lake::materialize
