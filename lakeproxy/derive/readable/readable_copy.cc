#include "lakeproxy/derive/readable/readable_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/duckdb/nested_sql.h"
#include "base/duckdb/sql_text.h"
#include "lakeproxy/derive/readable/added_columns.h"
#include "lakeproxy/engine/parquet/engine_schema.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"
#include "lakeproxy/engine/parquet/geography_footer.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::map_key;
using base::duckdb::map_value;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using base::duckdb::rebuilt_list;
using base::duckdb::rebuilt_map;
using base::duckdb::rebuilt_struct;
using base::duckdb::struct_part;
using base::duckdb::StructPart;
using model::CopiedColumn;

using Columns = std::vector<CopiedColumn>;

const CopiedColumn* find(const Columns& columns, const ParquetNode& node) {
  if (!node.field_id) return nullptr;
  auto found = std::ranges::find(columns, *node.field_id, &CopiedColumn::id);
  return found == columns.end() ? nullptr : &*found;
}

bool is_geo(const model::Type& type) {
  return type.kind() == model::TypeKind::kGeometry || type.kind() == model::TypeKind::kGeography;
}

bool changes(const ParquetNode& node, const Columns& columns) {
  return find(columns, node) != nullptr ||
         std::ranges::any_of(node.children,
                             [&](const ParquetNode& child) { return changes(child, columns); });
}

base::Result<std::string> converted(const CopiedColumn& column, const std::string& value) {
  if (column.from == "interval" && column.to.kind() == model::TypeKind::kString) {
    return interval_text(value);
  }
  if (is_geo(column.to)) return fmt::format("CAST({} AS GEOMETRY)", value);
  ASSIGN_OR_RETURN(std::string type, engine_type(column.to));
  return fmt::format("CAST({} AS {})", value, type);
}

Geographies geographies_of(const Columns& columns) {
  Geographies found;
  for (const CopiedColumn& column : columns) {
    if (column.to.kind() == model::TypeKind::kGeography) found.emplace(column.id, column.to);
  }
  return found;
}

base::Result<std::string> expression(const ParquetNode& node, const Columns& columns,
                                     const std::string& value, int depth);

base::Result<std::string> struct_expression(const ParquetNode& node, const Columns& columns,
                                            const std::string& value, int depth) {
  std::vector<StructPart> parts;
  for (const ParquetNode& child : node.children) {
    ASSIGN_OR_RETURN(std::string made,
                     expression(child, columns, struct_part(value, child.name), depth + 1));
    parts.push_back({.name = child.name, .value = std::move(made)});
  }
  return rebuilt_struct(value, parts);
}

base::Result<std::string> map_expression(const std::vector<ParquetNode>& parts,
                                         const Columns& columns, const std::string& value,
                                         int depth) {
  const std::string entry = fmt::format("e{}", depth);
  ASSIGN_OR_RETURN(std::string key, expression(parts[0], columns, map_key(entry), depth + 1));
  ASSIGN_OR_RETURN(std::string held, expression(parts[1], columns, map_value(entry), depth + 1));
  return rebuilt_map(value, entry, key, held);
}

// Columns that stay as they are go through as they are.
base::Result<std::string> expression(const ParquetNode& node, const Columns& columns,
                                     const std::string& value, int depth) {
  if (!changes(node, columns)) return value;
  if (const CopiedColumn* column = find(columns, node)) return converted(*column, value);
  const std::vector<ParquetNode>& parts = parts_of(node);
  switch (node.shape) {
    case ParquetShape::kStruct: return struct_expression(node, columns, value, depth);
    case ParquetShape::kList: {
      const std::string element = fmt::format("e{}", depth);
      ASSIGN_OR_RETURN(std::string made, expression(parts.at(0), columns, element, depth + 1));
      return rebuilt_list(value, element, made);
    }
    case ParquetShape::kMap:
      if (parts.size() == 2) return map_expression(parts, columns, value, depth);
      break;
    case ParquetShape::kLeaf: break;
  }
  return fail(ErrorKind::kCorrupt, "a Parquet file's schema is broken");
}

// FIELD_IDS of what stands below a list's, map's or struct's own id.
base::Result<std::string> nested_ids(const ParquetNode& node);

base::Result<std::string> ids_of(const ParquetNode& node, std::string_view name) {
  if (!node.field_id) {
    return fail(ErrorKind::kUnsupported, "the file has columns without field ids");
  }
  if (node.shape == ParquetShape::kLeaf || is_variant(node)) {
    return fmt::format("{}: {}", quote_literal(name), *node.field_id);
  }
  ASSIGN_OR_RETURN(std::string below, nested_ids(node));
  return fmt::format("{}: {{__duckdb_field_id: {}{}}}", quote_literal(name), *node.field_id, below);
}

base::Result<std::string> nested_ids(const ParquetNode& node) {
  constexpr std::string_view kMapParts[] = {"key", "value"};
  const std::vector<ParquetNode>& parts = parts_of(node);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view name = parts[i].name;
    if (node.shape == ParquetShape::kList) name = "element";
    if (node.shape == ParquetShape::kMap) name = kMapParts[std::min<std::size_t>(i, 1)];
    ASSIGN_OR_RETURN(std::string ids, ids_of(parts[i], name));
    text += ", " + ids;
  }
  return text;
}

