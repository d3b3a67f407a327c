#pragma once

// Iceberg counts a column's NaNs. DuckLake says at most that there are some, and
// that not of the whole file: the file has the answer, and only the chunks of
// the column itself.

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/engine/parquet/column_ranges.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/model/ids.h"

namespace lake::exporter {

class ByteBudget;

/// What is counted, and within which bound. What is pointed to outlives the search.
struct NanSearch {
  const model::LakeDataFile* file = nullptr;
  std::vector<model::FieldId> columns;          ///< Of floating point, at any depth.
  const model::NameMapping* mapping = nullptr;  ///< The table's, for a file without field ids.
  ByteBudget* budget = nullptr;
};

/// Where the file holds each of `ids`, with an expression that counts the NaNs of a row.
/// A column that it does not hold is left out.
/// Errors: kCorrupt  a column is not of floating point; kUnsupported  lists or maps in a
///         form older than Iceberg's.
[[nodiscard]] base::Result<std::map<model::FieldId, FileColumn>> nan_columns(
    const ParquetNode& root, const std::vector<model::FieldId>& ids);

/// The NaNs in each of `columns` of the Parquet file at `path` (in the engine's scratch
/// folder), of which their chunks and the footer are there. Blocks.
/// Errors: kCorrupt  not Parquet; kTooLarge, kTimeout, kInternal.
[[nodiscard]] base::Result<std::map<model::FieldId, std::int64_t>> count_nans_in(
    base::duckdb::Engine& engine, const std::string& path,
    const std::map<model::FieldId, FileColumn>& columns,
    std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
