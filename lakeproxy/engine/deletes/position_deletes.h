#pragma once

// Which rows of one data file are deleted: read from DuckDB's delete files,
// written as Iceberg's, whose columns carry other field ids.
// Sources: Iceberg table specification, "Position Delete Files"; DuckLake
// specification 1.0, "Delete Files".

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/ducklake/table/row_snapshot_ids.h"
#include "lakeproxy/iceberg/puffin/deletion_vector.h"
#include "lakeproxy/model/ids.h"

namespace lake::exporter {

/// Field ids of the columns. Source: Iceberg table specification, "Reserved
/// Field IDs".
inline constexpr model::FieldId kFilePathId = 2'147'483'546;
inline constexpr model::FieldId kPositionId = 2'147'483'545;

/// The positions in a Parquet delete file that `snapshot` sees, ascending, each
/// once. DuckDB applies a delete file to its data file without a look at the
/// column file_path; a file that it has written again for later snapshots has a
/// column with the snapshot of each position. Blocks.
/// Errors: kCorrupt  not Parquet, no BIGINT column "pos", a position missing or
///         negative; kTooLarge  over `limit` positions or the engine's memory;
///         kTimeout; kInternal.
[[nodiscard]] base::Result<std::vector<std::int64_t>> read_position_deletes(
    base::duckdb::Engine& engine, std::string_view bytes, model::SnapshotId snapshot,
    std::chrono::steady_clock::time_point deadline,
    std::size_t limit = base::puffin::kMostPositions);

/// All positions of a Parquet delete file, each with the snapshot that deleted
/// it: `begin`, the file's own, where there is no column that says so. Blocks.
/// Errors: as read_position_deletes().
[[nodiscard]] base::Result<model::RowEnds> read_row_ends(
    base::duckdb::Engine& engine, std::string_view bytes, model::SnapshotId begin,
    std::chrono::steady_clock::time_point deadline,
    std::size_t limit = base::puffin::kMostPositions);

/// The same of a Puffin file with a deletion vector for each of several snapshots: a position
/// begins to count with the first vector that has it. Nothing where the file does not say, as
/// one that is a vector alone. Errors: as materialize::read_deletion_vectors().
[[nodiscard]] base::Result<std::optional<model::RowEnds>> read_vector_ends(std::string_view bytes);

/// The positions in a deletion vector, or in a Puffin file, that `snapshot` sees, ascending,
/// each once; all of them where the file does not say.
/// Errors: as materialize::read_deletion_vectors().
[[nodiscard]] base::Result<std::vector<std::int64_t>> read_vector_positions(
    std::string_view bytes, model::SnapshotId snapshot);

/// A position-delete file for `positions` (ascending, each once) of the data
/// file at `data_file`. The engine marks both columns as optional where
/// Iceberg requires them; none is ever null. Blocks.
/// Errors: kInvalid  `data_file` is not UTF-8; kTooLarge; kTimeout; kInternal.
[[nodiscard]] base::Result<std::string> write_position_deletes(
    base::duckdb::Engine& engine, std::string_view data_file,
    const std::vector<std::int64_t>& positions, std::chrono::steady_clock::time_point deadline);

/// `a` and `b` together, ascending, each once.
/// Errors: kCorrupt  a negative one.
[[nodiscard]] base::Result<std::vector<std::int64_t>> unite_positions(
    std::vector<std::int64_t> a, const std::vector<std::int64_t>& b);

}  // namespace lake::exporter