struct Selection {
  std::string expressions;
  std::string field_ids;
};

// A column of the file may have the name of one that it lacks: clients go by the ids.
std::string free_name(const CopiedColumn& column, const std::set<std::string>& taken) {
  std::string name = column.name;
  while (taken.contains(base::duckdb::quote_identifier(name))) {
    name += fmt::format("_{}", column.id);
  }
  return name;
}

base::Result<Selection> select(const ParquetNode& root, const Columns& columns) {
  Selection all;
  std::set<std::string> names;
  std::set<model::FieldId> held;
  auto add = [&](const std::string& made, std::string_view name, const std::string& ids) {
    if (!all.expressions.empty()) {
      all.expressions += ", ";
      all.field_ids += ", ";
    }
    all.expressions += made + " AS " + quote_identifier(name);
    all.field_ids += ids;
    names.insert(quote_identifier(name));
  };
  for (const ParquetNode& node : root.children) {
    ASSIGN_OR_RETURN(std::string made, expression(node, columns, quote_identifier(node.name), 0));
    ASSIGN_OR_RETURN(std::string ids, ids_of(node, node.name));
    add(made, node.name, ids);
    held.insert(*node.field_id);
  }
  for (const CopiedColumn& column : columns) {
    if (!column.constant || held.contains(column.id)) continue;
    std::string value = quote_literal(*column.constant);
    if (column.from == "interval") value = fmt::format("CAST({} AS INTERVAL)", value);
    ASSIGN_OR_RETURN(std::string made, converted(column, value));
    const std::string name = free_name(column, names);
    add(made, name, fmt::format("{}: {}", quote_literal(name), column.id));
  }
  return all;
}

base::Status take(const std::string& from, const std::string& to) {
  std::error_code failed;
  std::filesystem::rename(from, to, failed);
  if (failed) return fail(ErrorKind::kInternal, "a scratch file cannot be moved");
  return {};
}

base::Result<std::int64_t> count_rows(base::duckdb::Connection& connection,
                                      const std::string& path) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.execute(fmt::format("SELECT CAST(sum(num_rows) AS BIGINT) FROM "
                                                  "parquet_file_metadata({})",
                                                  quote_literal(path))));
  ASSIGN_OR_RETURN(bool one, rows.next());
  if (!one) return fail(ErrorKind::kInternal, "the engine gave no count of rows");
  return rows.int64(0);
}

}  // namespace

// What one of a struct's or list's elements holds may be the same expression many times.
std::string interval_text(const std::string& value) {
  auto part = [&](const char* name) { return fmt::format("date_part('{}', {})", name, value); };
  auto text = [&](const char* name, char unit) {
    return fmt::format("CASE WHEN {0} = 0 THEN '' ELSE CAST({0} AS VARCHAR) || '{1}' END",
                       part(name), unit);
  };
  const std::string micros = fmt::format("CAST({} AS BIGINT)", part("microsecond"));
  const std::string seconds = fmt::format(
      "CASE WHEN {0} = 0 THEN '' ELSE CASE WHEN {0} < 0 THEN '-' ELSE '' END || CAST(abs({0}) // "
      "1000000 AS VARCHAR) || CASE WHEN abs({0}) % 1000000 = 0 THEN '' ELSE '.' || "
      "rtrim(lpad(CAST(abs({0}) % 1000000 AS VARCHAR), 6, '0'), '0') END || 'S' END",
      micros);
  const std::string date =
      fmt::format("{} || {} || {}", text("year", 'Y'), text("month", 'M'), text("day", 'D'));
  const std::string time =
      fmt::format("{} || {} || {}", text("hour", 'H'), text("minute", 'M'), seconds);
  return fmt::format(
      "CASE WHEN {0} IS NULL THEN NULL WHEN ({1} || {2}) = '' THEN 'PT0S' ELSE 'P' || {1} || CASE "
      "WHEN ({2}) = '' THEN '' ELSE 'T' || {2} END END",
      value, date, time);
}

base::Result<std::int64_t> write_readable_copy(base::duckdb::Engine& engine,
                                               const std::string& from, const std::string& to,
                                               const CopiedAs& as,
                                               std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, from));
  Columns columns = *as.columns;
  if (as.added != nullptr) RETURN_IF_ERROR(keep_added_columns(*as.added, root, columns));
  const Geographies geographies = geographies_of(columns);
  const bool same_pages = as.added == nullptr && geographies.size() == columns.size();
  if (same_pages) {
    RETURN_IF_ERROR(take(from, to));
  } else {
    ASSIGN_OR_RETURN(Selection selection, select(root, columns));
    // In the form of others than Parquet's own a geometry is nothing but bytes to most readers.
    auto made = connection.execute(fmt::format(
        "COPY (SELECT {} FROM read_parquet({})) TO {} (FORMAT parquet, COMPRESSION zstd, "
        "GEOPARQUET_VERSION NONE, FIELD_IDS {{{}}})",
        selection.expressions, quote_literal(from), quote_literal(to), selection.field_ids));
    if (!made) return as_foreign(std::move(made).error());
  }
  if (!geographies.empty()) RETURN_IF_ERROR(write_geography_footer(to, geographies));
  return count_rows(connection, to);
}

}  // namespace lake::exporter
