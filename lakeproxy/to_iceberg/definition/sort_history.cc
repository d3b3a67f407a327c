#include "lakeproxy/to_iceberg/definition/sort_history.h"

#include <algorithm>

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
bool can_sort_by(const LakeColumn& column, std::int32_t format_version) {
  auto type = iceberg_type(column.type, format_version);
  return type && model::can_transform(model::Transform{.kind = TransformKind::kIdentity}, *type);
}

// A plain name that is no column's is an expression: nothing.
std::optional<model::FieldId> find_column(const LakeColumns& columns, std::string_view expression) {
  const auto name = identifier_in(expression);
  if (!name) return std::nullopt;
  for (const LakeColumn& column : columns.columns) {
    if (column.end || column.parent || !is_same_name(column.name, *name)) continue;
    if (!can_sort_by(column, columns.format_version)) return std::nullopt;
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

std::int32_t find_or_add(std::vector<SortOrder>& orders, std::vector<SortField> fields) {
  std::int32_t id = 0;
  for (const SortOrder& order : orders) {
    if (order.fields == fields) return order.order_id;
    id = std::max(id, order.order_id);
  }
  orders.push_back({.order_id = id + 1, .fields = std::move(fields)});
  return id + 1;
}

const SortOrder* find(const std::vector<SortOrder>& orders, std::int32_t id) {
  auto found = std::ranges::find(orders, id, &SortOrder::order_id);
  return found == orders.end() ? nullptr : &*found;
}

}  // namespace

SortOrders sort_orders(const LakeColumns& columns, const LakeSort& lake, SortOrders client) {
  SortOrders result = std::move(client);
  if (find(result.orders, 0) == nullptr) result.orders.insert(result.orders.begin(), SortOrder{});
  std::vector<SortField> fields = fields_of(columns, lake);
  if (!fields.empty()) {
    result.default_order_id = find_or_add(result.orders, std::move(fields));
    return result;
  }
  const SortOrder* current = find(result.orders, result.default_order_id);
  // DuckDB took the order away, or sorts by what Iceberg cannot say.
  const bool reset = lake.ever_set && current != nullptr && lake_can_hold(columns, *current);
  if (current == nullptr || reset || !can_be_sorted(columns, *current)) result.default_order_id = 0;
  return result;
}

}  // namespace lake::ducklake
