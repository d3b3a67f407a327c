#include "lakeproxy/from_iceberg/rows/sort_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lakeproxy/ducklake/table/sort_text.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;
using model::Field;
using model::LakeSortKey;
using model::Schema;
using model::SortOrder;

using Keys = std::vector<LakeSortKey>;

const Field* find_column(const Schema& schema, model::FieldId id) {
  auto found = std::ranges::find(schema.fields, id, &Field::id);
  return found == schema.fields.end() ? nullptr : &*found;
}

const Field* find_column(const Schema& schema, std::string_view name) {
  auto found = std::ranges::find_if(
      schema.fields, [&](const Field& field) { return is_same_name(field.name, name); });
  return found == schema.fields.end() ? nullptr : &*found;
}

// Nothing where the lake cannot hold the order.
Keys keys_of(const SortOrder& order, const Schema& schema) {
  Keys keys;
  for (const model::SortField& field : order.fields) {
    const Field* column = find_column(schema, field.source_id);
    if (column == nullptr || field.transform.kind != model::TransformKind::kIdentity) return {};
    keys.push_back({identifier_of(column->name), field.direction, field.null_order});
  }
  return keys;
}

// Of an expression that is no column's name nobody here can say what it asks for.
bool is_untouched(const std::string& expression, const Schema& before, const Schema& after) {
  bool untouched = true;
  model::visit_fields(before.fields, [&](const Field& field) {
    const Field* now = after.find(field.id);
    const bool stays = now != nullptr && now->name == field.name;
    if (!stays && may_name(expression, field.name)) untouched = false;
  });
  return untouched;
}

std::optional<std::string> expression_after(const std::string& expression, const Schema& before,
                                            const Schema& after) {
  const auto name = identifier_in(expression);
  const Field* column = name ? find_column(before, *name) : nullptr;
  if (column == nullptr) {
    return is_untouched(expression, before, after) ? std::optional(expression) : std::nullopt;
  }
  const Field* now = find_column(after, column->id);
  if (now == nullptr) return std::nullopt;
  return now->name == column->name ? expression : identifier_of(now->name);
}

// Nothing where a column of the keys is gone.
Keys keys_after(Keys keys, const Schema& before, const Schema& after) {
  for (LakeSortKey& key : keys) {
    auto expression = expression_after(key.expression, before, after);
    if (!expression) return {};
    key.expression = std::move(*expression);
  }
  return keys;
}

Keys wanted_keys(const model::LakeTable& before, const model::TableMetadata& after) {
  const Schema& schema = after.current_schema();
  if (after.default_sort_order_id == before.metadata.default_sort_order_id) {
    return keys_after(before.sort.keys, before.metadata.current_schema(), schema);
  }
  auto order =
      std::ranges::find(after.sort_orders, after.default_sort_order_id, &SortOrder::order_id);
  return order == after.sort_orders.end() ? Keys{} : keys_of(*order, schema);
}

void begin_sort(const SchemaSql& sql, const SidecarPlace& place, std::int64_t sort_id,
                const Keys& keys, LakeDelta& delta) {
  std::vector<std::optional<std::string>> expressions;
  std::vector<std::optional<std::string>> directions;
  std::vector<std::optional<std::string>> nulls;
  for (const LakeSortKey& key : keys) {
    const bool descends = key.direction == model::SortDirection::kDescending;
    const bool last = key.null_order == model::NullOrder::kLast;
    expressions.emplace_back(key.expression);
    directions.emplace_back(descends ? "DESC" : "ASC");
    nulls.emplace_back(last ? "NULLS_LAST" : "NULLS_FIRST");
  }
  delta.queries.push_back(
      {sql("INSERT INTO @ducklake_sort_info (sort_id, table_id, begin_snapshot, end_snapshot) "
           "VALUES ($1, $2, $3, NULL)"),
       {param(sort_id), param(place.table_id), param(place.begin)}});
  delta.queries.push_back(
      {sql("INSERT INTO @ducklake_sort_expression (sort_id, table_id, sort_key_index, expression, "
           "dialect, sort_direction, null_order) SELECT $1, $2, n - 1, e, 'duckdb', d, o FROM "
           "unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS k(e, d, o, n)"),
       {param(sort_id), param(place.table_id), array_param(expressions), array_param(directions),
        array_param(nulls)}});
}

}  // namespace

void follow_sort(const SchemaSql& sql, const SidecarPlace& place, std::int64_t first_catalog_id,
                 const model::LakeTable& before, const model::TableMetadata& after,
                 LakeDelta& delta) {
  if (!before.sort.ever_set) return;
  const Keys wanted = wanted_keys(before, after);
  if (wanted == before.sort.keys) return;
  if (!before.sort.keys.empty()) {
    delta.queries.push_back(
        {sql("UPDATE @ducklake_sort_info SET end_snapshot = $2 WHERE table_id = $1 AND "
             "end_snapshot IS NULL AND begin_snapshot < $2"),
         {param(place.table_id), param(place.begin)}});
  }
  if (wanted.empty()) return;
  begin_sort(sql, place, first_catalog_id + delta.catalog_ids_used, wanted, delta);
  delta.catalog_ids_used += 1;
}

}  // namespace lake::ducklake
