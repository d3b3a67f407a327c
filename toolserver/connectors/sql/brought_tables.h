#pragma once

// Tables of Iceberg whose files somebody put into the engine's folder for one statement: how they
// become views. Parquet files name their columns as the table did when they were written, and rows
// that were deleted since are still in them; so each column is found by its field id, and deleted
// positions are left out. What cannot be read for sure is refused, never guessed.
// Sources: Iceberg table specification, "Column Projection", "Position Delete Files"; DuckDB 1.5.5,
// parquet_schema and read_parquet.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/duckdb/connection.h"
#include "base/json/fields.h"
#include "base/json/json.h"
#include "toolserver/connectors/sql/sql_screen.h"

namespace tool::connectors {

struct BroughtColumn {
  std::int32_t id = 0;  ///< Iceberg's field id.
  std::string name;
  std::string type;  ///< As the engine writes it: "DECIMAL(10,2)".
  /// Of structs below the column: fields by id with their names.
  std::map<std::int32_t, std::string> fields = {};
  /// Of lists and maps below it: ids of elements, keys and values, whose names mean nothing.
  std::vector<std::int32_t> elements = {};
  /// The value of rows whose file lacks it stands elsewhere: in a default, or in the partition.
  bool is_elsewhere = false;
};

/// Positions that were deleted from one data file.
struct BroughtDeletes {
  std::string file;       ///< In the folder; rows of file_path and pos.
  std::string data_path;  ///< What file_path says of the data file.
};

struct BroughtFile {
  std::string file;  ///< In the folder.
  std::vector<BroughtDeletes> deletes = {};
};

struct BroughtTable {
  QualifiedName name;
  std::vector<BroughtColumn> columns;
  std::vector<BroughtFile> files;
};

[[nodiscard]] base::json::Object to_json(const BroughtTable& table);
/// Errors: kInvalid  names the member; also where a file is no plain name.
[[nodiscard]] base::Result<BroughtTable> read_brought_table(const base::json::Fields& fields);

/// A top-level column as a Parquet file has it.
struct FileColumn {
  std::string name;
  std::optional<std::int32_t> id;
  std::map<std::int32_t, std::string> below = {};  ///< All below it that have an id.
};

/// The columns of a file. Errors: as of Connection::execute.
[[nodiscard]] base::Result<std::vector<FileColumn>> columns_of(base::duckdb::Connection& connection,
                                                               const std::string& path);

/// CREATE VIEW of the table, over files of `folder` whose columns are `found`, in their order.
/// Pure. Errors: kUnsupported  a file has columns without field ids, or one that was changed
/// inside, or
///         lacks one with a default: the message names table and column.
[[nodiscard]] base::Result<std::string> view_of(const BroughtTable& table,
                                                const std::vector<std::vector<FileColumn>>& found,
                                                const std::string& folder);

}  // namespace tool::connectors
