#pragma once

// Parquet files that others wrote: their columns as the file itself lists
// them, and the engine's complaints about them in the lake's terms.
// Source: Apache Parquet format, "SchemaElement".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/duckdb/connection.h"
#include "lakeproxy/model/ids.h"

namespace lake::exporter {

enum class ParquetShape { kLeaf, kStruct, kList, kMap };

/// One element of a file's schema. A list's and a map's repeated group is the
/// only child, with their parts below it.
struct ParquetNode {
  std::string name;
  std::string physical_type;  ///< Of a leaf, e.g. "INT64".
  std::string engine_type;    ///< What the engine reads a leaf as, e.g. "BIGINT".
  std::string logical_type;   ///< As the engine prints it; may be empty.
  ParquetShape shape = ParquetShape::kLeaf;
  bool repeated = false;
  std::optional<model::FieldId> field_id;
  std::int64_t leaf = 0;  ///< Which of the file's leaves it is, or its first one.
  std::vector<ParquetNode> children;
};

/// The root element of the file at `path`.
/// Errors: kCorrupt  not Parquet; kTooLarge, kTimeout, kInternal  as Statement.
[[nodiscard]] base::Result<ParquetNode> read_parquet_tree(base::duckdb::Connection& connection,
                                                          const std::string& path);
/// Those of several files, each given once, in their order, by one statement: a
/// statement costs more than a footer. Errors: the same, and do not say of which file.
[[nodiscard]] base::Result<std::vector<ParquetNode>> read_parquet_trees(
    base::duckdb::Connection& connection, const std::vector<std::string>& paths);

/// The top-level column with that field id, or else the one of that name; null
/// when there is none.
[[nodiscard]] const ParquetNode* find_reserved(const ParquetNode& root, model::FieldId id,
                                               std::string_view name);

/// The fields of a struct, the element of a list, the key and value of a map. These stand below
/// a repeated group; some writers leave it out.
[[nodiscard]] const std::vector<ParquetNode>& parts_of(const ParquetNode& node);

/// Whether a column below `node`, at any depth, has a field id.
[[nodiscard]] bool has_field_ids(const ParquetNode& node);

/// The error of a statement that reads a foreign file: what the engine refuses
/// or fails at, apart from its own limits, is the file's fault.
[[nodiscard]] base::Error as_foreign(base::Error error);

}  // namespace lake::exporter
