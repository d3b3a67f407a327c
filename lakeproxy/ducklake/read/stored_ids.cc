#include "lakeproxy/ducklake/read/stored_ids.h"

#include "base/json/fields.h"
#include "lakeproxy/ducklake/read/cells.h"
#include "lakeproxy/iceberg/schema/partition_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::ducklake {
namespace {

using base::json::Fields;
using base::pg::array_param;
using base::pg::param;
using base::pg::Query;

constexpr const char* kTable = "lakeproxy_definition";
constexpr std::int32_t kLowestFormatVersion = 2;

std::int32_t needed_format_version(const model::Schema& schema) {
  bool is_new = false;
  model::visit_fields(schema.fields, [&](const model::Field& field) {
    is_new = is_new || model::is_version_3_type(field.type.kind());
  });
  return is_new ? kLowestFormatVersion + 1 : kLowestFormatVersion;
}

base::Status read_definition(std::string_view kind, std::int32_t id, const base::json::Value& body,
                             AssignedIds& ids) {
  if (kind == "spec") {
    model::PartitionSpec spec{.spec_id = id};
    ASSIGN_OR_RETURN(spec.fields, model::partition_fields_from_json(body, kTable));
    ids.specs.emplace(id, std::move(spec));
    return {};
  }
  ASSIGN_OR_RETURN(auto fields, Fields::of(body, kTable));
  if (kind == "order") {
    ASSIGN_OR_RETURN(ids.orders[id], model::sort_order_from_json(fields));
    ids.orders[id].order_id = id;
  } else {
    ASSIGN_OR_RETURN(ids.schemas[id], model::schema_from_json(fields));
    ids.schemas[id].schema_id = id;
  }
  return {};
}

// Rows of lakeproxy_definition, with the body of each.
struct Definitions {
  std::vector<std::optional<std::string>> kinds;
  std::vector<std::int64_t> ids;
  std::vector<std::optional<std::string>> bodies;
  std::vector<std::int64_t> format_versions;

  void add(const char* kind, std::int32_t id, const base::json::Value& body,
           std::int32_t format_version = kLowestFormatVersion) {
    kinds.emplace_back(kind);
    ids.push_back(id);
    bodies.emplace_back(base::json::write(body));
    format_versions.push_back(format_version);
  }
};

// Rows of lakeproxy_definition_use, with the body of what they name where that is new:
// what was read from there stays what it is.
struct Uses {
  Definitions of;
  std::vector<std::optional<std::string>> kinds;
  std::vector<std::int64_t> keys;
  std::vector<std::int64_t> replaced;  // The id that stands there, or -1.
};

template <class Ids, class Known, class Body>
void add_new(const char* kind, const char* what, const Ids& before, const Ids& after,
             const Known& known, Body body_of, Uses& uses) {
  for (const auto& [key, id] : after) {
    auto held = before.find(key);
    if (held != before.end() && held->second == id) continue;
    if constexpr (requires { key.value; }) {
      uses.keys.push_back(key.value);
    } else {
      uses.keys.push_back(key);
    }
    uses.kinds.emplace_back(kind);
    uses.replaced.push_back(held == before.end() ? -1 : held->second);
    uses.of.add(what, id, body_of(id));
    if (known.contains(id)) uses.of.bodies.back().reset();
  }
}

Definitions new_definitions(const AssignedIds& before, const AssignedIds& after) {
  Definitions added;
  for (const auto& [id, schema] : after.schemas) {
    if (!before.schemas.contains(id)) {
      added.add("schema", id, model::to_json(schema), needed_format_version(schema));
    }
  }
  for (const auto& [id, spec] : after.specs) {
    if (!before.specs.contains(id)) added.add("spec", id, model::fields_to_json(spec));
  }
  for (const auto& [id, order] : after.orders) {
    if (!before.orders.contains(id)) added.add("order", id, model::to_json(order));
  }
  return added;
}

}  // namespace

