#include "lakeproxy/engine/parquet/foreign_parquet.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "base/duckdb/sql_text.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::Rows;

constexpr int kMostDepth = 100;
constexpr std::int64_t kMostChildren = 100'000;

// One row of the engine's list of a file's schema.
struct Element {
  ParquetNode node;
  std::int64_t children = 0;
};

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

Element element_of(const Rows& rows) {
  Element element{.children = rows.is_null(3) ? 0 : rows.int64(3)};
  element.node = {.name = text_or_empty(rows, 0),
                  .physical_type = text_or_empty(rows, 1),
                  .engine_type = text_or_empty(rows, 7),
                  .logical_type = text_or_empty(rows, 5),
                  .shape = shape_of(rows, element.children == 0),
                  .repeated = text_or_empty(rows, 2) == "REPEATED"};
  if (!rows.is_null(6)) {
    std::int64_t id = rows.int64(6);
    if (id >= 0 && id <= std::numeric_limits<model::FieldId>::max()) {
      element.node.field_id = static_cast<model::FieldId>(id);
    }
  }
  return element;
}

// The schema is listed depth first, each element before its children.
base::Result<ParquetNode> build(std::span<Element>& left, int depth, std::int64_t& leaves) {
  if (left.empty() || depth > kMostDepth || left.front().children < 0 ||
      left.front().children > kMostChildren) {
    return fail(ErrorKind::kCorrupt, "a Parquet file's schema is broken");
  }
  const std::int64_t children = left.front().children;
  ParquetNode node = std::move(left.front().node);
  left = left.subspan(1);
  node.leaf = children == 0 ? leaves++ : leaves;
  for (std::int64_t i = 0; i < children; ++i) {
    ASSIGN_OR_RETURN(ParquetNode child, build(left, depth + 1, leaves));
    node.children.push_back(std::move(child));
  }
  return node;
}

}  // namespace

base::Result<ParquetNode> read_parquet_tree(base::duckdb::Connection& connection,
                                            const std::string& path) {
  ASSIGN_OR_RETURN(auto roots, read_parquet_trees(connection, {path}));
  return std::move(roots.front());
}

base::Result<std::vector<ParquetNode>> read_parquet_trees(base::duckdb::Connection& connection,
                                                          const std::vector<std::string>& paths) {
  auto rows = connection.execute(fmt::format(
      "SELECT name, type, repetition_type, CAST(num_children AS BIGINT), converted_type, "
      "logical_type, CAST(field_id AS BIGINT), duckdb_type, file_name FROM parquet_schema({})",
      base::duckdb::quote_literals(paths)));
  if (!rows) return as_foreign(std::move(rows).error());
  // The rows of one file are in order; files may come in any.
  std::map<std::string, std::vector<Element>, std::less<>> elements;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows->next());
    if (!more) break;
    elements[text_or_empty(*rows, 8)].push_back(element_of(*rows));
  }
  std::vector<ParquetNode> roots;
  for (const std::string& path : paths) {
    std::span<Element> of_file = elements[path];
    std::int64_t leaves = 0;
    ASSIGN_OR_RETURN(ParquetNode root, build(of_file, 0, leaves));
    roots.push_back(std::move(root));
  }
  return roots;
}

const std::vector<ParquetNode>& parts_of(const ParquetNode& node) {
  const bool wraps = node.shape != ParquetShape::kStruct && node.children.size() == 1 &&
                     node.children[0].repeated && !node.children[0].children.empty();
  return wraps ? node.children[0].children : node.children;
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
