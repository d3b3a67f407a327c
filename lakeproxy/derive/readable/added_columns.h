#pragma once

// A file that was added as it is has the columns that the lake's names say, whatever field ids
// stand in it and whatever else it holds; DuckDB casts each to the table's type as it reads it.
// A copy for clients has these columns alone, under the table's ids, in the table's types.
// Sources: DuckLake specification 1.0, "ducklake_name_mapping"; Apache Parquet format,
// "LogicalTypes", "Nested Types".

#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {

/// Whether `node` is a column of type VARIANT: a group of bytes, and of values that are shredded.
/// Nothing in the engine's list of a schema says so but what the group holds.
[[nodiscard]] bool is_variant(const ParquetNode& node);

/// Leaves the columns of `root` that `added` names, with the table's field ids, and adds to
/// `columns` how each leaf becomes its type of then that is not in it yet.
/// Errors: kUnsupported  a column's form is one that the names do not say the parts of, two columns
///         differ by case alone, or a time has a zone in the file alone or the table alone
///         (names the column).
[[nodiscard]] base::Status keep_added_columns(const model::AddedColumns& added, ParquetNode& root,
                                              std::vector<model::CopiedColumn>& columns);

}  // namespace lake::exporter
