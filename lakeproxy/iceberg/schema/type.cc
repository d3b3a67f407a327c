#include "lakeproxy/iceberg/schema/type.h"

#include <fmt/format.h>

namespace lake::model {

Type Type::decimal(int precision, int scale) {
  Type type(TypeKind::kDecimal);
  type.precision_ = precision;
  type.scale_ = scale;
  return type;
}

Type Type::fixed(int length) {
  Type type(TypeKind::kFixed);
  type.precision_ = length;
  return type;
}

Type Type::geo(TypeKind kind, std::string parameters) {
  Type type(kind);
  type.parameters_ = std::move(parameters);
  return type;
}

Type Type::structure(std::vector<Field> fields) {
  Type type(TypeKind::kStruct);
  type.children_ = std::make_shared<const std::vector<Field>>(std::move(fields));
  return type;
}

Type Type::list(FieldId element_id, Type element, bool element_required) {
  std::vector<Field> children;
  children.push_back(Field{.id = element_id,
                           .name = "element",
                           .type = std::move(element),
                           .required = element_required});
  Type type(TypeKind::kList);
  type.children_ = std::make_shared<const std::vector<Field>>(std::move(children));
  return type;
}

Type Type::map(FieldId key_id, Type key, FieldId value_id, Type value, bool value_required) {
  std::vector<Field> children;
  children.push_back(Field{.id = key_id, .name = "key", .type = std::move(key), .required = true});
  children.push_back(
      Field{.id = value_id, .name = "value", .type = std::move(value), .required = value_required});
  Type type(TypeKind::kMap);
  type.children_ = std::make_shared<const std::vector<Field>>(std::move(children));
  return type;
}

const std::vector<Field>& Type::children() const {
  static const std::vector<Field> none;
  return children_ ? *children_ : none;
}

std::string Type::to_string() const {
  switch (kind_) {
    case TypeKind::kBoolean: return "boolean";
    case TypeKind::kInt: return "int";
    case TypeKind::kLong: return "long";
    case TypeKind::kFloat: return "float";
    case TypeKind::kDouble: return "double";
    case TypeKind::kDecimal: return fmt::format("decimal({}, {})", precision_, scale_);
    case TypeKind::kDate: return "date";
    case TypeKind::kTime: return "time";
    case TypeKind::kTimestamp: return "timestamp";
    case TypeKind::kTimestamptz: return "timestamptz";
    case TypeKind::kString: return "string";
    case TypeKind::kUuid: return "uuid";
    case TypeKind::kFixed: return fmt::format("fixed[{}]", precision_);
    case TypeKind::kBinary: return "binary";
    case TypeKind::kTimestampNs: return "timestamp_ns";
    case TypeKind::kTimestamptzNs: return "timestamptz_ns";
    case TypeKind::kUnknown: return "unknown";
    case TypeKind::kVariant: return "variant";
    case TypeKind::kGeometry:
      return parameters_.empty() ? "geometry" : fmt::format("geometry({})", parameters_);
    case TypeKind::kGeography:
      return parameters_.empty() ? "geography" : fmt::format("geography({})", parameters_);
    case TypeKind::kStruct: return "struct";
    case TypeKind::kList: return "list";
    case TypeKind::kMap: return "map";
  }
  std::unreachable();
}

bool operator==(const Type& a, const Type& b) {
  return a.kind_ == b.kind_ && a.precision_ == b.precision_ && a.scale_ == b.scale_ &&
         a.parameters_ == b.parameters_ &&
         (a.children_ == b.children_ || a.children() == b.children());
}

}  // namespace lake::model
