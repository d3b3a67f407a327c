#pragma once

// Deleted positions as DuckLake's "puffin" delete files hold them: a bare
// deletion vector, or a Puffin file with one.
// Sources: Iceberg Puffin specification, "File structure", "deletion-vector-v1
// blob type"; that DuckLake 1.0 writes the bare blob was seen.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace lake::exporter {

/// The most positions that one delete file may hold here: 128 MiB of them.
inline constexpr std::size_t kMostPositions = 16 << 20;

/// All positions, ascending, each once. Several vectors in one Puffin file are
/// united, as DuckDB does.
/// Errors: kCorrupt  neither form, or a length, magic or checksum is wrong;
///         kUnsupported  compressed, or vectors of different snapshots (DuckLake
///         1.1); kTooLarge  over `limit` positions.
[[nodiscard]] base::Result<std::vector<std::int64_t>> read_deletion_vectors(
    std::string_view bytes, std::size_t limit = kMostPositions);

}  // namespace lake::exporter
