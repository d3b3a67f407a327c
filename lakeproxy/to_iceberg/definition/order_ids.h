#pragma once

// The lake sorts by SQL expressions, Iceberg by columns. The beginning of a
// lake's list that names plain columns is a sort order too; rows sorted by the
// whole list are sorted by it.
// Source: Iceberg table specification, "Sorting".

#include <cstdint>

#include "lakeproxy/ducklake/table/lake_sort.h"
#include "lakeproxy/to_iceberg/definition/assigned_ids.h"
#include "lakeproxy/to_iceberg/definition/lake_columns.h"

namespace lake::ducklake {

/// The id of the default order. The lake's order wins over `client_default`, the one that
/// clients set, where it has one; `ids` gets it if it has no equal one.
[[nodiscard]] std::int32_t assign_order(const LakeColumns& columns, const model::LakeSort& lake,
                                        std::int32_t client_default, AssignedIds& ids);

}  // namespace lake::ducklake
