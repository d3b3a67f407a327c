#pragma once

// Which bytes of a Parquet file a query over some of its columns reads, told from its footer: the
// column chunks of these columns and their Bloom filters. The rest may be a hole. A reader that
// came upon one would fail at the first byte, since no page and no filter begins with zeros.
// Source: Parquet format, "File format", "Column chunks"; DuckDB 1.5.5, parquet_metadata.

#include <cstdint>
#include <string>
#include <vector>

#include "base/duckdb/connection.h"
#include "toolserver/connectors/sql/brought_tables.h"

namespace tool::connectors {

struct FilePart {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< Not of it.
  friend bool operator==(const FilePart&, const FilePart&) = default;
};

/// Ascending, none touching the next: parts that lie closer than `gap` bytes are one.
[[nodiscard]] std::vector<FilePart> joined_parts(std::vector<FilePart> parts, std::int64_t gap);

/// What is to be read of the file at `path`, of which `size` bytes there are: its end is there.
/// Errors: kCorrupt  a part lies outside; as of Connection::execute.
[[nodiscard]] base::Result<std::vector<FilePart>> parts_of(
    base::duckdb::Connection& connection, const std::string& path, std::int64_t size,
    const std::vector<BroughtColumn>& columns);

}  // namespace tool::connectors
