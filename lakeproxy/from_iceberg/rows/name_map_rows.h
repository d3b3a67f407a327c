#pragma once

// How DuckDB finds the columns of a file without field ids, as DuckLake's rows.
// Source: DuckLake specification 1.0, "ducklake_column_mapping",
// "ducklake_name_mapping".

#include <cstdint>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/iceberg/schema/schema.h"

namespace lake::ducklake {

struct NameMapPlace {
  std::int64_t mapping_id = 0;
  std::int64_t table_id = 0;
};

/// The rows of `map`. Columns that `schema` does not have stand at the top level.
[[nodiscard]] std::vector<base::pg::Query> name_map_rows(const SchemaSql& sql, NameMapPlace place,
                                                         const model::LakeNameMap& map,
                                                         const model::Schema& schema);

}  // namespace lake::ducklake
