#pragma once

// The search itself: which data files can hold a deleted row, and which of
// their rows are deleted. Null equals null.
// Source: Iceberg table specification, "Equality Delete Files", "Scan
// Planning".

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/engine.h"
#include "base/puffin/deletion_vector.h"
#include "lakeproxy/engine/equality/equality_columns.h"

namespace lake::exporter {

/// A file in the engine's scratch folder.
struct LocalFile {
  std::string path;
  std::string location;  ///< Where it came from, for errors.
};

/// Equality-delete files with the same delete columns, read as one.
struct DeleteKeys {
  std::vector<DeleteColumn> columns;
  std::string sql;  ///< A query of their rows: k0, k1, ... in the columns' types.
};

/// Blocks.
/// Errors: kInvalid  names the file that breaks its format or lacks a column;
///         kUnsupported, kTooLarge, kTimeout, kInternal.
[[nodiscard]] base::Result<DeleteKeys> read_delete_keys(
    base::duckdb::Engine& engine, const std::vector<LocalFile>& files,
    std::vector<DeleteColumn> columns, std::chrono::steady_clock::time_point deadline);

/// Which of `files` can hold a row with one of the keys, by their statistics:
/// indexes, ascending. Reads all keys, so they are whole afterwards. Blocks.
/// Errors: kCorrupt  a delete file's pages; kTooLarge, kTimeout, kInternal.
[[nodiscard]] base::Result<std::vector<std::size_t>> may_match(
    base::duckdb::Engine& engine, const DeleteKeys& keys,
    const std::vector<const model::DataFile*>& files,
    std::chrono::steady_clock::time_point deadline);

struct SearchedFile {
  LocalFile file;
  std::vector<FileColumn> columns;  ///< In the order of the keys' columns.
};

/// The rows of each file that have one of the keys. Blocks.
/// Errors: kCorrupt  names the file that cannot be read; kTooLarge  over
///         `limit` positions in a file; kTimeout; kInternal.
[[nodiscard]] base::Result<std::vector<Positions>> match_rows(
    base::duckdb::Engine& engine, const DeleteKeys& keys, const std::vector<SearchedFile>& files,
    std::chrono::steady_clock::time_point deadline,
    std::size_t limit = base::puffin::kMostPositions);

}  // namespace lake::exporter
