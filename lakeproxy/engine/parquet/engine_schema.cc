#include "lakeproxy/engine/parquet/engine_schema.h"

#include <fmt/format.h>

#include <utility>

#include "base/duckdb/sql_text.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using model::LakeTypes;
using model::Type;
using model::TypeKind;

constexpr std::string_view kOwnId = "__duckdb_field_id";

base::Error unsupported(const Type& type) {
  return fail(ErrorKind::kUnsupported,
              fmt::format("rows with a {} cannot be written as Parquet", type.to_string()));
}

// The engine's types that lose nothing before the values are written to Parquet.
std::optional<std::string> type_of_lake(const LakeTypes& lake_types, model::FieldId id) {
  auto held = lake_types.find(id);
  if (held == lake_types.end()) return std::nullopt;
  if (held->second == "int128") return "HUGEINT";
  if (held->second == "uint128") return "UHUGEINT";
  if (held->second == "timetz") return "TIME WITH TIME ZONE";
  if (held->second == "interval") return "INTERVAL";
  return std::nullopt;
}

base::Result<std::string> struct_type(const Type& type, const LakeTypes& lake_types) {
  if (type.children().empty()) return unsupported(type);
  std::string text = "STRUCT(";
  for (const auto& field : type.children()) {
    ASSIGN_OR_RETURN(std::string child, engine_type(field, lake_types));
    if (text.back() != '(') text += ", ";
    text += quote_identifier(field.name) + ' ' + child;
  }
  return text + ')';
}

base::Result<std::string> map_type(const Type& type, const LakeTypes& lake_types) {
  ASSIGN_OR_RETURN(std::string key, engine_type(type.children()[0], lake_types));
  ASSIGN_OR_RETURN(std::string value, engine_type(type.children()[1], lake_types));
  return fmt::format("MAP({}, {})", key, value);
}

base::Result<std::string> nested_type(const Type& type, const LakeTypes& lake_types) {
  if (type.kind() == TypeKind::kStruct) return struct_type(type, lake_types);
  if (type.kind() == TypeKind::kMap) return map_type(type, lake_types);
  ASSIGN_OR_RETURN(std::string element, engine_type(type.children()[0], lake_types));
  return element + "[]";
}

}  // namespace

base::Result<std::string> engine_type(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return "BOOLEAN";
    case TypeKind::kInt: return "INTEGER";
    case TypeKind::kLong: return "BIGINT";
    case TypeKind::kFloat: return "FLOAT";
    case TypeKind::kDouble: return "DOUBLE";
    case TypeKind::kDecimal: return fmt::format("DECIMAL({}, {})", type.precision(), type.scale());
    case TypeKind::kDate: return "DATE";
    case TypeKind::kTime: return "TIME";
    case TypeKind::kTimestamp: return "TIMESTAMP";
    case TypeKind::kTimestamptz: return "TIMESTAMP WITH TIME ZONE";
    case TypeKind::kTimestampNs: return "TIMESTAMP_NS";
    case TypeKind::kString: return "VARCHAR";
    case TypeKind::kUuid: return "UUID";
    case TypeKind::kFixed:
    case TypeKind::kBinary: return "BLOB";
    case TypeKind::kStruct:
    case TypeKind::kMap:
    case TypeKind::kList: return nested_type(type, {});
    case TypeKind::kTimestamptzNs:
    case TypeKind::kUnknown:
    case TypeKind::kVariant:
    case TypeKind::kGeometry:
    case TypeKind::kGeography: return unsupported(type);
  }
  std::unreachable();
}

base::Result<std::string> engine_type(const model::Field& column, const LakeTypes& lake_types) {
  if (!column.type.is_primitive()) return nested_type(column.type, lake_types);
  auto held = type_of_lake(lake_types, column.id);
  return held ? std::move(*held) : engine_type(column.type);
}

base::Result<std::string> engine_field_ids(const std::vector<model::Field>& fields) {
  std::string text = "{";
  for (const auto& field : fields) {
    if (field.name == kOwnId) {
      return fail(ErrorKind::kUnsupported, "a column's name is one the engine keeps for itself");
    }
    if (text.size() > 1) text += ", ";
    text += quote_literal(field.name) + ": ";
    if (field.type.is_primitive()) {
      text += fmt::format("{}", field.id);
      continue;
    }
    ASSIGN_OR_RETURN(std::string children, engine_field_ids(field.type.children()));
    text += fmt::format("{{{}: {}, {}", kOwnId, field.id, std::string_view(children).substr(1));
  }
  return text + '}';
}

}  // namespace lake::exporter
