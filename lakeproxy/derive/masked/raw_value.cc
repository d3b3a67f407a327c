#include "lakeproxy/derive/masked/raw_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/duckdb/nested_sql.h"
#include "base/duckdb/sql_text.h"
#include "base/json/json.h"
#include "lakeproxy/engine/parquet/engine_schema.h"
#include "lakeproxy/iceberg/schema/literal_json.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using base::duckdb::rebuilt_list;
using base::duckdb::rebuilt_map;
using base::duckdb::rebuilt_struct;
using base::duckdb::struct_part;
using base::duckdb::StructPart;
using model::Field;
using model::TypeKind;

// The text of Iceberg's JSON form is one that the engine casts, but for bytes, which are
// hexadecimal.
std::string default_text(const Field& field) {
  const base::json::Value value = model::to_json(*field.initial_default, field.type);
  const std::string text =
      value.is_string() ? std::string(value.get_string()) : base::json::write(value);
  const bool is_bytes =
      field.type.kind() == TypeKind::kBinary || field.type.kind() == TypeKind::kFixed;
  return is_bytes ? fmt::format("from_hex({})", quote_literal(text)) : quote_literal(text);
}

base::Result<std::string> value_of(const Field& field, const ParquetNode* node,
                                   const std::string& value, int depth);

const ParquetNode* find(const std::vector<ParquetNode>& nodes, model::FieldId id) {
  auto found = std::ranges::find(nodes, id, &ParquetNode::field_id);
  return found == nodes.end() ? nullptr : &*found;
}

base::Result<std::string> struct_value(const Field& field, const ParquetNode& node,
                                       const std::string& value, int depth) {
  std::vector<StructPart> parts;
  for (const Field& child : field.type.children()) {
    const ParquetNode* held = find(node.children, child.id);
    const std::string part = held != nullptr ? struct_part(value, held->name) : "NULL";
    ASSIGN_OR_RETURN(std::string made, value_of(child, held, part, depth));
    parts.push_back({.name = child.name, .value = std::move(made)});
  }
  return rebuilt_struct(value, parts);
}

base::Result<std::string> list_value(const Field& field, const ParquetNode& node,
                                     const std::string& value, int depth) {
  const Field& element = field.type.children()[0];
  const ParquetNode* held = find(parts_of(node), element.id);
  if (held == nullptr) return fail(ErrorKind::kUnsupported, "elements without field ids");
  const std::string name = fmt::format("lakeproxy_e{}", depth);
  ASSIGN_OR_RETURN(std::string made, value_of(element, held, name, depth + 1));
  return rebuilt_list(value, name, made);
}

base::Result<std::string> map_value(const Field& field, const ParquetNode& node,
                                    const std::string& value, int depth) {
  const auto& parts = field.type.children();
  const ParquetNode* key = find(parts_of(node), parts[0].id);
  const ParquetNode* held = find(parts_of(node), parts[1].id);
  if (key == nullptr || held == nullptr) {
    return fail(ErrorKind::kUnsupported, "keys or values without field ids");
  }
  const std::string entry = fmt::format("lakeproxy_e{}", depth);
  ASSIGN_OR_RETURN(std::string keys,
                   value_of(parts[0], key, base::duckdb::map_key(entry), depth + 1));
  ASSIGN_OR_RETURN(std::string values,
                   value_of(parts[1], held, base::duckdb::map_value(entry), depth + 1));
  return rebuilt_map(value, entry, keys, values);
}

bool has_shape(TypeKind kind, ParquetShape shape) {
  switch (kind) {
    case TypeKind::kStruct: return shape == ParquetShape::kStruct;
    case TypeKind::kList: return shape == ParquetShape::kList;
    case TypeKind::kMap: return shape == ParquetShape::kMap;
    default: return shape == ParquetShape::kLeaf;
  }
}

base::Result<std::string> value_of(const Field& field, const ParquetNode* node,
                                   const std::string& value, int depth) {
  ASSIGN_OR_RETURN(std::string type, engine_type(field.type));
  if (node == nullptr) {
    return fmt::format("CAST({} AS {})", field.initial_default ? default_text(field) : "NULL",
                       type);
  }
  if (!has_shape(field.type.kind(), node->shape)) {
    return fail(ErrorKind::kCorrupt, "the file holds a value of another shape");
  }
  std::string made = value;
  if (field.type.kind() == TypeKind::kStruct) {
    ASSIGN_OR_RETURN(made, struct_value(field, *node, value, depth));
  } else if (field.type.kind() == TypeKind::kList) {
    ASSIGN_OR_RETURN(made, list_value(field, *node, value, depth));
  } else if (field.type.kind() == TypeKind::kMap) {
    ASSIGN_OR_RETURN(made, map_value(field, *node, value, depth));
  }
  return fmt::format("CAST({} AS {})", made, type);
}

}  // namespace

base::Result<std::string> raw_value(const Field& field, const ParquetNode* node) {
  return value_of(field, node, node != nullptr ? quote_identifier(node->name) : "NULL", 0);
}

}  // namespace lake::exporter
