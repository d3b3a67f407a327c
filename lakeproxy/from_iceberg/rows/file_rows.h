#pragma once

// Added files as DuckLake's rows: DuckDB plans its reads by them, so a wrong
// number here is a row that nobody finds.
// Source: DuckLake specification 1.0, "ducklake_data_file" and the statistics
// tables.

#include <cstdint>
#include <vector>

#include "base/core/result.h"
#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/from_iceberg/rows/lake_files.h"

namespace lake::ducklake {

struct FileRows {
  std::vector<base::pg::Query> lake;      ///< ducklake_* rows.
  std::vector<base::pg::Query> sidecars;  ///< lakeproxy_* rows.
  std::int64_t record_count = 0;
  std::int64_t file_size_bytes = 0;
};

/// Rows for `files` of one table, in one statement for each lake table.
/// `metadata` is the table after the change.
/// Errors: kInvalid  a partition tuple that does not fit its spec.
[[nodiscard]] base::Result<FileRows> file_rows(const SchemaSql& sql, const FilePlace& place,
                                               const model::TableMetadata& metadata,
                                               const std::vector<model::LakeDataFile>& files);

}  // namespace lake::ducklake
