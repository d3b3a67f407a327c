#include <fmt/format.h>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/commit/committer.h"
#include "lakeproxy/ducklake/lake/namespace_mapping.h"
#include "lakeproxy/ducklake/lake/not_there.h"
#include "lakeproxy/ducklake/lake/path_names.h"
#include "lakeproxy/ducklake/lake/relations.h"
#include "lakeproxy/from_iceberg/write/lake_writer.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::pg::param;
using base::pg::Query;
using base::pg::RowsPtr;
using PreconditionRows = std::vector<RowsPtr>;
using Properties = std::map<std::string, std::string>;

std::string properties_text(const Properties& properties) {
  base::json::Object object;
  for (const auto& [key, value] : properties) object[key] = value;
  return base::json::write(object);
}

// DuckDB drops schemas without a look at our rows: the next of that name takes over what is left.
Query put_namespace(const SchemaSql& sql, std::int64_t schema_id, const model::Namespace& name,
                    const std::string& properties) {
  std::vector<std::optional<std::string>> levels(name.levels.begin(), name.levels.end());
  return {sql("INSERT INTO @lakeproxy_namespace (schema_id, levels, properties) VALUES ($1, "
              "$2::text[], $3::jsonb) ON CONFLICT (levels) DO UPDATE SET schema_id = "
              "excluded.schema_id, properties = excluded.properties"),
          {param(schema_id), base::pg::array_param(levels), param(properties)}};
}

// The schema of a namespace, and where it stands.
struct NewSchema {
  std::string name;
  std::string word;                       // For changes_made.
  std::optional<std::int64_t> parent_id;  // From DuckLake 1.1 on.
};

// DuckLake 1.1 nests schemas; before, one schema stands for all levels.
NewSchema new_schema(const model::Namespace& name, model::LakeFormat format,
                     const base::pg::Rows* parent) {
  if (parent == nullptr || format < model::LakeFormat::k1_1) {
    std::string flat = flat_schema_name(name);
    std::string word = quote_change_name(flat);
    return {std::move(flat), std::move(word), std::nullopt};
  }
  return {name.levels.back(), change_word(*parent, name.levels.back()), parent->int64(0, 0)};
}

Query insert_schema(const SchemaSql& sql, const NewSchema& schema, const std::string& path,
                    const std::string& uuid, const LakeHead& head) {
  Query query{sql("INSERT INTO @ducklake_schema (schema_id, schema_uuid, begin_snapshot, "
                  "end_snapshot, schema_name, path, path_is_relative) VALUES ($1, $2::uuid, $3, "
                  "NULL, $4, $5, true)"),
              {param(head.next_catalog_id), param(uuid), param(head.snapshot.value + 1),
               param(schema.name), param(path)}};
  if (!schema.parent_id) return query;
  query.statement = sql(
      "INSERT INTO @ducklake_schema (schema_id, schema_uuid, begin_snapshot, end_snapshot, "
      "schema_name, path, path_is_relative, parent_schema_id) VALUES ($1, $2::uuid, $3, NULL, $4, "
      "$5, true, $6)");
  query.params.push_back(param(*schema.parent_id));
  return query;
}

// A schema whose name differs by the case of ASCII letters, which DuckDB does not tell apart.
Query find_namesake(const SchemaSql& sql, const model::Namespace& name) {
  return {sql("SELECT n.flat_name FROM @lakeproxy_schemas() n WHERE lower(n.flat_name COLLATE "
              "\"C\") = lower($1 COLLATE \"C\") LIMIT 1"),
          {param(flat_schema_name(name))}};
}

std::string display_of(std::string_view flat_name) {
  const auto name = namespace_of_schema(flat_name);
  return name ? name->display() : std::string(flat_name);
}

base::Result<CommitPlan> plan_create(const SchemaSql& sql, const model::Namespace& name,
                                     const std::string& properties, const std::string& uuid,
                                     const LakeHead& head, const PreconditionRows& preconditions) {
  if (!preconditions[0]->empty()) {
    return base::fail(ErrorKind::kAlreadyExists, "Namespace already exists: " + name.display());
  }
  if (const base::pg::Rows& namesake = *preconditions.back(); !namesake.empty()) {
    return base::fail(
        ErrorKind::kAlreadyExists,
        fmt::format("Namespace already exists: {} as {}, which is the same name to DuckDB",
                    name.display(), display_of(namesake.text(0, 0))));
  }
  const base::pg::Rows* parent = name.levels.size() > 1 ? preconditions[1].get() : nullptr;
  if (parent != nullptr && parent->empty()) {
    model::Namespace missing = name;
    missing.levels.pop_back();
    return no_such_namespace(missing);
  }
  const NewSchema schema = new_schema(name, head.format, parent);
  LakeDelta delta;
  delta.queries.push_back(
      insert_schema(sql, schema, path_name(flat_schema_name(name), uuid) + "/", uuid, head));
  delta.changes.push_back("created_schema:" + schema.word);
  delta.schema_changes = true;
  delta.catalog_ids_used = 1;
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  plan.sidecar_queries.push_back(put_namespace(sql, head.next_catalog_id, name, properties));
  return plan;
}

