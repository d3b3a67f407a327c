#pragma once

// Of a data file only the delete columns are of interest here, and they may be
// a hundredth of it. They are brought to their own places of a file that is
// otherwise a hole: the engine reads the footer and the columns that a
// statement names, and nothing between them.
// Source: Apache Parquet format, "File format", "ColumnMetaData".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/connection.h"

namespace lake::exporter {

/// Read with the file's end in one request; most footers are in it whole.
inline constexpr std::uint64_t kTailBytes = 64 << 10;
/// The column chunks that are brought of one file.
inline constexpr std::uint64_t kMostColumnBytes = 2ULL << 30;

/// Bytes [begin, end) of an object.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Where the footer of a file of `file_bytes` begins, of which `tail` is the
/// end.
/// Errors: kCorrupt  not Parquet; kUnsupported  its footer is encrypted;
///         kTooLarge  a footer of more than 64 MiB.
[[nodiscard]] base::Result<std::uint64_t> footer_begin(std::string_view tail,
                                                       std::uint64_t file_bytes);

/// Where the values of a column are: what the engine reads them by, and where
/// they stand in the file.
struct FileColumn {
  std::string expression;
  /// The file's leaves that it is read from: those of the top-level column.
  std::int64_t first_leaf = 0;
  std::int64_t leaves = 0;  ///< 0 when the file does not hold it.
};

/// The columns of the file at `path`, of which [there, its end) is there.
struct WantedColumns {
  std::string path;
  std::vector<FileColumn> columns;
  std::uint64_t there = 0;
};

/// The ranges of the columns of each file: ascending, near ones as one, nothing
/// from `there` on. The files, each given once, are looked into by one statement.
/// Errors: kCorrupt  not Parquet, or a chunk without a place; kTooLarge  over
///         kMostColumnBytes in a file; kTimeout; kInternal. They do not say of
///         which file.
[[nodiscard]] base::Result<std::vector<std::vector<ByteRange>>> column_ranges(
    base::duckdb::Connection& connection, const std::vector<WantedColumns>& files);

/// A row group: its rows, and where their values are.
struct RowGroup {
  std::int64_t rows = 0;
  ByteRange bytes;
};

/// The row groups of the file at `path`, of which [there, its end) is there, in the order of their
/// rows; no range reaches beyond `there`. Errors: kCorrupt  not Parquet, or a chunk without a
/// place;
///         kTimeout; kInternal.
[[nodiscard]] base::Result<std::vector<RowGroup>> row_groups(base::duckdb::Connection& connection,
                                                             const std::string& path,
                                                             std::uint64_t there);

}  // namespace lake::exporter
