#pragma once

// Deleted positions of one data file as DuckLake keeps them: the blob of Iceberg's deletion vectors
// (base/puffin), bare or in a Puffin file. A Puffin file of DuckLake 1.1 has a vector for each of
// several snapshots, which holds all positions that were deleted up to its snapshot. Sources:
// Iceberg Puffin specification, "File structure", "deletion-vector-v1 blob type"; DuckLake 1.1,
// "Deletion vectors"; that DuckLake 1.0 writes the bare blob was seen.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/puffin/deletion_vector.h"

namespace lake::materialize {

inline constexpr std::string_view kPuffinMagic = "PFA1";

/// A position, and the snapshot of the first vector that has it.
struct VectorPosition {
  std::int64_t position = 0;
  std::optional<std::int64_t> snapshot;  ///< Nothing: the file does not say.

  friend bool operator==(const VectorPosition&, const VectorPosition&) = default;
};

/// All positions of a bare blob or of a Puffin file, ascending, each once.
/// Several vectors without snapshots in one Puffin file are united, as DuckDB does.
/// Errors: as base::puffin::read_deletion_vector(), and kCorrupt  neither form, some vectors have a
///         snapshot and some none, or one lacks positions of an older one;
///         kUnsupported  compressed.
[[nodiscard]] base::Result<std::vector<VectorPosition>> read_deletion_vectors(
    std::string_view bytes, std::size_t limit = base::puffin::kMostPositions);

}  // namespace lake::materialize