base::Result<CommitPlan> plan_drop(const SchemaSql& sql, const model::Namespace& name,
                                   const LakeHead& head, const PreconditionRows& preconditions) {
  if (preconditions[0]->empty()) return no_such_namespace(name);
  if (!preconditions[1]->empty()) {
    return base::fail(ErrorKind::kConflict, "Namespace is not empty: " + name.display())
        .with_reason(kNamespaceNotEmpty);
  }
  std::int64_t id = preconditions[0]->int64(0, 0);
  LakeDelta delta;
  delta.queries.push_back({sql("UPDATE @ducklake_schema SET end_snapshot = $1 WHERE schema_id = $2 "
                               "AND end_snapshot IS NULL"),
                           {param(head.snapshot.value + 1), param(id)}});
  delta.changes.push_back(fmt::format("dropped_schema:{}", id));
  delta.schema_changes = true;
  CommitPlan plan;
  plan.deltas.push_back(std::move(delta));
  plan.sidecar_queries.push_back(
      {sql("DELETE FROM @lakeproxy_namespace WHERE schema_id = $1"), {param(id)}});
  return plan;
}

// Tables, views and nested namespaces that stand in the namespace.
Query find_content(const SchemaSql& sql, const model::Namespace& name) {
  return {sql("WITH s AS MATERIALIZED (SELECT @lakeproxy_find_schema($1) AS schema_id) "
              "SELECT 1 FROM @ducklake_table t, s WHERE t.schema_id = s.schema_id AND "
              "t.end_snapshot IS NULL "
              "UNION ALL SELECT 1 FROM @ducklake_view v, s WHERE v.schema_id = s.schema_id AND "
              "v.end_snapshot IS NULL "
              "UNION ALL SELECT 1 FROM @lakeproxy_schemas() n WHERE starts_with(n.flat_name, $1 || "
              "E'\\x1f') "
              "LIMIT 1"),
          {param(flat_schema_name(name))}};
}

base::Result<Properties> read_properties(const PreconditionRows& preconditions) {
  Properties properties;
  if (preconditions[1]->empty()) return properties;
  ASSIGN_OR_RETURN(auto json, base::json::parse(preconditions[1]->text(0, 0)));
  for (const auto& member : json.as_object()) {
    properties[std::string(member.key())] = std::string(member.value().as_string());
  }
  return properties;
}

PropertyChanges change(Properties& properties, const std::vector<std::string>& removals,
                       const Properties& updates) {
  PropertyChanges changes;
  for (const std::string& key : removals) {
    (properties.erase(key) > 0 ? changes.removed : changes.missing).push_back(key);
  }
  for (const auto& [key, value] : updates) {
    properties[key] = value;
    changes.updated.push_back(key);
  }
  return changes;
}

base::json::Value strings_json(const std::vector<std::string>& strings) {
  base::json::Array array;
  for (const auto& text : strings) array.emplace_back(text);
  return array;
}

}  // namespace

base::json::Value to_json(const PropertyChanges& changes) {
  return base::json::Object{{"updated", strings_json(changes.updated)},
                            {"removed", strings_json(changes.removed)},
                            {"missing", strings_json(changes.missing)}};
}

base::Task<base::Result<void>> LakeWriter::create_namespace(base::RequestContext context,
                                                            model::Namespace name,
                                                            Properties properties) {
  std::vector<Query> preconditions{find_schema_path(sql_, name)};
  model::Namespace parent = name;
  parent.levels.pop_back();
  if (!parent.levels.empty()) preconditions.push_back(find_schema_path(sql_, parent));
  preconditions.push_back(find_namesake(sql_, name));
  std::string uuid = base::to_string(base::make_uuid_v4(*random_));
  std::string text = properties_text(properties);
  Planner planner = [sql = sql_, name, text, uuid](const LakeHead& head,
                                                   const PreconditionRows& rows) {
    return plan_create(sql, name, text, uuid, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<void>> LakeWriter::drop_namespace(base::RequestContext context,
                                                          model::Namespace name) {
  std::vector<Query> preconditions{find_schema_path(sql_, name), find_content(sql_, name)};
  Planner planner = [sql = sql_, name](const LakeHead& head, const PreconditionRows& rows) {
    return plan_drop(sql, name, head, rows);
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return base::Result<void>{};
}

base::Task<base::Result<PropertyChanges>> LakeWriter::change_namespace(
    base::RequestContext context, model::Namespace name, std::vector<std::string> removals,
    Properties updates) {
  std::vector<Query> preconditions{
      find_schema_path(sql_, name),
      {sql_("SELECT n.properties FROM @lakeproxy_namespace n WHERE n.schema_id = (SELECT "
            "@lakeproxy_find_schema($1))"),
       {param(flat_schema_name(name))}}};
  auto changes = std::make_shared<PropertyChanges>();
  Planner planner = [sql = sql_, name, removals, updates, changes](
                        const LakeHead&, const PreconditionRows& rows) -> base::Result<CommitPlan> {
    if (rows[0]->empty()) return no_such_namespace(name);
    ASSIGN_OR_RETURN(Properties properties, read_properties(rows));
    *changes = change(properties, removals, updates);
    CommitPlan plan;
    plan.sidecar_queries.push_back(
        put_namespace(sql, rows[0]->int64(0, 0), name, properties_text(properties)));
    plan.answer = base::json::write(to_json(*changes));
    return plan;
  };
  CO_RETURN_IF_ERROR(
      co_await committer_->commit(context, std::move(preconditions), std::move(planner), key_));
  co_return std::move(*changes);
}

}  // namespace lake::ducklake
