// Any bytes as an Avro file, as a manifest and as a manifest list: what is read keeps the limits,
// and what can be written again is read as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/avro/container_reader.h"
#include "lakeproxy/iceberg/manifest/manifest_list_parts.h"
#include "lakeproxy/iceberg/manifest/manifest_reader.h"
#include "lakeproxy/iceberg/manifest/manifest_versions.h"

namespace {

using namespace lake::materialize;  // NOLINT: this file is about nothing else.
using base::avro::Codec;

constexpr ManifestLimits kLimits{
    .avro = {.file_bytes = 1 << 20,
             .block_bytes = 1 << 20,
             .total_bytes = 4 << 20,
             .datum_bytes = 1 << 20,
             .metadata_entries = 64,
             .schema = {.nodes = 2'000},
             .decode = {.datum_values = 20'000, .total_values = 100'000}},
    .entries = 1'000,
    .statistics = 1'000};

void require(bool holds) {
  if (!holds) std::abort();
}

void check_container(std::string_view bytes) {
  auto reader = base::avro::ContainerReader::open(bytes, kLimits.avro);
  if (!reader) return;
  require(reader->metadata().size() <= kLimits.avro.metadata_entries);
  for (;;) {
    const auto datum = reader->next();
    require(reader->unpacked_bytes() <= kLimits.avro.total_bytes || !datum);
    if (!datum || !*datum) return;
  }
}

void check_manifest(std::string_view bytes) {
  const auto manifest = read_manifest(bytes, kLimits);
  if (!manifest) return;
  require(manifest->entries.size() <= kLimits.entries);
  for (const auto& entry : manifest->entries) {
    require(entry.data_file.file_path.size() <= 4'096);
    require(entry.data_file.partition.size() == manifest->header.spec.fields.size());
  }
  const auto written = encode_manifest_v3(manifest->header, manifest->entries, Codec::kNull);
  if (!written) return;  // What others write breaks rules that ours keeps.
  const auto again = read_manifest(*written, kLimits);
  if (!again) return require(again.error().kind() == base::ErrorKind::kTooLarge);
  // Not compared as values: no number equals NaN.
  const auto same = encode_manifest_v3(again->header, again->entries, Codec::kNull);
  require(same && *same == *written);
}

void check_list(std::string_view bytes) {
  const auto list = read_manifest_list(bytes, kLimits);
  if (!list) return;
  require(list->size() <= kLimits.entries);
  const ManifestListHeader header{.snapshot_id = lake::model::SnapshotId(7),
                                  .parent_snapshot_id = std::nullopt,
                                  .sequence_number = 1};
  const auto written = encode_manifest_list_v2(header, *list, Codec::kNull);
  if (!written) return;
  const auto again = read_manifest_list(*written, kLimits);
  if (!again) return require(again.error().kind() == base::ErrorKind::kTooLarge);
  const auto same = encode_manifest_list_v2(header, *again, Codec::kNull);
  require(same && *same == *written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_container(bytes);
  check_manifest(bytes);
  check_list(bytes);
  return 0;
}
