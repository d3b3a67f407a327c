#pragma once

// The order by which DuckDB sorts the rows of a table that it writes.
// Source: DuckLake specification 1.0, "ducklake_sort_expression".

#include <string>
#include <vector>

#include "lakeproxy/iceberg/schema/partition_spec.h"

namespace lake::model {

/// A row of ducklake_sort_expression.
struct LakeSortKey {
  std::string expression;  ///< DuckDB's SQL, e.g. "i", "\"a b\"", "(i + 1)".
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kFirst;

  friend bool operator==(const LakeSortKey&, const LakeSortKey&) = default;
};

/// What the lake says now of a table's order.
struct LakeSort {
  bool ever_set = false;          ///< There is, or was, a row of ducklake_sort_info.
  std::vector<LakeSortKey> keys;  ///< Of the row shown now, in order; else empty.
};

}  // namespace lake::model
