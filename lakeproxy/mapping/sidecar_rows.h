#pragma once

// The rows beside the lake's own that keep what DuckLake has no column for.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/postgres/session.h"
#include "lakeproxy/ducklake/commit/snapshot_commit.h"
#include "lakeproxy/ducklake/lake/schema_sql.h"
#include "lakeproxy/iceberg/metadata/table_metadata.h"

namespace lake::ducklake {

/// Which table, from which lake snapshot on, at which revision.
struct SidecarPlace {
  std::int64_t table_id = 0;
  std::int64_t begin = 0;
  std::int64_t revision = 0;
};

/// The table's row: uuid, format version, properties, refs, sort orders,
/// statistics files. What is out of sight is written for a new row only.
[[nodiscard]] base::pg::Query put_table(const SchemaSql& sql, const SidecarPlace& place,
                                        const model::TableMetadata& metadata);

/// What is out of sight, for a row that is there. It is written where it changed
/// and nowhere else: a publication may have put a spec into sight meanwhile.
[[nodiscard]] base::pg::Query put_out_of_sight(const SchemaSql& sql, const SidecarPlace& place,
                                               const model::OutOfSight& hidden);

/// Puts specs that manifests refer to into sight.
[[nodiscard]] base::pg::Query put_into_sight(const SchemaSql& sql, std::int64_t table_id,
                                             const std::set<std::int32_t>& specs);

/// The refs as they are kept: "main" follows from the newest snapshot, and only
/// its retention is kept.
[[nodiscard]] std::map<std::string, model::SnapshotRef> kept_refs(
    const model::TableMetadata& metadata);

/// Rows of the schemas whose ids are not in `known`, and of the current one
/// when it is.
void put_schemas(const SchemaSql& sql, const SidecarPlace& place,
                 const model::TableMetadata& metadata, const std::set<std::int32_t>& known,
                 std::vector<base::pg::Query>& out);

}  // namespace lake::ducklake
