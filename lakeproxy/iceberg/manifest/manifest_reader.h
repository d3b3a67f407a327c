#pragma once

// Reads manifests and manifest lists that clients wrote: any writer, format
// versions 1 to 3, fields in any order, unknown fields passed over. Fields are
// found by their field ids, and by name where a writer left the ids out.
// Source: Iceberg table specification, "Manifests", "Manifest Lists",
// "Version 1" and "Version 3" in Appendix E.

#include <optional>
#include <string_view>
#include <vector>

#include "base/avro/container_reader.h"
#include "base/core/result.h"
#include "lakeproxy/iceberg/manifest/manifest.h"
#include "lakeproxy/iceberg/manifest/manifest_header.h"

namespace lake::materialize {

/// A byte of a hostile file may cost a hundred in memory, so the values that
/// are kept are bounded besides the bytes that are read.
struct ManifestLimits {
  base::avro::ReadLimits avro{.file_bytes = 128UL * 1024 * 1024,
                              .total_bytes = 512UL * 1024 * 1024,
                              .datum_bytes = 16UL * 1024 * 1024};
  std::size_t entries = 1'000'000;     ///< Of a manifest; rows of a list.
  std::size_t statistics = 4'000'000;  ///< Columns with statistics, over all files.
};

struct Manifest {
  model::ManifestHeader header;
  std::vector<model::ManifestEntry> entries;
  std::size_t unpacked_bytes = 0;  ///< Of all blocks.
};

/// All entries, deleted ones included. Partition tuples are in the order of
/// the header's spec; a spec field that the file does not hold is null.
/// Sequence numbers of version 1 are 0; what is absent in later versions is
/// left absent, to be inherited from the manifest list. With `headers` the header is
/// taken from there, or left there.
/// Errors: kCorrupt  not Avro, cut off, a header or a value that breaks the
///         format, a path over 4,096 bytes; kUnsupported  format version over 3 or an unknown
///         codec; kTooLarge  over a limit.
[[nodiscard]] base::Result<Manifest> read_manifest(std::string_view file,
                                                   ManifestLimits limits = {},
                                                   ManifestHeaders* headers = nullptr);

/// The rows of a manifest list, of any format version. Counts that a list of
/// version 1 leaves out are -1: unknown until the manifest is read.
/// Errors: as read_manifest().
[[nodiscard]] base::Result<std::vector<model::ManifestFile>> read_manifest_list(
    std::string_view file, ManifestLimits limits = {}, ManifestHeaders* headers = nullptr);

}  // namespace lake::materialize
