#pragma once

// Changes of all that a table holds at once: its rows end, or become what they
// were at an older snapshot. The lake's history is a line, so an older content
// comes back as a new snapshot: objects that are shown again get new rows.

#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/from_iceberg/rows/lake_files.h"
#include "lakeproxy/from_iceberg/rows/row_deletes.h"

namespace lake::ducklake {

/// Whether DuckDB keeps rows of the table in PostgreSQL.
enum class HasInlined { kNo, kYes };

/// All rows of the table end with the snapshot of `delta`. `schema` is the
/// table's after it: ranges of columns that had another type are forgotten.
void end_content(const SchemaSql& sql, const FilePlace& place, HasInlined inlined,
                 const model::Schema& schema, LakeDelta& delta);

/// What restore_content() needs to know, in its order.
[[nodiscard]] std::vector<base::pg::Query> restore_preconditions(const SchemaSql& sql,
                                                                 model::TableId table,
                                                                 model::SnapshotId back_to);

struct Restore {
  model::SnapshotId back_to;
  HasInlined inlined = HasInlined::kNo;
  const base::pg::Rows* files = nullptr;
  const base::pg::Rows* columns = nullptr;
  /// Of each file that then showed a part of what it holds now: the rows that
  /// were not there, and those that were deleted, without what PostgreSQL holds.
  const std::vector<FileDeletes>* partly_shown = nullptr;
  std::string folder;  ///< The table's, with '/' at its end.
  const model::Schema* schema = nullptr;
};
/// The content becomes that of an older snapshot; nothing where it is the same.
/// Errors: kUnsupported  a column since then makes older rows read otherwise;
///         kConflict (kStale)  files were merged since `partly_shown` was read.
[[nodiscard]] base::Status restore_content(const SchemaSql& sql, const FilePlace& place,
                                           const Restore& restore, LakeDelta& delta);

}  // namespace lake::ducklake
