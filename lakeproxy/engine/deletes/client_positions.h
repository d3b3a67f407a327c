#pragma once

// A client's position-delete file: rows of many data files in one Parquet file.
// Source: Iceberg table specification, "Position Delete Files".

#include <chrono>
#include <cstddef>
#include <string>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "base/puffin/deletion_vector.h"
#include "lakeproxy/engine/deletes/client_deletes.h"

namespace lake::exporter {

/// The positions in the file at `path` (in the engine's scratch folder), which
/// may name only `referenced` when that is given. Its columns are found by
/// Iceberg's field ids, or else by name; the deleted rows themselves, which it
/// may hold as well, are not looked at. Blocks.
/// Errors: kCorrupt  not Parquet, no such columns, a null, a negative position,
///         another data file than `referenced`; kTooLarge  over `limit`
///         positions or the engine's memory; kTimeout; kInternal.
[[nodiscard]] base::Result<PositionsByFile> read_client_positions(
    base::duckdb::Engine& engine, const std::string& path,
    const std::optional<std::string>& referenced, std::chrono::steady_clock::time_point deadline,
    std::size_t limit = base::puffin::kMostPositions);

}  // namespace lake::exporter
