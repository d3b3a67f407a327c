#include "lakeproxy/from_iceberg/rows/name_map_rows.h"

#include <optional>
#include <set>
#include <string>

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using model::Field;
using model::LakeNameMap;

struct Rows {
  std::vector<std::int64_t> numbers, fields, in_path;
  std::vector<std::optional<std::string>> names, parents;
  std::set<model::FieldId> done;

  std::int64_t add(model::FieldId field, const LakeNameMap::Column& column,
                   std::optional<std::int64_t> parent) {
    const auto number = static_cast<std::int64_t>(numbers.size());
    numbers.push_back(number);
    fields.push_back(field);
    in_path.push_back(column.in_path ? 1 : 0);
    names.emplace_back(column.name);
    parents.push_back(parent ? std::optional(std::to_string(*parent)) : std::nullopt);
    done.insert(field);
    return number;
  }
};

void add_level(const LakeNameMap& map, const std::vector<Field>& fields,
               std::optional<std::int64_t> parent, Rows& rows) {
  for (const Field& field : fields) {
    auto column = map.columns.find(field.id);
    if (column == map.columns.end()) continue;
    const std::int64_t number = rows.add(field.id, column->second, parent);
    if (!field.type.is_primitive()) add_level(map, field.type.children(), number, rows);
  }
}

}  // namespace

std::vector<base::pg::Query> name_map_rows(const SchemaSql& sql, NameMapPlace place,
                                           const LakeNameMap& map, const model::Schema& schema) {
  Rows rows;
  add_level(map, schema.fields, std::nullopt, rows);
  for (const auto& [field, column] : map.columns) {
    if (!rows.done.contains(field)) rows.add(field, column, std::nullopt);
  }
  std::vector<base::pg::Query> queries;
  queries.push_back({sql("INSERT INTO @ducklake_column_mapping (mapping_id, table_id, type) VALUES "
                         "($1, $2, 'map_by_name')"),
                     {param(place.mapping_id), param(place.table_id)}});
  queries.push_back(
      {sql("INSERT INTO @ducklake_name_mapping (mapping_id, column_id, source_name, "
           "target_field_id, parent_column, is_partition) SELECT $1, n, name, field, "
           "parent::bigint, in_path = 1 FROM unnest($2::bigint[], $3::text[], $4::bigint[], "
           "$5::text[], $6::bigint[]) AS m(n, name, field, parent, in_path)"),
       {param(place.mapping_id), array_param(rows.numbers), array_param(rows.names),
        array_param(rows.fields), array_param(rows.parents), array_param(rows.in_path)}});
  return queries;
}

}  // namespace lake::ducklake
