#include "lakeproxy/mapping/sidecar_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"
#include "lakeproxy/mapping/comments.h"
#include "lakeproxy/mapping/shown_parts.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using base::pg::Query;
namespace json = base::json;

std::string properties_json(const model::TableMetadata& metadata) {
  json::Object object;
  for (const auto& [key, value] : metadata.properties) {
    if (key == kCommentProperty) continue;  // The lake has it.
    auto held = metadata.default_properties.find(key);
    if (held == metadata.default_properties.end() || held->second != value) object[key] = value;
  }
  return json::write(object);
}

std::string refs_json(const model::TableMetadata& metadata) {
  json::Object object;
  for (const auto& [name, ref] : kept_refs(metadata)) object[name] = model::to_json(ref);
  return json::write(object);
}

}  // namespace

Query put_table(const SchemaSql& sql, const SidecarPlace& place,
                const model::TableMetadata& metadata) {
  return {
      sql("INSERT INTO @lakeproxy_table (table_id, revision, table_uuid, format_version, "
          "properties, refs, default_sort_order_id, last_partition_id, updated_ms, "
          "statistics, partition_statistics, out_of_sight) VALUES ($1, $2, $3::uuid, $4, "
          "$5::jsonb, $6::jsonb, $7, $8, $9, $10::jsonb, $11::jsonb, $12::jsonb) "
          "ON CONFLICT (table_id) DO UPDATE SET revision = excluded.revision, table_uuid = "
          "excluded.table_uuid, format_version = excluded.format_version, properties = "
          "excluded.properties, refs = excluded.refs, default_sort_order_id = "
          "excluded.default_sort_order_id, last_partition_id = "
          "excluded.last_partition_id, updated_ms = excluded.updated_ms, statistics = "
          "excluded.statistics, partition_statistics = excluded.partition_statistics"),
      {param(place.table_id), param(place.revision), param(base::to_string(metadata.table_uuid)),
       param(std::int64_t{metadata.format_version}), param(properties_json(metadata)),
       param(refs_json(metadata)), param(std::int64_t{metadata.default_sort_order_id}),
       param(std::int64_t{metadata.last_partition_id}), param(metadata.last_updated_ms),
       param(statistics_json(metadata.statistics)),
       param(statistics_json(metadata.partition_statistics)),
       param(out_of_sight_json(metadata.out_of_sight))}};
}

Query put_out_of_sight(const SchemaSql& sql, const SidecarPlace& place,
                       const model::OutOfSight& hidden) {
  return {sql("UPDATE @lakeproxy_table SET out_of_sight = $2::jsonb WHERE table_id = $1"),
          {param(place.table_id), param(out_of_sight_json(hidden))}};
}

Query put_into_sight(const SchemaSql& sql, std::int64_t table_id,
                     const std::set<std::int32_t>& specs) {
  std::vector<std::optional<std::string>> keys;
  for (std::int32_t id : specs) keys.push_back(std::to_string(id));
  return {sql("UPDATE @lakeproxy_table SET out_of_sight = jsonb_set(out_of_sight, '{specs}', "
              "coalesce(out_of_sight->'specs', '{}') - $2::text[]) WHERE table_id = $1"),
          {param(table_id), array_param(keys)}};
}

std::map<std::string, model::SnapshotRef> kept_refs(const model::TableMetadata& metadata) {
  auto refs = metadata.refs;
  auto main = refs.find(std::string(model::kMainBranch));
  if (main == refs.end()) return refs;
  main->second.snapshot_id = model::SnapshotId(0);
  if (main->second == model::SnapshotRef{}) refs.erase(main);
  return refs;
}

void DefinitionRows::define(const char* kind, std::int32_t id, const json::Value& body) {
  definitions_.push_back({kind, id, json::write(body)});
}

void DefinitionRows::use(const char* kind, std::int64_t key, std::int32_t id) {
  uses_[{kind, key}] = id;
}

Query DefinitionRows::query(const SchemaSql& sql, std::int64_t table_id) const {
  std::vector<std::optional<std::string>> kinds, bodies, used_kinds;
  std::vector<std::int64_t> ids, keys, used_ids;
  for (const Definition& definition : definitions_) {
    kinds.emplace_back(definition.kind);
    ids.push_back(definition.id);
    bodies.emplace_back(definition.body);
  }
  for (const auto& [place, id] : uses_) {
    used_kinds.emplace_back(place.first);
    keys.push_back(place.second);
    used_ids.push_back(id);
  }
  return {sql("WITH defined AS (INSERT INTO @lakeproxy_definition (table_id, kind, id, body) "
              "SELECT $1, d.kind, d.id, d.body::json FROM unnest($2::text[], $3::bigint[], "
              "$4::text[]) AS d(kind, id, body)) INSERT INTO @lakeproxy_definition_use (table_id, "
              "kind, key, id) SELECT $1, u.kind, u.key, u.id FROM unnest($5::text[], "
              "$6::bigint[], $7::bigint[]) AS u(kind, key, id) ON CONFLICT (table_id, kind, key) "
              "DO UPDATE SET id = excluded.id"),
          {param(table_id), array_param(kinds), array_param(ids), array_param(bodies),
           array_param(used_kinds), array_param(keys), array_param(used_ids)}};
}

void add_definitions(const model::TableMetadata& before, const model::TableMetadata& after,
                     std::int64_t begin, DefinitionRows& rows) {
  for (const model::Schema& schema : after.schemas) {
    if (before.find_schema(schema.schema_id) != nullptr) continue;
    rows.define("schema", schema.schema_id, model::to_json(schema));
  }
  for (const model::SortOrder& order : after.sort_orders) {
    if (before.find_sort_order(order.order_id) != nullptr) continue;
    rows.define("order", order.order_id, model::to_json(order));
  }
  if (before.schemas.empty() || after.current_schema_id != before.current_schema_id) {
    rows.use("schema", begin, after.current_schema_id);
  }
}

}  // namespace lake::ducklake
