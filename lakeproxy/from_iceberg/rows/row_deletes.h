#pragma once

// Rows that an Iceberg client deletes without taking their files away. DuckLake
// holds one list of positions for each data file: a delete file, which replaces
// the one before, and rows of ducklake_inlined_delete_*, which count besides it.
// Source: DuckLake specification 1.0, "ducklake_delete_file", "Data Inlining".

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/derive/plan/derived_object_names.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"

namespace lake::ducklake {

/// A DuckLake delete file in the object store: all deleted positions of one
/// data file, without those that PostgreSQL holds for it.
struct DeleteObject {
  std::string location;
  std::int64_t delete_count = 0;
  std::int64_t file_size_bytes = 0;
};

/// Whether rows that were deleted come back. A row of the lake cannot lose a
/// delete without changing the past, so its file gets a row of its own again.
enum class Restores { kNothing, kRows };

/// A data file without a row in the lake yet: the one at `index` of
/// AddedSnapshot::files of the same commit's snapshot at `snapshot`.
struct NewFile {
  std::size_t snapshot = 0;
  std::size_t index = 0;
};

/// A data file of which other rows are deleted from now on. A row of the lake is
/// meant as it was before the commit, also where an earlier snapshot of the
/// commit gave its file another one (Restores::kRows).
struct FileDeletes {
  std::variant<model::DataFileId, NewFile> file;
  std::optional<DeleteObject> object;  ///< Nothing: all rows are back.
  Restores restores = Restores::kNothing;
};

/// Rows of PostgreSQL that end, by their positions in the file they are shown as,
/// and rows that had ended and are there again.
struct InlinedDeletes {
  materialize::InlinedPlace group;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> returned = {};
};

struct RowDeletes {
  std::vector<FileDeletes> files;
  std::vector<InlinedDeletes> groups;

  [[nodiscard]] bool empty() const { return files.empty() && groups.empty(); }
};

/// Ends data files at snapshot `end`. Their delete files stay open, as DuckDB
/// leaves them: a flush of deletes that it keeps in PostgreSQL looks for the open
/// one, and would put a second one beside it.
[[nodiscard]] base::pg::Query end_file_rows(const SchemaSql& sql, std::int64_t end,
                                            const std::vector<std::int64_t>& ids);

/// Ends delete files alone.
[[nodiscard]] base::pg::Query end_delete_rows(const SchemaSql& sql, std::int64_t end,
                                              const std::vector<std::int64_t>& data_file_ids);

/// Begins new rows of the same objects at `begin`, with the statistics,
/// partition values and facts of the rows `from`; `to[i]` is the id of
/// `from[i]`'s copy. Delete files are not copied.
[[nodiscard]] base::pg::Query copy_file_rows(const SchemaSql& sql, std::int64_t begin,
                                             const std::vector<std::int64_t>& from,
                                             const std::vector<std::int64_t>& to);

/// Rows of PostgreSQL that had ended begin again at `begin`, with their ids. One
/// whose id a later version of it has by now gets a new id.
[[nodiscard]] base::pg::Query return_inlined_rows(const SchemaSql& sql, std::int64_t table_id,
                                                  std::int64_t begin,
                                                  const InlinedDeletes& inlined);

/// A delete file's row to be.
struct NewDeleteRow {
  std::int64_t id = 0;
  std::int64_t data_file_id = 0;
  DeleteObject object;
};
struct DeletePlace {
  std::int64_t table_id = 0;
  std::int64_t begin = 0;
  std::string folder;  ///< The table's location with a '/': paths below it are relative.
};
[[nodiscard]] base::pg::Query insert_delete_rows(const SchemaSql& sql, const DeletePlace& place,
                                                 const std::vector<NewDeleteRow>& rows);

}  // namespace lake::ducklake
