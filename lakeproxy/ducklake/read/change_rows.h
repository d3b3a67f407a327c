#pragma once

// The rows of a table's row-level changes, read into values. Each function
// takes the rows of the statement of LakeSql that has its name.

#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"
#include "lakeproxy/to_iceberg/definition/readable_copies.h"

namespace lake::ducklake {

using DataFiles = std::map<model::DataFileId, model::LakeDataFile>;

[[nodiscard]] std::vector<model::LakeCommit> read_commits(const base::pg::Rows& rows);
/// `folder` is the table's, with '/' at its end, here and below.
/// Errors: kUnsupported  another format than Parquet.
[[nodiscard]] base::Result<DataFiles> read_data_files(const base::pg::Rows& rows,
                                                      std::string_view folder);
void read_file_stats(const base::pg::Rows& rows, DataFiles& files);
void read_partition_values(const base::pg::Rows& rows, DataFiles& files);
/// Errors: kCorrupt  facts that do not fit the table's specs.
[[nodiscard]] base::Status read_file_facts(const base::pg::Rows& rows,
                                           const model::LakeTable& table, DataFiles& files);
/// One of them, whose columns begin at `first`.
/// Errors: kUnsupported  another format than Parquet and Puffin.
[[nodiscard]] base::Result<model::LakeDeleteFile> read_delete_file(const base::pg::Rows& rows,
                                                                   std::size_t row,
                                                                   std::size_t first,
                                                                   std::string_view folder);
/// Errors: as read_delete_file().
[[nodiscard]] base::Result<std::vector<model::LakeDeleteFile>> read_delete_files(
    const base::pg::Rows& rows, std::string_view folder);
[[nodiscard]] std::vector<model::LakeInlinedDelete> read_inlined_deletes(
    const base::pg::Rows& rows);

/// LakeSql::inlined_rows with the table's columns and LakeSql::schema_versions.
/// Text and blobs are the bytes themselves, anything else is DuckDB's text.
/// Columns that the table's schema leaves out are left out here. What clients see otherwise at
/// `newest` stands in LakeInlinedTable::changed, by the table's `rules`.
/// Errors: kCorrupt  rows that do not fit the columns of their schema version.
[[nodiscard]] base::Result<std::vector<model::LakeInlinedTable>> read_inlined_rows(
    const base::pg::Rows& rows, const base::pg::Rows& schema_versions, const LakeColumns& columns,
    const CopyRules& rules, model::SnapshotId newest, const model::LakeTable& table);

}  // namespace lake::ducklake
