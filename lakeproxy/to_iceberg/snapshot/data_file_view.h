#pragma once

// A lake's data file as Iceberg shows it: under which spec, with which
// partition values, and with bounds in Iceberg's bytes. What is not certain is
// left out; a reader then scans the file, and nobody loses a row.
// Sources: Iceberg table specification, "Manifests"; DuckLake specification
// 1.0, "ducklake_file_column_stats".

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::materialize {

/// The reason of kConflict: a file has no value of any spec, and the table has none without
/// fields. It needs an id first (LakeReader::assign_unpartitioned_spec).
inline constexpr std::string_view kNoUnpartitionedSpec = "no_unpartitioned_spec";

struct FileView {
  model::DataFile file;
  std::int32_t spec_id = 0;
  /// The lake snapshot that wrote a data file.
  std::optional<model::SnapshotId> begin = std::nullopt;
  /// Behind its highest row id, or at most there, of a file whose ids have gaps.
  std::optional<std::int64_t> row_id_end = std::nullopt;
};

/// `file` of `table`. A partition value is shown only if all rows have it:
/// DuckLake's calendar parts group several of Iceberg's days, months and hours
/// into one file, and such a file stands under the unpartitioned spec. Bounds
/// and partition values have the types that the columns had at `file.begin`.
/// Errors: kUnsupported  the values of a column stand in the file's path alone, and
///         no identity partition field can say them;
///         kConflict (kNoUnpartitionedSpec).
[[nodiscard]] base::Result<FileView> view_data_file(const model::LakeTable& table,
                                                    const model::LakeDataFile& file);

/// The spec of files that have no value of another. Errors: kConflict (kNoUnpartitionedSpec).
[[nodiscard]] base::Result<std::int32_t> unpartitioned_spec(const model::LakeTable& table);

/// Iceberg's form of one column's statistics. `record_count` is the file's.
[[nodiscard]] model::ColumnMetrics view_metrics(const model::LakeColumnStats& stats,
                                                const model::Type& type, std::int64_t record_count);

}  // namespace lake::materialize
