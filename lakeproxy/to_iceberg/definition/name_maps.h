#pragma once

// DuckLake keeps for each file that DuckDB did not write how its columns are
// called; Iceberg has one list of names for the whole table. The one can stand
// for the other as long as no name means two columns.
// Sources: DuckLake specification 1.0, "ducklake_name_mapping"; Iceberg table
// specification, "Name Mapping Serialization".

#include <cstdint>
#include <map>
#include <vector>

#include "base/core/result.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

/// The names of all `maps` by the fields of `schemas`, ascending by field id.
/// Columns that no schema has, and those whose values stand in a path, are not in it.
/// Errors: kUnsupported  one name means two columns (names them).
[[nodiscard]] base::Result<model::NameMapping> name_mapping_of(
    const std::map<std::int64_t, model::LakeNameMap>& maps,
    const std::vector<model::Schema>& schemas);

/// Adds the names of `more` that stand for nothing in `mapping` at their level. No
/// file that the table shows has a column of such a name.
void add_names(const model::NameMapping& more, model::NameMapping& mapping);

}  // namespace lake::ducklake
