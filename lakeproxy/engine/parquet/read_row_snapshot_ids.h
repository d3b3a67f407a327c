#pragma once

// Row snapshot ids: the snapshot at which each row of a partial file began stands in
// a column of the file itself.
// Source: DuckLake specification 1.0, "ducklake_data_file", partial_max.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/ducklake/table/row_snapshot_ids.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {

/// Iceberg's _last_updated_sequence_number, by DuckLake's name.
inline constexpr std::string_view kRowSnapshotIdColumn = "_ducklake_internal_snapshot_id";

/// The snapshots in which rows of a file begin: its own and its partial_max.
struct FileSpan {
  model::SnapshotId first, last;
};

/// The place of a top-level column among the leaves of a file's schema.
[[nodiscard]] std::optional<std::int64_t> leaf_of(const ParquetNode& root, std::string_view name);

/// What that column says of each row of the file at `path`, in file order; nothing
/// where there is no such column. A row without a number, which a client wrote and
/// DuckDB merged, begins with the last snapshot of `span`: DuckDB shows it from there
/// on. One with an older number, which a client wrote anew, begins with the first: it
/// was elsewhere before. The rest of the file is not read. Blocks.
/// Errors: kCorrupt  not Parquet, a column of other than whole numbers, or not
///         `row_count` rows; kTooLarge, kTimeout, kInternal.
[[nodiscard]] base::Result<std::optional<model::RowSnapshotIds>> read_row_snapshot_ids(
    base::duckdb::Engine& engine, const std::string& path, std::int64_t row_count, FileSpan span,
    std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
