#pragma once

// DuckLake keeps for each file that DuckDB did not write how its columns are
// called; Iceberg has one list of names for the whole table. The one can stand
// for the other where a name means one column in all files; where it means two, a
// copy stands for the files that came later with it.
// Sources: DuckLake specification 1.0, "ducklake_name_mapping"; Iceberg table
// specification, "Name Mapping Serialization".

#include <cstdint>
#include <map>
#include <vector>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/name_mapping.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

/// The names of all `maps` by the fields of `schemas`, ascending by field id. A name that means two
/// columns at its level stands for that of the first map alone.
/// Columns that no schema has, and those whose values stand in a path, are not in it.
[[nodiscard]] model::NameMapping name_mapping_of(
    const std::map<std::int64_t, model::LakeNameMap>& maps,
    const std::vector<model::Schema>& schemas);

/// Adds the names of `more` that stand for nothing in `mapping` at their level. No
/// file that the table shows has a column of such a name.
void add_names(const model::NameMapping& more, model::NameMapping& mapping);

}  // namespace lake::ducklake
