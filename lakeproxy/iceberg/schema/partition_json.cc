#include "lakeproxy/iceberg/schema/partition_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

/// A transform's text is kept when unknown, so it has to have an end.
constexpr std::size_t kMaxTransformText = 256;

base::Result<Transform> transform_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto text, json.string("transform"));
  if (text.empty() || text.size() > kMaxTransformText) {
    return fail(ErrorKind::kInvalid, fmt::format("{}: must have 1 to {} bytes",
                                                 json.path_of("transform"), kMaxTransformText));
  }
  return parse_transform(text);
}

struct ReadField {
  PartitionField field;
  bool has_id = false;
};

base::Result<ReadField> partition_field_from_json(const Fields& json) {
  ReadField out;
  ASSIGN_OR_RETURN(out.field.source_id, json.int32("source-id"));
  ASSIGN_OR_RETURN(const auto id, json.opt_int32("field-id"));
  out.has_id = id.has_value();
  out.field.field_id = id.value_or(0);
  ASSIGN_OR_RETURN(out.field.name, json.string("name"));
  ASSIGN_OR_RETURN(out.field.transform, transform_from_json(json));
  return out;
}

/// Numbers the fields that came without an id, above all that came with one.
std::vector<PartitionField> number_fields(std::vector<ReadField> read) {
  std::int64_t last = kNoPartitionFieldId;
  for (const ReadField& field : read) {
    if (field.has_id) last = std::max<std::int64_t>(last, field.field.field_id);
  }
  std::vector<PartitionField> out;
  out.reserve(read.size());
  for (ReadField& field : read) {
    if (!field.has_id) field.field.field_id = static_cast<std::int32_t>(++last);
    out.push_back(std::move(field.field));
  }
  return out;
}

Object sort_field_to_json(const SortField& field) {
  const bool ascending = field.direction == SortDirection::kAscending;
  const bool first = field.null_order == NullOrder::kFirst;
  return Object{{"transform", to_string(field.transform)},
                {"source-id", field.source_id},
                {"direction", ascending ? "asc" : "desc"},
                {"null-order", first ? "nulls-first" : "nulls-last"}};
}

base::Result<SortDirection> direction_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto text, json.string("direction"));
  if (text == "asc") return SortDirection::kAscending;
  if (text == "desc") return SortDirection::kDescending;
  return fail(ErrorKind::kInvalid, json.path_of("direction") + ": must be asc or desc");
}

base::Result<NullOrder> null_order_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto text, json.string("null-order"));
  if (text == "nulls-first") return NullOrder::kFirst;
  if (text == "nulls-last") return NullOrder::kLast;
  return fail(ErrorKind::kInvalid,
              json.path_of("null-order") + ": must be nulls-first or nulls-last");
}

base::Result<SortField> sort_field_from_json(const Fields& json) {
  SortField field;
  ASSIGN_OR_RETURN(field.source_id, json.int32("source-id"));
  ASSIGN_OR_RETURN(field.transform, transform_from_json(json));
  ASSIGN_OR_RETURN(field.direction, direction_from_json(json));
  ASSIGN_OR_RETURN(field.null_order, null_order_from_json(json));
  return field;
}

}  // namespace

Value fields_to_json(const PartitionSpec& spec) {
  Array out;
  for (const PartitionField& field : spec.fields) {
    out.push_back(Object{{"name", field.name},
                         {"transform", to_string(field.transform)},
                         {"source-id", field.source_id},
                         {"field-id", field.field_id}});
  }
  return out;
}

Value to_json(const PartitionSpec& spec) {
  return Object{{"spec-id", spec.spec_id}, {"fields", fields_to_json(spec)}};
}

base::Result<std::vector<PartitionField>> partition_fields_from_json(const Value& array,
                                                                     std::string path) {
  const Array* elements = array.if_array();
  if (elements == nullptr) return fail(ErrorKind::kInvalid, path + ": must be an array");
  std::vector<ReadField> read;
  for (std::size_t i = 0; i < elements->size(); ++i) {
    ASSIGN_OR_RETURN(const auto json, Fields::of((*elements)[i], fmt::format("{}[{}]", path, i)));
    ASSIGN_OR_RETURN(auto field, partition_field_from_json(json));
    read.push_back(std::move(field));
  }
  return number_fields(std::move(read));
}

base::Result<PartitionSpec> partition_spec_from_json(const Fields& json) {
  PartitionSpec spec;
  ASSIGN_OR_RETURN(const auto id, json.opt_int32("spec-id"));
  spec.spec_id = id.value_or(0);
  ASSIGN_OR_RETURN(const Value* fields, json.value("fields"));
  ASSIGN_OR_RETURN(spec.fields, partition_fields_from_json(*fields, json.path_of("fields")));
  return spec;
}

Value to_json(const SortOrder& order) {
  Array fields;
  for (const SortField& field : order.fields) fields.push_back(sort_field_to_json(field));
  return Object{{"order-id", order.order_id}, {"fields", std::move(fields)}};
}

base::Result<SortOrder> sort_order_from_json(const Fields& json) {
  SortOrder order;
  ASSIGN_OR_RETURN(const auto id, json.opt_int32("order-id"));
  order.order_id = id.value_or(0);
  ASSIGN_OR_RETURN(const auto fields, json.objects("fields"));
  for (const Fields& object : fields) {
    ASSIGN_OR_RETURN(auto field, sort_field_from_json(object));
    order.fields.push_back(std::move(field));
  }
  return order;
}

}  // namespace lake::model
