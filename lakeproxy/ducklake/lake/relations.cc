#include "lakeproxy/ducklake/lake/relations.h"

#include <fmt/format.h>

#include "base/core/result.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;

std::string_view noun(RelationKind kind) { return kind == RelationKind::kView ? "View" : "Table"; }

}  // namespace

base::pg::Query find_relation(const SchemaSql& sql, const model::TableIdentifier& identifier) {
  return {sql("WITH s AS MATERIALIZED (SELECT @lakeproxy_find_schema($1) AS schema_id) "
              "SELECT 't', t.table_id FROM @ducklake_table t WHERE t.schema_id = (SELECT schema_id "
              "FROM s) AND t.table_name = $2 AND t.end_snapshot IS NULL "
              "UNION ALL SELECT 'v', v.view_id FROM @ducklake_view v WHERE v.schema_id = (SELECT "
              "schema_id FROM s) AND v.view_name = $2 AND v.end_snapshot IS NULL"),
          {param(flat_schema_name(identifier.name_space)), param(identifier.name)}};
}

std::optional<Relation> read_relation(const base::pg::Rows& rows) {
  if (rows.empty()) return std::nullopt;
  const RelationKind kind = rows.text(0, 0) == "v" ? RelationKind::kView : RelationKind::kTable;
  return Relation{kind, rows.int64(0, 1)};
}

base::pg::Query find_schema_path(const SchemaSql& sql, const model::Namespace& name) {
  return {sql("SELECT schema_id, path, path_is_relative, @lakeproxy_schema_word(schema_id) FROM "
              "@ducklake_schema WHERE schema_id = (SELECT @lakeproxy_find_schema($1))"),
          {param(flat_schema_name(name))}};
}

std::string change_word(const base::pg::Rows& schema, std::string_view name) {
  return fmt::format("{}.{}", schema.text(0, 3), quote_change_name(name));
}

std::string quote_change_name(std::string_view name) {
  std::string quoted = "\"";
  for (char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

base::Error name_taken(const model::TableIdentifier& identifier, RelationKind wanted,
                       RelationKind found) {
  const std::string_view how = wanted == found ? "already exists" : "with same name already exists";
  return base::fail(ErrorKind::kAlreadyExists,
                    fmt::format("{} {}: {}", noun(found), how, identifier.display()))
      .with_reason(found == RelationKind::kView ? kNameOfView : std::string_view());
}

base::Error cannot_rename(const model::TableIdentifier& from, const model::TableIdentifier& to,
                          RelationKind found) {
  return base::fail(ErrorKind::kAlreadyExists,
                    fmt::format("Cannot rename {} to {}. {} already exists", from.display(),
                                to.display(), noun(found)));
}

}  // namespace lake::ducklake
