#include "lakeproxy/to_iceberg/definition/order_ids.h"

#include <algorithm>
#include <ranges>

#include "lakeproxy/ducklake/table/sort_text.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using model::LakeSort;
using model::LakeSortKey;
using model::SortField;
using model::SortOrder;
using model::TransformKind;

// DuckDB also sorts by lists and structs, which no order of Iceberg's may do.
bool can_sort_by(const LakeColumn& column, ShownIn in) {
  auto type = iceberg_type(column.type, in);
  return type && arranges_alike(column.type) &&
         model::can_transform(model::Transform{.kind = TransformKind::kIdentity}, *type);
}

// A plain name that is no column's is an expression: nothing.
std::optional<model::FieldId> find_column(const LakeColumns& columns, std::string_view expression) {
  const auto name = identifier_in(expression);
  if (!name) return std::nullopt;
  for (const LakeColumn& column : columns.columns) {
    if (column.end || column.parent || !is_same_name(column.name, *name)) continue;
    if (!can_sort_by(column, columns.shown_in())) return std::nullopt;
    return column.id;
  }
  return std::nullopt;
}

std::vector<SortField> fields_of(const LakeColumns& columns, const LakeSort& lake) {
  std::vector<SortField> fields;
  for (const LakeSortKey& key : lake.keys) {
    auto source = find_column(columns, key.expression);
    if (!source) break;
    fields.push_back(
        {.source_id = *source, .direction = key.direction, .null_order = key.null_order});
  }
  return fields;
}

// The lake holds an order of plain columns; one with transforms, or of a column's
// parts, it cannot.
bool lake_can_hold(const LakeColumns& columns, const SortOrder& order) {
  return std::ranges::all_of(order.fields, [&](const SortField& field) {
    return field.transform.kind == TransformKind::kIdentity &&
           std::ranges::none_of(columns.columns, [&](const LakeColumn& column) {
             return column.id == field.source_id && column.parent.has_value();
           });
  });
}

bool can_be_sorted(const LakeColumns& columns, const SortOrder& order) {
  return std::ranges::all_of(order.fields, [&](const SortField& field) {
    return can_be_made(columns, field.source_id, field.transform);
  });
}

std::int32_t find_or_add(AssignedIds& ids, std::vector<SortField> fields) {
  for (const SortOrder& order : ids.orders | std::views::values) {
    if (order.fields == fields) return order.order_id;
  }
  // Order 0 is the unsorted one.
  const std::int32_t id = std::max(highest_id(ids.orders), 0) + 1;
  ids.orders[id] = {.order_id = id, .fields = std::move(fields)};
  return id;
}

}  // namespace

std::int32_t assign_order(const LakeColumns& columns, const LakeSort& lake,
                          std::int32_t client_default, AssignedIds& ids) {
  ids.orders.try_emplace(0);
  std::vector<SortField> fields = fields_of(columns, lake);
  if (!fields.empty()) return find_or_add(ids, std::move(fields));
  const auto current = ids.orders.find(client_default);
  if (current == ids.orders.end() || !can_be_sorted(columns, current->second)) return 0;
  // DuckDB took the order away, or sorts by what Iceberg cannot say.
  const bool reset = lake.ever_set && lake_can_hold(columns, current->second);
  return reset ? 0 : client_default;
}

}  // namespace lake::ducklake
