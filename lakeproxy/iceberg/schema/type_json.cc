#include <fmt/format.h>

#include <utility>

#include "lakeproxy/iceberg/schema/literal_json.h"
#include "lakeproxy/iceberg/schema/schema_json.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;
using base::json::Array;
using base::json::Fields;
using base::json::Object;
using base::json::Value;

Object struct_to_json(const Type& type) {
  return Object{{"type", "struct"}, {"fields", struct_fields_to_json(type.children())}};
}

Object list_to_json(const Type& type) {
  const Field& element = type.children()[0];
  return Object{{"type", "list"},
                {"element-id", element.id},
                {"element", to_json(element.type)},
                {"element-required", element.required}};
}

Object map_to_json(const Type& type) {
  const Field& key = type.children()[0];
  const Field& value = type.children()[1];
  return Object{{"type", "map"},
                {"key-id", key.id},
                {"key", to_json(key.type)},
                {"value-id", value.id},
                {"value", to_json(value.type)},
                {"value-required", value.required}};
}

base::Result<Type> member_type(const Fields& json, std::string_view key) {
  ASSIGN_OR_RETURN(const Value* value, json.value(key));
  return type_from_json(*value, json.path_of(key));
}

base::Result<Type> struct_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(auto fields, struct_fields_from_json(json));
  return Type::structure(std::move(fields));
}

base::Result<Type> list_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto element_id, json.int32("element-id"));
  ASSIGN_OR_RETURN(auto element, member_type(json, "element"));
  ASSIGN_OR_RETURN(const auto required, json.boolean("element-required"));
  return Type::list(element_id, std::move(element), required);
}

base::Result<Type> map_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto key_id, json.int32("key-id"));
  ASSIGN_OR_RETURN(auto key, member_type(json, "key"));
  ASSIGN_OR_RETURN(const auto value_id, json.int32("value-id"));
  ASSIGN_OR_RETURN(auto value, member_type(json, "value"));
  ASSIGN_OR_RETURN(const auto required, json.boolean("value-required"));
  return Type::map(key_id, std::move(key), value_id, std::move(value), required);
}

base::Result<std::optional<Literal>> default_from_json(const Fields& json, std::string_view key,
                                                       const Type& type) {
  const Value* value = json.find(key);
  if (value == nullptr) return std::optional<Literal>();
  ASSIGN_OR_RETURN(auto literal, literal_from_json(*value, type, json.path_of(key)));
  return std::optional<Literal>(std::move(literal));
}

base::Result<Field> field_from_json(const Fields& json) {
  Field field;
  ASSIGN_OR_RETURN(field.id, json.int32("id"));
  ASSIGN_OR_RETURN(field.name, json.string("name"));
  ASSIGN_OR_RETURN(field.type, member_type(json, "type"));
  ASSIGN_OR_RETURN(field.required, json.boolean("required"));
  ASSIGN_OR_RETURN(field.doc, json.opt_string("doc"));
  ASSIGN_OR_RETURN(field.initial_default, default_from_json(json, "initial-default", field.type));
  ASSIGN_OR_RETURN(field.write_default, default_from_json(json, "write-default", field.type));
  return field;
}

Object field_to_json(const Field& field) {
  Object out{{"id", field.id},
             {"name", field.name},
             {"required", field.required},
             {"type", to_json(field.type)}};
  if (field.doc) out["doc"] = *field.doc;
  if (field.initial_default) out["initial-default"] = to_json(*field.initial_default, field.type);
  if (field.write_default) out["write-default"] = to_json(*field.write_default, field.type);
  return out;
}

}  // namespace

Array struct_fields_to_json(const std::vector<Field>& fields) {
  Array out;
  out.reserve(fields.size());
  for (const Field& field : fields) out.push_back(field_to_json(field));
  return out;
}

base::Result<std::vector<Field>> struct_fields_from_json(const Fields& json) {
  ASSIGN_OR_RETURN(const auto objects, json.objects("fields"));
  std::vector<Field> fields;
  fields.reserve(objects.size());
  for (const Fields& object : objects) {
    ASSIGN_OR_RETURN(auto field, field_from_json(object));
    fields.push_back(std::move(field));
  }
  return fields;
}

Value to_json(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kStruct: return struct_to_json(type);
    case TypeKind::kList: return list_to_json(type);
    case TypeKind::kMap: return map_to_json(type);
    default: return Value(type.to_string());
  }
}

// Depth is bounded by the parser of the text (base::json::Limits::depth).
base::Result<Type> type_from_json(const Value& value, std::string path) {
  if (const auto* text = value.if_string()) {
    auto type = parse_primitive_type({text->data(), text->size()});
    if (!type) return std::move(type).error().with_context(path);
    return type;
  }
  ASSIGN_OR_RETURN(const auto json, Fields::of(value, std::move(path)));
  ASSIGN_OR_RETURN(const auto name, json.string("type"));
  if (name == "struct") return struct_from_json(json);
  if (name == "list") return list_from_json(json);
  if (name == "map") return map_from_json(json);
  return fail(ErrorKind::kInvalid,
              fmt::format("{}: must be struct, list or map", json.path_of("type")));
}

}  // namespace lake::model
