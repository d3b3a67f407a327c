#pragma once

// Deleted positions of one data file as a bitmap between a length and a
// checksum: the blob of Iceberg's deletion vectors, which DuckLake keeps bare or
// in a Puffin file. A Puffin file of DuckLake 1.1 has a vector for each of several
// snapshots, which holds all positions that were deleted up to its snapshot.
// Sources: Iceberg Puffin specification, "File structure", "deletion-vector-v1
// blob type"; DuckLake 1.1, "Deletion vectors"; that DuckLake 1.0 writes the bare blob was
// seen.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::materialize {

/// The most positions that one delete file may hold here: 128 MiB of them.
inline constexpr std::size_t kMostPositions = 16 << 20;

inline constexpr std::string_view kDeletionVectorType = "deletion-vector-v1";
inline constexpr std::string_view kPuffinMagic = "PFA1";

/// The positions of one blob, ascending, each once.
/// Errors: kCorrupt  a length, magic or checksum is wrong; kTooLarge  over
///         `limit` positions.
[[nodiscard]] base::Result<std::vector<std::int64_t>> read_deletion_vector(
    std::string_view blob, std::size_t limit = kMostPositions);

/// The blob of `positions`: not negative, ascending, each once, at most
/// kMostPositions.
[[nodiscard]] std::string write_deletion_vector(std::span<const std::int64_t> positions);

/// A position, and the snapshot of the first vector that has it.
struct VectorPosition {
  std::int64_t position = 0;
  std::optional<std::int64_t> snapshot;  ///< Nothing: the file does not say.

  friend bool operator==(const VectorPosition&, const VectorPosition&) = default;
};

/// All positions of a bare blob or of a Puffin file, ascending, each once.
/// Several vectors without snapshots in one Puffin file are united, as DuckDB does.
/// Errors: as read_deletion_vector(), and kCorrupt  neither form, some vectors have a
///         snapshot and some none, or one lacks positions of an older one;
///         kUnsupported  compressed.
[[nodiscard]] base::Result<std::vector<VectorPosition>> read_deletion_vectors(
    std::string_view bytes, std::size_t limit = kMostPositions);

}  // namespace lake::materialize
