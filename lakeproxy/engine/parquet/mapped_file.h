#pragma once

// A Parquet file that nobody wrote for the table became a file of it. DuckDB
// finds its columns by the names that the lake has for this one file; Iceberg's
// readers by the file's own field ids, or, where it has none, by the names that
// the table has for all its files. Both must find the same columns, and in a
// form that every reader reads alike.
// Sources: DuckLake specification 1.0, "ducklake_name_mapping"; Iceberg table
// specification, "Column Projection".

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::exporter {

/// How the two sides find the columns of a file. What is pointed to outlives it.
struct MappedColumns {
  const model::LakeNameMap* lake = nullptr;             ///< DuckDB's, of this file.
  const model::NameMapping* iceberg = nullptr;          ///< The table's.
  const std::vector<model::Schema>* schemas = nullptr;  ///< All of the table's.
  /// The schema that the file was added under: its types count.
  const model::Schema* then = nullptr;
};

struct MappedFile {
  std::string location;
  std::int64_t size_bytes = 0;
  MappedColumns columns;
};

/// Errors: kUnsupported  names the column: a reader that goes by Iceberg's rules
///         finds another one or none where DuckDB finds it, or its form in the file
///         is one that readers misread.
[[nodiscard]] base::Status check_columns(const ParquetNode& root, const MappedColumns& columns);

/// How the columns of a file without field ids are called, for DuckDB, by what the
/// table's mapping says of them.
[[nodiscard]] model::LakeNameMap names_of_columns(const ParquetNode& root,
                                                  const model::NameMapping& mapping);

}  // namespace lake::exporter
