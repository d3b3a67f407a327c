#pragma once

// DuckDB keeps the order of a table as SQL over names of columns, and cannot write a
// row to the table once a name is none of its columns. What Iceberg clients do to the
// columns, and to an order that DuckDB set, is done to that SQL, too.
// Source: DuckLake specification 1.0, "ducklake_sort_info"; that DuckDB refuses was
// seen (ADR 0053).

#include <cstdint>

#include "lakeproxy/ducklake/table/lake_table.h"
#include "lakeproxy/mapping/sidecar_rows.h"

namespace lake::ducklake {

/// The lake's sort rows of `before` as `after` wants them; nothing where DuckDB never
/// sorted the table, and where all stays as it is. An order that the lake cannot hold,
/// and one made of a column that goes, ends. New rows take the next of the delta's
/// catalog ids, from `first_catalog_id` on.
void follow_sort(const SchemaSql& sql, const SidecarPlace& place, std::int64_t first_catalog_id,
                 const model::LakeTable& before, const model::TableMetadata& after,
                 LakeDelta& delta);

}  // namespace lake::ducklake
