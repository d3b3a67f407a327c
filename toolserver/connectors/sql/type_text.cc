#include <fmt/format.h>

#include "toolserver/connectors/sql/json_cells.h"

namespace tool::connectors {
namespace {

std::string_view plain_name(duckdb_type id) {
  switch (id) {
    case DUCKDB_TYPE_BOOLEAN: return "BOOLEAN";
    case DUCKDB_TYPE_TINYINT: return "TINYINT";
    case DUCKDB_TYPE_SMALLINT: return "SMALLINT";
    case DUCKDB_TYPE_INTEGER: return "INTEGER";
    case DUCKDB_TYPE_BIGINT: return "BIGINT";
    case DUCKDB_TYPE_UTINYINT: return "UTINYINT";
    case DUCKDB_TYPE_USMALLINT: return "USMALLINT";
    case DUCKDB_TYPE_UINTEGER: return "UINTEGER";
    case DUCKDB_TYPE_UBIGINT: return "UBIGINT";
    case DUCKDB_TYPE_FLOAT: return "FLOAT";
    case DUCKDB_TYPE_DOUBLE: return "DOUBLE";
    case DUCKDB_TYPE_TIMESTAMP: return "TIMESTAMP";
    case DUCKDB_TYPE_DATE: return "DATE";
    case DUCKDB_TYPE_TIME: return "TIME";
    case DUCKDB_TYPE_INTERVAL: return "INTERVAL";
    case DUCKDB_TYPE_HUGEINT: return "HUGEINT";
    case DUCKDB_TYPE_UHUGEINT: return "UHUGEINT";
    case DUCKDB_TYPE_VARCHAR: return "VARCHAR";
    case DUCKDB_TYPE_BLOB: return "BLOB";
    case DUCKDB_TYPE_TIMESTAMP_S: return "TIMESTAMP_S";
    case DUCKDB_TYPE_TIMESTAMP_MS: return "TIMESTAMP_MS";
    case DUCKDB_TYPE_TIMESTAMP_NS: return "TIMESTAMP_NS";
    case DUCKDB_TYPE_ENUM: return "ENUM";
    case DUCKDB_TYPE_UUID: return "UUID";
    case DUCKDB_TYPE_BIT: return "BIT";
    case DUCKDB_TYPE_TIME_TZ: return "TIME WITH TIME ZONE";
    case DUCKDB_TYPE_TIMESTAMP_TZ: return "TIMESTAMP WITH TIME ZONE";
    case DUCKDB_TYPE_BIGNUM: return "BIGNUM";
    case DUCKDB_TYPE_SQLNULL: return "NULL";
    case DUCKDB_TYPE_TIME_NS: return "TIME_NS";
    case DUCKDB_TYPE_GEOMETRY: return "GEOMETRY";
    case DUCKDB_TYPE_VARIANT: return "VARIANT";
    default: return "UNKNOWN";
  }
}

std::string text_and_free(duckdb_logical_type type) {
  std::string text = type_text(type);
  duckdb_destroy_logical_type(&type);
  return text;
}

std::string name_and_free(char* name) {
  std::string text = name == nullptr ? "" : name;
  duckdb_free(name);
  return text;
}

std::string members(duckdb_logical_type type) {
  bool is_struct = duckdb_get_type_id(type) == DUCKDB_TYPE_STRUCT;
  std::string text = is_struct ? "STRUCT(" : "UNION(";
  idx_t count =
      is_struct ? duckdb_struct_type_child_count(type) : duckdb_union_type_member_count(type);
  for (idx_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    std::string name = name_and_free(is_struct ? duckdb_struct_type_child_name(type, i)
                                               : duckdb_union_type_member_name(type, i));
    if (!name.empty()) text += name + " ";
    text += text_and_free(is_struct ? duckdb_struct_type_child_type(type, i)
                                    : duckdb_union_type_member_type(type, i));
  }
  return text + ")";
}

}  // namespace

std::string type_text(duckdb_logical_type type) {
  std::string alias = name_and_free(duckdb_logical_type_get_alias(type));
  if (!alias.empty()) return alias;
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_DECIMAL:
      return fmt::format("DECIMAL({},{})", duckdb_decimal_width(type), duckdb_decimal_scale(type));
    case DUCKDB_TYPE_LIST: return text_and_free(duckdb_list_type_child_type(type)) + "[]";
    case DUCKDB_TYPE_ARRAY:
      return fmt::format("{}[{}]", text_and_free(duckdb_array_type_child_type(type)),
                         duckdb_array_type_array_size(type));
    case DUCKDB_TYPE_MAP:
      return fmt::format("MAP({}, {})", text_and_free(duckdb_map_type_key_type(type)),
                         text_and_free(duckdb_map_type_value_type(type)));
    case DUCKDB_TYPE_STRUCT:
    case DUCKDB_TYPE_UNION: return members(type);
    default: return std::string(plain_name(duckdb_get_type_id(type)));
  }
}

}  // namespace tool::connectors
