#include "lakeproxy/mapping/sidecar_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/iceberg/metadata/snapshot_json.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"
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

std::string orders_json(const std::vector<model::SortOrder>& orders) {
  json::Array array;
  for (const auto& order : orders) array.push_back(model::to_json(order));
  return json::write(array);
}

}  // namespace

Query put_table(const SchemaSql& sql, const SidecarPlace& place,
                const model::TableMetadata& metadata) {
  return {
      sql("INSERT INTO @lakeproxy_table (table_id, revision, table_uuid, format_version, "
          "properties, refs, sort_orders, default_sort_order_id, last_partition_id, updated_ms, "
          "statistics, partition_statistics, out_of_sight) VALUES ($1, $2, $3::uuid, $4, "
          "$5::jsonb, $6::jsonb, $7::jsonb, $8, $9, $10, $11::jsonb, $12::jsonb, $13::jsonb) "
          "ON CONFLICT (table_id) DO UPDATE SET revision = excluded.revision, table_uuid = "
          "excluded.table_uuid, format_version = excluded.format_version, properties = "
          "excluded.properties, refs = excluded.refs, sort_orders = excluded.sort_orders, "
          "default_sort_order_id = excluded.default_sort_order_id, last_partition_id = "
          "excluded.last_partition_id, updated_ms = excluded.updated_ms, statistics = "
          "excluded.statistics, partition_statistics = excluded.partition_statistics"),
      {param(place.table_id), param(place.revision), param(base::to_string(metadata.table_uuid)),
       param(std::int64_t{metadata.format_version}), param(properties_json(metadata)),
       param(refs_json(metadata)), param(orders_json(metadata.sort_orders)),
       param(std::int64_t{metadata.default_sort_order_id}),
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

// A change that the lake's columns do not show makes no snapshot, so that several
// schemas may have been the current one at the same: only the last of them was.
Query end_current_schemas(const SchemaSql& sql, const SidecarPlace& place) {
  return {sql("UPDATE @lakeproxy_schema SET is_current = false WHERE table_id = $1 AND "
              "begin_snapshot = $2"),
          {param(place.table_id), param(place.begin)}};
}

void put_schemas(const SchemaSql& sql, const SidecarPlace& place,
                 const model::TableMetadata& metadata, const std::set<std::int32_t>& known,
                 std::vector<Query>& out) {
  if (!known.empty()) out.push_back(end_current_schemas(sql, place));
  for (const model::Schema& schema : metadata.schemas) {
    bool current = schema.schema_id == metadata.current_schema_id;
    if (known.contains(schema.schema_id) && !current) continue;
    out.push_back(
        {sql("INSERT INTO @lakeproxy_schema (table_id, schema_id, begin_snapshot, "
             "is_current, schema_json) VALUES ($1, $2, $3, $4, $5::jsonb) ON CONFLICT "
             "(table_id, schema_id) DO UPDATE SET begin_snapshot = "
             "excluded.begin_snapshot, is_current = excluded.is_current, schema_json = "
             "excluded.schema_json"),
         {param(place.table_id), param(std::int64_t{schema.schema_id}), param(place.begin),
          param(current), param(json::write(model::to_json(schema)))}});
  }
}

}  // namespace lake::ducklake
