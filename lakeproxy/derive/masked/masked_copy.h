#pragma once

// A masked copy of a Parquet file: what a principal may see of its rows, and nothing else. Rows
// that were deleted or that a filter does not keep are left out, masks stand in the place of
// values, and columns that the table no longer has are not there. Statistics in the copy are made
// from what it holds (ADR 0110).
// Source: specification, section 4, "Policy-composition rules at read time".

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::exporter {

/// A top-level column of the table, as it is now.
struct MaskedColumn {
  model::Field field;
  /// SQL of the engine over the table's columns by their names of now, in double quotes.
  /// Nothing: the value as it is.
  std::optional<std::string> mask = std::nullopt;
};

/// What is done to each file of a table.
struct MaskRules {
  std::vector<MaskedColumn> columns;
  /// Predicates over raw values; a row stays where all are true.
  std::vector<std::string> filters;
};

/// What the rows of one file take along that does not stand in it.
struct RowOrigin {
  std::vector<std::int64_t> deleted;         ///< Positions, ascending, each once.
  std::optional<std::int64_t> first_row_id;  ///< Format version 3: ids are written into the copy.
  std::int64_t sequence_number = 0;          ///< Of the file; of use with the ids.
  std::vector<model::FieldId> path_columns;  ///< Their values may stand in the path alone.
};

/// One file of a copy. A copy has one for each `part_bytes` that it is large, at least one.
struct WrittenPart {
  std::string path;
  std::int64_t rows = 0;
};

/// Writes the copy of the file at `from` into `folder`, which is not there yet, and says which
/// files it has, in the order of their rows. A file is closed once it has more than `part_bytes`,
/// at the end of a row group. Blocks. No error tells a value.
/// Errors: kCorrupt  not Parquet, or a mask or filter fails on a row, or a mask gives another type
///         than its column's and no cast makes it fit; kUnsupported  a column's type cannot be
///         written (variant, geometry, geography, nanoseconds with a zone), or the file has no
///         field ids, or a column's values stand in its path; kTooLarge  over the engine's memory;
///         kTimeout; kInternal.
[[nodiscard]] base::Result<std::vector<WrittenPart>> write_masked_copy(
    base::duckdb::Engine& engine, const std::string& from, const std::string& folder,
    const MaskRules& rules, const RowOrigin& origin, std::int64_t part_bytes,
    std::chrono::steady_clock::time_point deadline);

/// How much is shown of a file, and how much of each value.
struct FirstRowsBounds {
  std::size_t rows = 0;
  std::size_t columns = 0;     ///< Of the rules, the first.
  std::size_t characters = 0;  ///< Of a value; a longer one ends in kCut behind so many.
  /// Of the file, the first that are looked at; nothing: all.
  std::optional<std::int64_t> looked_at = std::nullopt;
};
inline constexpr std::string_view kCut = "\u2026";

/// Rows as the engine prints their values; nothing: null.
struct FirstRows {
  std::vector<std::vector<std::optional<std::string>>> rows;
  /// Of each column: whether its values are told. Of a type that cannot be read they are not, and
  /// null stands there.
  std::vector<bool> shown;
  bool is_all = false;  ///< The file has no other row to show.
};

/// The first rows of the file at `path` that the rules leave, through their masks. `root` has its
/// columns with their field ids. Blocks. No error tells a value.
/// Errors: those of write_masked_copy(), but for columns whose type cannot be written.
[[nodiscard]] base::Result<FirstRows> read_first_rows(
    base::duckdb::Engine& engine, const std::string& path, const ParquetNode& root,
    const MaskRules& rules, const RowOrigin& origin, const FirstRowsBounds& bounds,
    std::chrono::steady_clock::time_point deadline);

}  // namespace lake::exporter