base::Result<AssignedIds> read_assigned_ids(const base::pg::Rows& definitions,
                                            const base::pg::Rows& uses) {
  AssignedIds ids;
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    ASSIGN_OR_RETURN(auto body, base::json::parse(definitions.text(i, 2)));
    RETURN_IF_ERROR(read_definition(definitions.text(i, 0), int32(definitions, i, 1), body, ids));
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const std::string_view kind = uses.text(i, 0);
    const std::int64_t key = uses.int64(i, 1);
    const std::int32_t id = int32(uses, i, 2);
    if (kind == "schema") ids.schema_at[model::SnapshotId(key)] = id;
    if (kind == "default") ids.default_at[model::SnapshotId(key)] = id;
    if (kind == "partition") ids.spec_of_partition[key] = id;
    if (kind == "mapping") ids.spec_of_mapping[key] = id;
  }
  return ids;
}

bool NewIds::all_stored(const std::vector<base::pg::RowsPtr>& answers) const {
  return answers.size() == queries.size() && answers[0]->affected() == definitions &&
         answers[1]->int64(0, 0) == uses;
}

NewIds store_ids(const SchemaSql& sql, model::TableId table, const AssignedIds& before,
                 const AssignedIds& after) {
  const Definitions added = new_definitions(before, after);
  Uses uses;
  auto schema = [&](std::int32_t id) { return model::to_json(after.schemas.at(id)); };
  auto spec = [&](std::int32_t id) { return model::fields_to_json(after.specs.at(id)); };
  add_new("schema", "schema", before.schema_at, after.schema_at, before.schemas, schema, uses);
  add_new("default", "spec", before.default_at, after.default_at, before.specs, spec, uses);
  add_new("partition", "spec", before.spec_of_partition, after.spec_of_partition, before.specs,
          spec, uses);
  add_new("mapping", "spec", before.spec_of_mapping, after.spec_of_mapping, before.specs, spec,
          uses);
  if (added.ids.empty() && uses.keys.empty()) return {};
  // The newest schema alone is ever replaced: see assign_schemas().
  NewIds added_ids{.definitions = static_cast<std::int64_t>(added.ids.size()),
                   .uses = static_cast<std::int64_t>(uses.keys.size())};
  added_ids.queries = {
      {sql("INSERT INTO @lakeproxy_definition (table_id, kind, id, body, format_version) SELECT "
           "$1, "
           "d.kind, d.id, d.body::json, d.version FROM unnest($2::text[], $3::bigint[], "
           "$4::text[], $5::bigint[]) AS d(kind, id, body, version) ON CONFLICT DO NOTHING"),
       {param(table.value), array_param(added.kinds), array_param(added.ids),
        array_param(added.bodies), array_param(added.format_versions)}},
      {sql("WITH asked AS (SELECT u.* FROM unnest($2::text[], $3::bigint[], $4::bigint[], "
           "$5::text[], $6::bigint[], $7::text[]) AS u(kind, key, replaced, what, id, body)), "
           "given AS (SELECT * FROM asked WHERE NOT EXISTS (SELECT 1 FROM asked a LEFT JOIN "
           "@lakeproxy_definition d ON d.table_id = $1 AND d.kind = a.what AND d.id = a.id WHERE "
           "d.id IS NULL OR d.body::jsonb <> a.body::jsonb)), put AS (INSERT INTO "
           "@lakeproxy_definition_use (table_id, kind, key, id) SELECT $1, kind, key, id FROM "
           "given WHERE replaced < 0 ON CONFLICT DO NOTHING RETURNING 1), changed AS (UPDATE "
           "@lakeproxy_definition_use AS held SET id = given.id FROM given WHERE held.table_id = "
           "$1 AND held.kind = given.kind AND held.key = given.key AND held.id = given.replaced "
           "RETURNING 1) SELECT (SELECT count(*) FROM put) + (SELECT count(*) FROM changed)"),
       {param(table.value), array_param(uses.kinds), array_param(uses.keys),
        array_param(uses.replaced), array_param(uses.of.kinds), array_param(uses.of.ids),
        array_param(uses.of.bodies)}}};
  return added_ids;
}

}  // namespace lake::ducklake
