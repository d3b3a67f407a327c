#pragma once

// Deleted positions of one data file as a bitmap between a length and a checksum: the blob of
// Iceberg's deletion vectors. A table's files say where in a Puffin file it stands, so a reader of
// the table needs the blob alone.
// Source: Iceberg Puffin specification, "deletion-vector-v1 blob type".

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace base::puffin {

inline constexpr std::string_view kDeletionVectorType = "deletion-vector-v1";

/// The most positions that are read of one data file: 128 MiB of them.
inline constexpr std::size_t kMostPositions = 16 << 20;

/// The positions of one blob, ascending, each once.
/// Errors: kCorrupt  a length, magic or checksum is wrong; kTooLarge  over
///         `limit` positions.
[[nodiscard]] Result<std::vector<std::int64_t>> read_deletion_vector(
    std::string_view blob, std::size_t limit = kMostPositions);

/// The blob of `positions`: not negative, ascending, each once, at most
/// kMostPositions.
[[nodiscard]] std::string write_deletion_vector(std::span<const std::int64_t> positions);

}  // namespace base::puffin
