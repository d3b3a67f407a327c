#pragma once

// Rows that DuckDB keeps in PostgreSQL become a Parquet file as if DuckDB had
// written it at once: Iceberg's field ids at every depth, the rows in the
// order of their ids, and the statistics that DuckLake would have kept.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/derive/plan/export_plan.h"

namespace lake::exporter {

struct InlinedFile {
  std::string bytes;
  std::int64_t record_count = 0;
  /// Of the top-level columns of a primitive type, in DuckLake's text form:
  /// values that are not null are counted, NaN is no minimum and no maximum.
  std::vector<model::LakeColumnStats> stats;
};

/// Blocks. Equal groups give equal bytes, for one version of the engine.
/// Errors: kCorrupt  a value is not one of its column's type, or a row has
///         another number of values; kUnsupported  a column the engine cannot
///         write; kTooLarge  over the engine's memory; kTimeout; kInternal.
[[nodiscard]] base::Result<InlinedFile> write_inlined_rows(
    base::duckdb::Engine& engine, const materialize::InlinedGroup& group,
    std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
