#pragma once

// Properties that a table shows where nobody set them: what clients must know of
// files that DuckDB writes and keeps.

#include <map>
#include <string>

#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// gc.enabled=false: DuckLake still needs files that no snapshot shown refers to.
/// read.parquet.vectorization.enabled=false, where a column is or was a variant:
/// Iceberg's Java readers (1.12) read shredded ones row by row and not in batches.
[[nodiscard]] std::map<std::string, std::string> default_properties(const LakeColumns& columns);

}  // namespace lake::ducklake
