#include "lakeproxy/ducklake/lake/relations.h"

#include <fmt/format.h>

#include "base/core/result.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;

std::string_view noun(RelationKind kind) { return kind == RelationKind::kView ? "View" : "Table"; }

Relation relation_of(const base::pg::Rows& rows, std::size_t row) {
  const RelationKind kind = rows.text(row, 0) == "v" ? RelationKind::kView : RelationKind::kTable;
  return {kind, rows.int64(row, 1), std::string(rows.text(row, 3))};
}

std::string spelled(const Relation& found, const model::TableIdentifier& wanted) {
  if (found.name == wanted.name) return "";
  return fmt::format(" as {}, which is the same name to DuckDB", found.name);
}

}  // namespace

base::pg::Query find_relation(const SchemaSql& sql, const model::TableIdentifier& identifier) {
  return {sql("WITH s AS MATERIALIZED (SELECT @lakeproxy_find_schema($1) AS schema_id) "
              "SELECT 't', t.table_id, t.table_name = $2 AS exact, t.table_name FROM "
              "@ducklake_table t WHERE t.schema_id = (SELECT schema_id FROM s) AND "
              "lower(t.table_name COLLATE \"C\") = lower($2 COLLATE \"C\") AND t.end_snapshot IS "
              "NULL UNION ALL SELECT 'v', v.view_id, v.view_name = $2, v.view_name FROM "
              "@ducklake_view v WHERE v.schema_id = (SELECT schema_id FROM s) AND "
              "lower(v.view_name COLLATE \"C\") = lower($2 COLLATE \"C\") AND v.end_snapshot IS "
              "NULL ORDER BY exact DESC"),
          {param(flat_schema_name(identifier.name_space)), param(identifier.name)}};
}

std::optional<Relation> read_relation(const base::pg::Rows& rows) {
  if (rows.empty() || !rows.boolean(0, 2)) return std::nullopt;
  return relation_of(rows, 0);
}

std::optional<Relation> read_namesake(const base::pg::Rows& rows, std::optional<std::int64_t> but) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool changes_its_case = rows.int64(i, 1) == but && !rows.boolean(i, 2);
    if (!changes_its_case) return relation_of(rows, i);
  }
  return std::nullopt;
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
                       const Relation& found) {
  const std::string_view how =
      wanted == found.kind ? "already exists" : "with same name already exists";
  return base::fail(ErrorKind::kAlreadyExists,
                    fmt::format("{} {}: {}{}", noun(found.kind), how, identifier.display(),
                                spelled(found, identifier)))
      .with_reason(found.kind == RelationKind::kView ? kNameOfView : std::string_view());
}

base::Error cannot_rename(const model::TableIdentifier& from, const model::TableIdentifier& to,
                          const Relation& found) {
  return base::fail(ErrorKind::kAlreadyExists,
                    fmt::format("Cannot rename {} to {}. {} already exists{}", from.display(),
                                to.display(), noun(found.kind), spelled(found, to)));
}

}  // namespace lake::ducklake
