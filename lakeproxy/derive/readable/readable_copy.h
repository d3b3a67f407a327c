#pragma once

// A readable copy of a Parquet file: the same rows in the same order, under the same names
// and field ids, with the values of some columns as Iceberg's clients can read them, and
// constants for columns that the file lacks (ADR 0098). Values are converted as DuckDB itself
// casts them when it reads the file; an interval becomes a text of ISO 8601. Where geographies
// alone are to be said, the pages stay as they are, and the footer is another.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::exporter {

/// An SQL expression for the text of an interval, "P1Y2M3DT4H5M6.000007S": each part that is
/// not zero, with its own sign; "PT0S" for none. `value` is an expression of its own.
[[nodiscard]] std::string interval_text(const std::string& value);

/// What a copy has in the place of what its file holds. What is pointed to outlives it.
struct CopiedAs {
  const std::vector<model::CopiedColumn>* columns = nullptr;  ///< The others stay as they are.
  /// Of a file that was added as it is: the columns that it shall have, each in the type of then.
  const model::AddedColumns* added = nullptr;
};

/// Writes the copy of the file at `from` to `to`, and says how many rows it has. The file may be
/// gone from `from` then. Blocks.
/// Errors: kCorrupt  not Parquet, a value is out of its new type's range, or a geography is no
///         geometry in the file; kUnsupported  a type that the engine cannot write, a file without
///         field ids that nobody added, an added one of which the lake's names do not say each
///         column; kTooLarge  over the engine's memory; kTimeout; kInternal.
[[nodiscard]] base::Result<std::int64_t> write_readable_copy(
    base::duckdb::Engine& engine, const std::string& from, const std::string& to,
    const CopiedAs& as, std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
