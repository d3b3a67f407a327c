#pragma once

// The rows that begin and end a table's life in the lake. A drop keeps them
// all, so a table can come back with its ids and its snapshots.
// Source: DuckLake specification 1.0, "ducklake_table".

#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {

/// The lake snapshot `at`, which ends everything of a table.
[[nodiscard]] LakeDelta drop_table_delta(const SchemaSql& sql, std::int64_t table_id,
                                         std::int64_t at);

/// Makes way for a table that is to have the name: one that has it goes in a snapshot of its own,
/// which `plan` and `head` have then. `relation` holds the rows of find_relation().
/// Errors: kAlreadyExists  it is not to be replaced, is a view, or is spelled otherwise.
[[nodiscard]] base::Status end_existing(const SchemaSql& sql,
                                        const model::TableIdentifier& identifier, Existing existing,
                                        const base::pg::Rows& relation, LakeHead& head,
                                        CommitPlan& plan);

/// Everything that ended with the table at `dropped` goes on as if it had not, but
/// for the table's own row, its partitions and its sort keys, which begin anew at
/// `begin`: at the snapshots between there is no table.
[[nodiscard]] std::vector<base::pg::Query> undo_drop(const SchemaSql& sql, std::int64_t table_id,
                                                     std::int64_t dropped, std::int64_t begin);

/// A table's next row: under another name, in another namespace, or after its drop.
struct NextTableRow {
  std::int64_t table_id = 0;
  std::int64_t begin = 0;
  std::string name;
  std::int64_t schema_id = 0;
  std::optional<std::int64_t> dropped;  ///< The end of the row that it follows.
};
/// The files stay where they are: in another namespace the path is whole.
[[nodiscard]] base::pg::Query insert_table_row(const SchemaSql& sql, const std::string& data_path,
                                               const NextTableRow& row);

}  // namespace lake::ducklake
