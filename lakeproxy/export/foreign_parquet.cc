#include "lakeproxy/export/foreign_parquet.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/duckdb/sql_text.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::Rows;

constexpr int kMostDepth = 100;
constexpr std::int64_t kMostChildren = 100'000;

std::string text_or_empty(const Rows& rows, std::size_t column) {
  return rows.is_null(column) ? std::string() : std::string(rows.bytes(column));
}

ParquetShape shape_of(const Rows& rows, bool leaf) {
  if (leaf) return ParquetShape::kLeaf;
  std::string converted = text_or_empty(rows, 4);
  std::string logical = text_or_empty(rows, 5);
  if (converted == "LIST" || logical.starts_with("ListType")) return ParquetShape::kList;
  if (converted.starts_with("MAP") || logical.starts_with("MapType")) return ParquetShape::kMap;
  return ParquetShape::kStruct;
}

// The schema is listed depth first, each element before its children.
base::Result<ParquetNode> read_node(Rows& rows, int depth, std::int64_t& leaves) {
  ASSIGN_OR_RETURN(bool more, rows.next());
  if (!more || depth > kMostDepth) {
    return fail(ErrorKind::kCorrupt, "a Parquet file's schema is broken");
  }
  std::int64_t children = rows.is_null(3) ? 0 : rows.int64(3);
  if (children < 0 || children > kMostChildren) {
    return fail(ErrorKind::kCorrupt, "a Parquet file's schema is broken");
  }
  ParquetNode node{.name = text_or_empty(rows, 0),
                   .physical_type = text_or_empty(rows, 1),
                   .engine_type = text_or_empty(rows, 7),
                   .shape = shape_of(rows, children == 0),
                   .repeated = text_or_empty(rows, 2) == "REPEATED",
                   .leaf = children == 0 ? leaves++ : leaves};
  if (!rows.is_null(6)) {
    std::int64_t id = rows.int64(6);
    if (id >= 0 && id <= std::numeric_limits<model::FieldId>::max()) {
      node.field_id = static_cast<model::FieldId>(id);
    }
  }
  for (std::int64_t i = 0; i < children; ++i) {
    ASSIGN_OR_RETURN(ParquetNode child, read_node(rows, depth + 1, leaves));
    node.children.push_back(std::move(child));
  }
  return node;
}

}  // namespace

base::Result<ParquetNode> read_parquet_tree(base::duckdb::Connection& connection,
                                            const std::string& path) {
  auto rows = connection.execute(fmt::format(
      "SELECT name, type, repetition_type, CAST(num_children AS BIGINT), converted_type, "
      "logical_type, CAST(field_id AS BIGINT), duckdb_type FROM parquet_schema({})",
      base::duckdb::quote_literal(path)));
  if (!rows) return as_foreign(std::move(rows).error());
  std::int64_t leaves = 0;
  return read_node(*rows, 0, leaves);
}

bool has_field_ids(const ParquetNode& node) {
  return std::ranges::any_of(node.children, [](const ParquetNode& child) {
    return child.field_id.has_value() || has_field_ids(child);
  });
}

const ParquetNode* find_reserved(const ParquetNode& root, model::FieldId id,
                                 std::string_view name) {
  const ParquetNode* named = nullptr;
  for (const auto& column : root.children) {
    if (column.field_id == id) return &column;
    if (column.name == name) named = &column;
  }
  return named;
}

base::Error as_foreign(base::Error error) {
  switch (error.kind()) {
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
    case ErrorKind::kInternal:
      return fail(ErrorKind::kCorrupt, "a Parquet file cannot be read").with_detail(error.detail());
    default: return error;
  }
}

}  // namespace lake::exporter
