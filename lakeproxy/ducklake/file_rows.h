#pragma once

// The files that an Iceberg client adds, as DuckLake's rows: DuckDB plans its
// reads by them, so a wrong number here is a row that nobody finds.
// Source: DuckLake specification 1.0, "ducklake_data_file" and the statistics
// tables.

#include <cstdint>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake_writer.h"

namespace lake::ducklake {

/// Where the files' ids and rows go on from.
struct FilePlace {
  std::int64_t table_id = 0;
  std::int64_t begin = 0;
  std::int64_t first_file_id = 0;
  std::int64_t first_row_id = 0;
};

struct FileRows {
  std::vector<base::pg::Query> lake;      ///< ducklake_* rows.
  std::vector<base::pg::Query> sidecars;  ///< lakeproxy_* rows.
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
};

/// Rows for `files`, in one statement for each lake table. Bounds and partition
/// values are decoded by the columns of `after`'s current schema; a bound that
/// does not decode is left unknown, which costs a scan and hides nothing.
/// Errors: kUnsupported  a file that is not Parquet data;
///         kInvalid  a negative count or size, an unknown spec, a partition
///         tuple that does not fit it.
[[nodiscard]] base::Result<FileRows> file_rows(const SchemaSql& sql, const FilePlace& place,
                                               const model::LakeTable& before,
                                               const model::TableMetadata& after,
                                               const std::vector<AddedFile>& files);

/// Raises the table's totals, and makes the catalog-wide bounds unknown: the
/// client's bounds may be loose, and DuckDB answers a lone MIN or MAX from them.
[[nodiscard]] std::vector<base::pg::Query> table_stats_queries(const SchemaSql& sql,
                                                               std::int64_t table_id,
                                                               const model::Schema& schema,
                                                               const FileRows& rows);

}  // namespace lake::ducklake
