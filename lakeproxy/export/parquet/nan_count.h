#pragma once

// Iceberg counts a column's NaNs; DuckLake only knows whether there are any.
// The file has the answer.

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/model/ids.h"

namespace lake::exporter {

/// The NaNs in each of `columns`, at any depth, of the Parquet file at `path`
/// (in the engine's scratch folder). A column that the file does not hold
/// under its id is left out. Blocks.
/// Errors: kCorrupt  not Parquet, or a column is not of floating point;
///         kUnsupported  lists or maps in a form older than Iceberg's;
///         kTooLarge, kTimeout, kInternal.
[[nodiscard]] base::Result<std::map<model::FieldId, std::int64_t>> count_nans_in(
    base::duckdb::Engine& engine, const std::string& path,
    const std::vector<model::FieldId>& columns, std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
