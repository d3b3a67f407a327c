#pragma once

// The files that an Iceberg client adds, as the lake will hold them. What is
// written of a file and what is shown of it after the commit are both made from
// these values, so the two cannot differ.
// Source: DuckLake specification 1.0, "ducklake_data_file" and the statistics
// tables.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// A file that an Iceberg client adds.
struct AddedFile {
  model::DataFile file;
  std::int32_t spec_id = 0;
  /// The id that its first row has already; nothing: the table's next.
  std::optional<std::int64_t> first_row_id = std::nullopt;
  /// How its columns are called, of a file without field ids.
  std::optional<model::LakeNameMap> names = std::nullopt;
};

/// Where the files' ids and rows go on from.
struct FilePlace {
  std::int64_t table_id = 0;
  std::int64_t begin = 0;
  std::int64_t first_file_id = 0;
  std::int64_t first_row_id = 0;
  model::LakeFormat format = model::LakeFormat::k1_0;
};

/// `files` at `place`, in their order. Bounds and partition values are decoded
/// by the columns of `after`'s current schema; a bound that does not decode is
/// left unknown, which costs a scan and hides nothing.
/// Errors: kUnsupported  a file that is not Parquet data, or of a spec that has
///         no value for a bucket that DuckDB partitions the table by (ADR 0050);
///         kInvalid  a negative count or size, one too large, an unknown spec,
///         a partition tuple that does not fit it, a column whose bounds allow for a
///         value that the lake's type of it cannot hold, or no word on NULL in one that
///         is NOT NULL in the lake and optional to clients (names the column).
[[nodiscard]] base::Result<std::vector<model::LakeDataFile>> lake_files(
    const FilePlace& place, const model::LakeTable& before, const model::TableMetadata& after,
    const std::vector<AddedFile>& files);

}  // namespace lake::ducklake
