#pragma once

// The lake sorts by SQL expressions, Iceberg by columns. The beginning of a
// lake's list that names plain columns is a sort order too; rows sorted by the
// whole list are sorted by it.
// Source: Iceberg table specification, "Sorting".

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/definition/lake_columns.h"
#include "lakeproxy/model/schema/partition_spec.h"

namespace lake::ducklake {

/// A row of ducklake_sort_expression.
struct LakeSortKey {
  std::string expression;  ///< DuckDB's SQL, e.g. "i", "\"a b\"", "(i + 1)".
  model::SortDirection direction = model::SortDirection::kAscending;
  model::NullOrder null_order = model::NullOrder::kFirst;
};

/// What the lake says now of a table's order.
struct LakeSort {
  bool ever_set = false;          ///< There is, or was, a row of ducklake_sort_info.
  std::vector<LakeSortKey> keys;  ///< Of the row shown now, in order; else empty.
};

struct SortOrders {
  std::vector<model::SortOrder> orders;  ///< Begins with the unsorted order 0.
  std::int32_t default_order_id = 0;
};

/// `client` are the orders that clients gave, and their default. The lake's
/// order wins where it has one, and gets the id of an equal one or the next.
[[nodiscard]] SortOrders sort_orders(const LakeColumns& columns, const LakeSort& lake,
                                     SortOrders client);

}  // namespace lake::ducklake
