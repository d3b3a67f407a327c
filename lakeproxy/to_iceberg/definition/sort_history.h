#pragma once

// The lake sorts by SQL expressions, Iceberg by columns. The beginning of a
// lake's list that names plain columns is a sort order too; rows sorted by the
// whole list are sorted by it.
// Source: Iceberg table specification, "Sorting".

#include <cstdint>
#include <vector>

#include "lakeproxy/ducklake/table/lake_sort.h"
#include "lakeproxy/iceberg/schema/partition_spec.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

struct SortOrders {
  std::vector<model::SortOrder> orders;  ///< Begins with the unsorted order 0.
  std::int32_t default_order_id = 0;
};

/// `client` are the orders that clients gave, and their default. The lake's
/// order wins where it has one, and gets the id of an equal one or the next.
[[nodiscard]] SortOrders sort_orders(const LakeColumns& columns, const model::LakeSort& lake,
                                     SortOrders client);

}  // namespace lake::ducklake
