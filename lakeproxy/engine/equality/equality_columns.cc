#include "lakeproxy/engine/equality/equality_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/parquet/engine_schema.h"
#include "lakeproxy/engine/parquet/reader_types.h"
#include "lakeproxy/mapping/lake_text.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using model::Field;
using model::FieldId;
using model::Type;
using model::TypeKind;

// Nothing when the id is in none of the fields, or below a list or map.
std::optional<DeleteColumn> path_to(const std::vector<Field>& fields, FieldId id) {
  for (const Field& field : fields) {
    if (field.id == id) return DeleteColumn{field};
    if (field.type.kind() != TypeKind::kStruct) continue;
    auto below = path_to(field.type.children(), id);
    if (!below) continue;
    below->insert(below->begin(), field);
    return below;
  }
  return std::nullopt;
}

base::Status check_type(const Field& leaf) {
  if (!leaf.type.is_primitive()) {
    return fail(ErrorKind::kInvalid,
                fmt::format("equality_ids: column {} is not of a primitive type", leaf.name));
  }
  // Source: Iceberg table specification, "Equality Delete Files".
  if (leaf.type.kind() == TypeKind::kFloat || leaf.type.kind() == TypeKind::kDouble) {
    return fail(ErrorKind::kInvalid,
                fmt::format("equality_ids: column {} is of floating point, which cannot be a "
                            "delete column",
                            leaf.name));
  }
  if (!engine_type(leaf.type)) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("equality_ids: column {} of type {} cannot be compared", leaf.name,
                            leaf.type.to_string()));
  }
  return {};
}

// Types of a file, by the engine's names, that every reader widens to the
// column's; its own is not among them.
std::vector<std::string_view> narrower_types(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kInt: return {"TINYINT", "SMALLINT", "UTINYINT", "USMALLINT"};
    case TypeKind::kLong:
      return {"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"};
    case TypeKind::kTimestamp: return {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS"};
    case TypeKind::kTimestampNs: return {"DATE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP"};
    case TypeKind::kTime: return {"TIME WITH TIME ZONE"};  // In UTC, as files have it.
    case TypeKind::kString: return {"JSON"};
    default: return {};
  }
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// The file's leaf as a value of the column's type.
base::Result<std::string> widened(const std::string& value, const ParquetNode& leaf,
                                  const Type& type) {
  ASSIGN_OR_RETURN(std::string wanted, engine_type(type));
  if (without_spaces(leaf.engine_type) == without_spaces(wanted)) return value;
  // Some writers leave out that sixteen bytes are a UUID; others fail the cast.
  if (type.kind() == TypeKind::kUuid && leaf.engine_type == "BLOB") {
    return fmt::format("CAST(hex({}) AS UUID)", value);
  }
  const auto narrower = narrower_types(type);
  if (std::ranges::find(narrower, leaf.engine_type) != narrower.end() ||
      is_narrower_decimal(leaf, type)) {
    return fmt::format("CAST({} AS {})", value, wanted);
  }
  return fail(ErrorKind::kCorrupt, fmt::format("its column {} of type {} cannot be read as {}",
                                               leaf.name, leaf.engine_type, type.to_string()));
}

base::Result<std::string> default_sql(const Field& field) {
  if (field.initial_default && field.type.is_primitive()) {
    return literal_sql(field.type, *field.initial_default);
  }
  return std::string("NULL");
}

const ParquetNode* child_of(const ParquetNode& node, FieldId id) {
  for (const auto& child : node.children) {
    if (child.field_id == id) return &child;
  }
  return nullptr;
}

// To the engine "a" and "A" are one name, so it could give us the other one.
bool is_ambiguous(const ParquetNode& parent, const std::string& name) {
  auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; };
  return 1 < std::ranges::count_if(parent.children, [&](const ParquetNode& child) {
           return std::ranges::equal(child.name, name, {}, lower, lower);
         });
}

// What was found on the way down from the file's root.
struct Found {
  std::vector<const ParquetNode*> nodes;
  std::string value;  ///< Of the last of them.
};

