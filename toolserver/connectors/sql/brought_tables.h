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

/// Rows that were deleted from one data file.
struct BroughtDeletes {
  std::string file;  ///< In the folder.
  /// What file_path says of the data file, in a Parquet file of file_path and pos. Nothing: the
  /// file is a deletion vector, of this data file alone.
  std::optional<std::string> data_path;
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
  /// Types of it and of all below. Files are read together only where they are the same: the engine
  /// takes the types of the first for those of all.
  std::string kinds = {};
  std::size_t leaves = 0;  ///< Column chunks of a row group.
};

/// The columns of a file. Errors: as of Connection::execute.
[[nodiscard]] base::Result<std::vector<FileColumn>> columns_of(base::duckdb::Connection& connection,
                                                               const std::string& path);

/// Files of a table that one reader can read.
struct FilesAlike {
  std::string projection;          ///< What is selected of them.
  std::vector<std::size_t> files;  ///< Of BroughtTable::files.
  bool has_deletes = false;        ///< Then all of them have.
};

/// Of a table whose files have the columns `found`, in their order. Pure.
/// Errors: kUnsupported  a file has columns without field ids, or one that was changed inside, or
///         lacks one with a default: the message names table and column.
[[nodiscard]] base::Result<std::vector<FilesAlike>> files_alike(
    const BroughtTable& table, const std::vector<std::vector<FileColumn>>& found);

/// CREATE VIEW of the table, over files of `folder`. `deleted` is a table of what is left out, as
/// make_deleted() makes it. Pure.
[[nodiscard]] std::string view_of(const BroughtTable& table, const std::vector<FilesAlike>& alike,
                                  const std::string& folder, const std::string& deleted);

}  // namespace tool::connectors
