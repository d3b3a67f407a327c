#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/core/text.h"
#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

constexpr std::size_t kMaxPartitionFields = 100;
constexpr std::size_t kMaxNameBytes = 1024;
/// A client that gives higher ids would leave none for later fields.
constexpr std::int32_t kMaxGivenFieldId = 1'000'000'000;

/// The field with that id, reached through structs only: a value inside a list
/// or a map is not one value for a row.
const Field* find_single_valued(const std::vector<Field>& fields, FieldId id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
    if (field.type.kind() != TypeKind::kStruct) continue;
    if (const Field* found = find_single_valued(field.type.children(), id)) return found;
  }
  return nullptr;
}

/// The schema that fields of specs and orders name: the current one, or in a table
/// that is just being made, where a client may set it last, the one it added.
const Schema* schema_of_fields(const TableMetadata& table) {
  const Schema* current = table.find_schema(table.current_schema_id);
  if (current != nullptr || table.schemas.empty()) return current;
  return &table.schemas.back();
}

/// The column that a partition or sort field is made from.
base::Result<const Field*> source_of(const TableMetadata& table, FieldId source_id,
                                     const Transform& transform, std::string_view what) {
  const Schema* schema = schema_of_fields(table);
  const Field* source = schema == nullptr ? nullptr : find_single_valued(schema->fields, source_id);
  if (source == nullptr) {
    return fail(ErrorKind::kInvalid,
                fmt::format("{}: no column with id {} outside lists and maps", what, source_id));
  }
  if (!source->type.is_primitive() || !can_transform(transform, source->type)) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: {} does not apply to {}", what,
                                                 to_string(transform), source->type.to_string()));
  }
  return source;
}

base::Status check_supported(const Transform& transform, std::string_view what) {
  if (transform.kind != TransformKind::kVoid && transform.kind != TransformKind::kUnknown) {
    return {};
  }
  return fail(ErrorKind::kUnsupported,
              fmt::format("{}: transform {} is not supported", what, to_string(transform)));
}

/// A partition name must not hide a column, as both are columns of the
/// partitions table; an identity may carry its own column's name.
base::Status check_name(const TableMetadata& table, const PartitionField& field) {
  if (field.name.empty() || field.name.size() > kMaxNameBytes || !base::is_utf8(field.name)) {
    return fail(ErrorKind::kInvalid,
                fmt::format("partition field of column {}: name must be 1 to {} bytes of UTF-8",
                            field.source_id, kMaxNameBytes));
  }
  const Field* column = schema_of_fields(table)->find(std::string_view(field.name));
  if (column == nullptr) return {};
  if (field.transform.kind == TransformKind::kIdentity && column->id == field.source_id) return {};
  return fail(ErrorKind::kInvalid,
              fmt::format("partition field {}: name is that of another column", field.name));
}

base::Status check_fields(const TableMetadata& table, const PartitionSpec& spec) {
  if (spec.fields.size() > kMaxPartitionFields) {
    return fail(ErrorKind::kInvalid,
                fmt::format("partition spec has more than {} fields", kMaxPartitionFields));
  }
  std::unordered_set<std::string_view> names;
  std::set<std::pair<FieldId, std::string>> seen;
  for (const PartitionField& field : spec.fields) {
    const std::string what = fmt::format("partition field {}", field.name);
    RETURN_IF_ERROR(check_supported(field.transform, what));
    RETURN_IF_ERROR(source_of(table, field.source_id, field.transform, what));
    RETURN_IF_ERROR(check_name(table, field));
    if (!names.insert(field.name).second) {
      return fail(ErrorKind::kInvalid, what + ": name is used twice");
    }
    if (!seen.emplace(field.source_id, to_string(field.transform)).second) {
      return fail(ErrorKind::kInvalid, what + ": repeats the transform of another field");
    }
  }
  return {};
}

std::optional<std::int32_t> id_in_older_spec(const TableMetadata& table,
                                             const PartitionField& field) {
  for (const PartitionSpec& spec : table.partition_specs) {
    for (const PartitionField& known : spec.fields) {
      if (known.source_id == field.source_id && known.transform == field.transform) {
        return known.field_id;
      }
    }
  }
  return std::nullopt;
}