base::Result<Found> descend(const ParquetNode& root, const DeleteColumn& column) {
  Found found;
  const ParquetNode* node = &root;
  for (const Field& field : column) {
    const ParquetNode* parent = std::exchange(node, child_of(*node, field.id));
    if (node == nullptr) break;
    bool is_leaf = &field == &column.back();
    if (node->repeated || is_ambiguous(*parent, node->name) ||
        (node->shape == ParquetShape::kLeaf) != is_leaf ||
        (!is_leaf && node->shape != ParquetShape::kStruct)) {
      return fail(ErrorKind::kUnsupported,
                  fmt::format("its column {} is in a form that is not read", node->name));
    }
    found.value = found.nodes.empty() ? quote_identifier(node->name)
                                      : fmt::format("struct_extract({}, {})", found.value,
                                                    quote_literal(node->name));
    found.nodes.push_back(node);
  }
  return found;
}

std::int64_t count_leaves(const ParquetNode& node) {
  if (node.children.empty()) return 1;
  std::int64_t count = 0;
  for (const auto& child : node.children) count += count_leaves(child);
  return count;
}

base::Result<std::string> absent(
    const DeleteColumn& column, const std::map<FieldId, std::optional<model::Literal>>& constants) {
  auto constant = constants.find(column.back().id);
  if (constant == constants.end()) return default_sql(column.back());
  if (!constant->second) return std::string("NULL");
  return literal_sql(column.back().type, *constant->second);
}

}  // namespace

base::Result<std::vector<DeleteColumn>> delete_columns(const model::Schema& schema,
                                                       const std::vector<FieldId>& equality_ids) {
  if (equality_ids.empty()) {
    return fail(ErrorKind::kInvalid, "equality_ids: an equality-delete file needs some");
  }
  std::vector<DeleteColumn> columns;
  for (FieldId id : equality_ids) {
    auto path = path_to(schema.fields, id);
    if (!path) {
      return fail(
          ErrorKind::kInvalid,
          fmt::format("equality_ids: {} is no column of the table, or is in a list or map", id));
    }
    RETURN_IF_ERROR(check_type(path->back()));
    columns.push_back(std::move(*path));
  }
  return columns;
}

void apply_mapping(ParquetNode& node, const model::NameMapping& mapping) {
  for (auto& child : node.children) {
    const model::MappedField* mapped = model::find_name(mapping, child.name);
    if (mapped == nullptr) continue;
    child.field_id = mapped->id;
    apply_mapping(child, mapped->fields);
  }
}

base::Result<FileColumn> column_in_data(
    const ParquetNode& root, const DeleteColumn& column,
    const std::map<FieldId, std::optional<model::Literal>>& constants) {
  ASSIGN_OR_RETURN(Found found, descend(root, column));
  FileColumn result;
  if (!found.nodes.empty()) {
    result.first_leaf = found.nodes.front()->leaf;
    result.leaves = count_leaves(*found.nodes.front());
  }
  if (found.nodes.size() == column.size()) {
    ASSIGN_OR_RETURN(result.expression,
                     widened(found.value, *found.nodes.back(), column.back().type));
    return result;
  }
  // A constant is of a top-level column; below a struct that the file lacks
  // there is nothing, and below a null one neither.
  if (found.nodes.empty() && column.size() > 1) {
    result.expression = "NULL";
  } else {
    ASSIGN_OR_RETURN(result.expression, absent(column, constants));
  }
  if (!found.nodes.empty() && result.expression != "NULL") {
    result.expression =
        fmt::format("CASE WHEN {} IS NULL THEN NULL ELSE {} END", found.value, result.expression);
  }
  ASSIGN_OR_RETURN(std::string type, engine_type(column.back().type));
  result.expression = fmt::format("CAST({} AS {})", result.expression, type);
  return result;
}

base::Result<std::string> column_in_deletes(const ParquetNode& root, const DeleteColumn& column) {
  ASSIGN_OR_RETURN(Found found, descend(root, column));
  if (found.nodes.size() != column.size()) {
    return fail(ErrorKind::kCorrupt,
                fmt::format("it does not hold its delete column {} (field id {})",
                            column.back().name, column.back().id));
  }
  return widened(found.value, *found.nodes.back(), column.back().type);
}

base::Result<std::string> literal_sql(const Type& type, const model::Literal& value) {
  std::string text = model::to_lake_text(type, value);
  if (type.kind() == TypeKind::kBinary || type.kind() == TypeKind::kFixed) {
    return fmt::format("unhex({})", quote_literal(text));
  }
  if (text.find('\0') != std::string::npos) {
    return fail(ErrorKind::kUnsupported, "a default or partition value has a zero byte");
  }
  ASSIGN_OR_RETURN(std::string wanted, engine_type(type));
  return fmt::format("CAST({} AS {})", quote_literal(text), wanted);
}

}  // namespace lake::exporter
