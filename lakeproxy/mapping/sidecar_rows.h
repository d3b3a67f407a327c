#pragma once

// The rows beside the lake's own that keep what DuckLake has no column for.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/json.h"
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

/// The table's row: uuid, format version, properties, refs, default sort order,
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

/// Definitions that a commit adds, and where they count: rows of lakeproxy_definition and
/// lakeproxy_definition_use.
class DefinitionRows {
 public:
  /// `kind` is "schema", "spec" (then `body` is its fields) or "order".
  void define(const char* kind, std::int32_t id, const base::json::Value& body);
  /// Of several of one key the last counts.
  void use(const char* kind, std::int64_t key, std::int32_t id);
  [[nodiscard]] bool empty() const { return definitions_.empty() && uses_.empty(); }
  /// One statement. Fails with a unique violation where an id was given to another meanwhile.
  [[nodiscard]] base::pg::Query query(const SchemaSql& sql, std::int64_t table_id) const;

 private:
  struct Definition {
    const char* kind;
    std::int32_t id;
    std::string body;
  };
  std::vector<Definition> definitions_;
  std::map<std::pair<std::string_view, std::int64_t>, std::int32_t> uses_;
};

/// What `before` does not have: schemas, sort orders, and which schema is current from `begin` on.
void add_definitions(const model::TableMetadata& before, const model::TableMetadata& after,
                     std::int64_t begin, DefinitionRows& rows);

}  // namespace lake::ducklake
