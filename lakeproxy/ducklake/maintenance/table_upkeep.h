#pragma once

// What the compaction of one table asks of the lake's rows: its size, which
// snapshots may go, which files nobody needs any more, and that it is the only
// compaction of that table.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/lake/open_lake.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// A table as it is now.
struct TableTotals {
  std::int64_t files = 0;  ///< Data files.
  std::int64_t bytes = 0;  ///< Of data files and delete files.
  std::int64_t delete_files = 0;
  std::int64_t rows = 0;
  std::int64_t inlined = 0;  ///< Rows and deletes that PostgreSQL holds.
};

/// An object that the lake has let go of.
struct RemovableFile {
  std::string object;  ///< Location.
  std::string path;    ///< As the lake keeps it.
  std::int64_t data_file_id = 0;
};

/// Held while it lives. PostgreSQL frees it, too, when the process dies.
using CompactionLock = std::unique_ptr<base::pg::Transaction>;

/// One event loop's. `pool` outlives it.
/// Errors everywhere: kUnavailable, kTimeout (PostgreSQL).
class TableUpkeep {
 public:
  TableUpkeep(base::pg::Pool& pool, LakeOptions options);

  /// Errors: kUnavailable  somebody else is compacting the table.
  [[nodiscard]] base::Task<base::Result<CompactionLock>> lock(base::RequestContext context,
                                                              model::TableId table);
  [[nodiscard]] base::Task<base::Result<TableTotals>> totals(base::RequestContext context,
                                                             model::TableId table);
  /// Some of the snapshots that are older than the lake's option
  /// expire_older_than says, oldest first. None without that option.
  /// Errors: kInvalid  its value is no time.
  [[nodiscard]] base::Task<base::Result<std::vector<std::int64_t>>> expirable(
      base::RequestContext context, std::int64_t most);
  /// Files in the table's folder that were let go of longer than `grace` ago,
  /// and that no list which clients may still read names.
  [[nodiscard]] base::Task<base::Result<std::vector<RemovableFile>>> removable(
      base::RequestContext context, model::TableId table, std::chrono::microseconds grace,
      std::int64_t most);
  /// They are removed.
  [[nodiscard]] base::Task<base::Status> forget(base::RequestContext context,
                                                std::vector<RemovableFile> files);

 private:
  base::pg::Pool* pool_;
  LakeOptions options_;
  SchemaSql sql_;
};

}  // namespace lake::ducklake