/// Gives each field its id and returns the highest one assigned so far.
std::int32_t number_fields(const TableMetadata& table, PartitionSpec& spec) {
  std::unordered_set<std::int32_t> taken;
  std::int32_t last = std::max(table.last_partition_id, kNoPartitionFieldId);
  std::vector<PartitionField*> open;
  for (PartitionField& field : spec.fields) {
    const auto older = id_in_older_spec(table, field);
    if (older) field.field_id = *older;
    const bool keeps = older || field.field_id > table.last_partition_id;
    if (keeps && field.field_id <= kMaxGivenFieldId && taken.insert(field.field_id).second) {
      last = std::max(last, field.field_id);
    } else {
      open.push_back(&field);
    }
  }
  for (PartitionField* field : open) field->field_id = ++last;
  return last;
}

}  // namespace

base::Result<std::int32_t> add_spec(TableMetadata& table, PartitionSpec spec) {
  RETURN_IF_ERROR(check_fields(table, spec));
  std::int32_t next_id = 0;
  for (const PartitionSpec& known : table.partition_specs) {
    if (known.compatible_with(spec)) {
      table.out_of_sight.specs.erase(known.spec_id);
      return known.spec_id;
    }
    next_id = std::max(next_id, known.spec_id + 1);
  }
  table.last_partition_id = number_fields(table, spec);
  spec.spec_id = next_id;
  table.partition_specs.push_back(std::move(spec));
  return next_id;
}

base::Status set_default_spec(TableMetadata& table, std::int32_t spec_id) {
  if (!table.shows_spec(spec_id)) {
    return fail(ErrorKind::kInvalid, fmt::format("partition spec {} does not exist", spec_id));
  }
  table.default_spec_id = spec_id;
  return {};
}

base::Status remove_specs(TableMetadata& table, const std::vector<std::int32_t>& spec_ids,
                          std::int64_t revision) {
  for (std::int32_t id : spec_ids) {
    if (id == table.default_spec_id) {
      return fail(ErrorKind::kInvalid, fmt::format("partition spec {} is the default", id));
    }
  }
  for (std::int32_t id : spec_ids) {
    if (table.find_spec(id) != nullptr) table.out_of_sight.specs.emplace(id, revision);
  }
  return {};
}

base::Result<std::int32_t> add_sort_order(TableMetadata& table, SortOrder order) {
  std::int32_t next_id = 1;
  for (const SortField& field : order.fields) {
    RETURN_IF_ERROR(source_of(table, field.source_id, field.transform,
                              fmt::format("sort field of column {}", field.source_id)));
  }
  for (const SortOrder& known : table.sort_orders) {
    if (known.fields == order.fields) return known.order_id;
    next_id = std::max(next_id, known.order_id + 1);
  }
  order.order_id = order.fields.empty() ? 0 : next_id;
  next_id = order.order_id;
  table.sort_orders.push_back(std::move(order));
  return next_id;
}

base::Status set_default_sort_order(TableMetadata& table, std::int32_t order_id) {
  if (table.find_sort_order(order_id) == nullptr) {
    return fail(ErrorKind::kInvalid, fmt::format("sort order {} does not exist", order_id));
  }
  table.default_sort_order_id = order_id;
  return {};
}

base::Status check_default_columns(const TableMetadata& table) {
  const PartitionSpec* spec = table.find_spec(table.default_spec_id);
  if (spec != nullptr) {
    for (const PartitionField& field : spec->fields) {
      if (field.transform.kind == TransformKind::kVoid) continue;
      RETURN_IF_ERROR(source_of(table, field.source_id, field.transform,
                                fmt::format("partition field {}", field.name)));
    }
  }
  const SortOrder* order = table.find_sort_order(table.default_sort_order_id);
  if (order != nullptr) {
    for (const SortField& field : order->fields) {
      RETURN_IF_ERROR(source_of(table, field.source_id, field.transform,
                                fmt::format("sort field of column {}", field.source_id)));
    }
  }
  return {};
}

}  // namespace lake::model
