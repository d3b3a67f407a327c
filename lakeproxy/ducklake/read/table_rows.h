#pragma once

// The rows of a table's definition, read into values. Each function takes the
// rows of the statement of LakeSql that has its name. Errors: kInvalid  a
// sidecar's JSON breaks Iceberg's form.

#include <map>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"
#include "lakeproxy/to_iceberg/definition/spec_ids.h"

namespace lake::ducklake {

[[nodiscard]] std::vector<LakeColumn> read_lake_columns(const base::pg::Rows& rows);
[[nodiscard]] std::vector<LakeColumnDoc> read_column_docs(const base::pg::Rows& rows);
[[nodiscard]] std::vector<LakePartition> read_partitions(const base::pg::Rows& rows);
[[nodiscard]] model::LakeSort read_sort(const base::pg::Rows& rows);
[[nodiscard]] std::vector<PathColumns> read_path_columns(const base::pg::Rows& rows);
[[nodiscard]] std::map<std::int64_t, model::LakeNameMap> read_name_maps(const base::pg::Rows& rows);
[[nodiscard]] base::Result<model::SnapshotList> read_materialized(const base::pg::Rows& rows);
[[nodiscard]] std::map<std::int64_t, model::SnapshotId> read_aliases(const base::pg::Rows& rows);
[[nodiscard]] std::vector<model::MetadataLogEntry> read_metadata_log(const base::pg::Rows& rows);
[[nodiscard]] std::vector<model::SnapshotId> read_snapshot_ids(const base::pg::Rows& rows);

}  // namespace lake::ducklake
