#pragma once

// The deletion vectors that one snapshot adds, as Iceberg's format version 3
// has them: all in one Puffin file, found by the place that each one's manifest
// entry names.
// Source: Iceberg Puffin specification, "File structure", "deletion-vector-v1
// blob type"; Iceberg table specification, "Deletion Vectors".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace lake::materialize {

struct DeletionVector {
  std::string data_file;                ///< Its location, as the table metadata has it.
  std::vector<std::int64_t> positions;  ///< Ascending, each once.
};

/// What content_offset and content_size_in_bytes of the manifest entry say.
struct BlobPlace {
  std::int64_t offset = 0;
  std::int64_t length = 0;

  friend bool operator==(const BlobPlace&, const BlobPlace&) = default;
};

struct PuffinFile {
  std::string bytes;
  std::vector<BlobPlace> blobs;  ///< In the order of the vectors.
};

/// The same vectors give the same bytes. Snapshot id and sequence number are
/// left to be inherited.
/// Errors: kInvalid  no vector, one without positions, positions that are
///         negative or not ascending, a location that is not UTF-8 or named
///         twice; kTooLarge  over kMostPositions in a vector.
[[nodiscard]] base::Result<PuffinFile> write_puffin(const std::vector<DeletionVector>& vectors);

}  // namespace lake::materialize
