#include "lakeproxy/engine/parquet/nan_count.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/duckdb/sql_text.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using model::FieldId;

// Expressions that count the NaNs of one leaf within one value of a column.
// Nothing when the leaf is not below the element.
class Counter {
 public:
  explicit Counter(FieldId id) : id_(id) {}

  base::Result<std::optional<std::string>> count(const ParquetNode& node,
                                                 const std::string& value) {
    if (node.repeated) return older_form();
    switch (node.shape) {
      case ParquetShape::kLeaf: return count_leaf(node, value);
      case ParquetShape::kStruct: return count_struct(node, value);
      case ParquetShape::kList: return count_list(node, value);
      case ParquetShape::kMap: return count_map(node, value);
    }
    std::unreachable();
  }

 private:
  using Expression = base::Result<std::optional<std::string>>;

  static base::Error older_form() {
    return fail(ErrorKind::kUnsupported, "a Parquet file's lists are in a form that is not read");
  }

  Expression count_leaf(const ParquetNode& node, const std::string& value) const {
    if (node.field_id != id_) return std::nullopt;
    if (node.physical_type != "FLOAT" && node.physical_type != "DOUBLE") {
      return fail(ErrorKind::kCorrupt, "a Parquet file's column is not of floating point");
    }
    return fmt::format("CASE WHEN isnan({}) THEN 1 ELSE 0 END", value);
  }

  Expression count_struct(const ParquetNode& node, const std::string& value) {
    for (const auto& child : node.children) {
      std::string part = fmt::format("struct_extract({}, {})", value, quote_literal(child.name));
      ASSIGN_OR_RETURN(auto counted, count(child, part));
      if (counted) return counted;
    }
    return std::nullopt;
  }

  Expression count_elements(const ParquetNode& element, const std::string& list) {
    std::string variable = fmt::format("x{}", depth_++);
    auto counted = count(element, variable);
    --depth_;
    if (!counted) return std::move(counted).error();
    if (!*counted) return std::nullopt;
    return fmt::format("coalesce(list_sum(list_transform({}, lambda {}: {})), 0)", list, variable,
                       **counted);
  }

  Expression count_list(const ParquetNode& node, const std::string& value) {
    if (node.children.size() != 1 || !node.children[0].repeated ||
        node.children[0].children.size() != 1) {
      return older_form();
    }
    return count_elements(node.children[0].children[0], value);
  }

  Expression count_map(const ParquetNode& node, const std::string& value) {
    if (node.children.size() != 1 || node.children[0].children.size() != 2) return older_form();
    const auto& parts = node.children[0].children;
    ASSIGN_OR_RETURN(auto keys, count_elements(parts[0], fmt::format("map_keys({})", value)));
    if (keys) return keys;
    return count_elements(parts[1], fmt::format("map_values({})", value));
  }

  FieldId id_;
  int depth_ = 0;
};

bool holds(const ParquetNode& node, FieldId id) {
  if (node.field_id == id) return true;
  for (const auto& child : node.children) {
    if (holds(child, id)) return true;
  }
  return false;
}

std::int64_t count_leaves(const ParquetNode& node) {
  if (node.shape == ParquetShape::kLeaf) return 1;
  std::int64_t leaves = 0;
  for (const auto& child : node.children) leaves += count_leaves(child);
  return leaves;
}

// The top-level column is named; what is below it is reached from there.
base::Result<std::optional<FileColumn>> find_column(const ParquetNode& root, FieldId id) {
  for (const auto& column : root.children) {
    if (!holds(column, id)) continue;
    ASSIGN_OR_RETURN(auto expression, Counter(id).count(column, quote_identifier(column.name)));
    if (!expression) return std::nullopt;
    return FileColumn{std::move(*expression), column.leaf, count_leaves(column)};
  }
  return std::nullopt;
}

}  // namespace

base::Result<std::map<FieldId, FileColumn>> nan_columns(const ParquetNode& root,
                                                        const std::vector<FieldId>& ids) {
  std::map<FieldId, FileColumn> columns;
  for (FieldId id : ids) {
    ASSIGN_OR_RETURN(auto column, find_column(root, id));
    if (column) columns.emplace(id, std::move(*column));
  }
  return columns;
}

base::Result<std::map<FieldId, std::int64_t>> count_nans_in(
    base::duckdb::Engine& engine, const std::string& path,
    const std::map<FieldId, FileColumn>& columns, std::chrono::steady_clock::time_point deadline) {
  if (columns.empty()) return {};
  std::string sums;
  for (const auto& [id, column] : columns) {
    sums += fmt::format("{}CAST(coalesce(sum({}), 0) AS BIGINT)", sums.empty() ? "" : ", ",
                        column.expression);
  }
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  auto rows =
      connection.execute(fmt::format("SELECT {} FROM read_parquet({})", sums, quote_literal(path)));
  if (!rows) return as_foreign(std::move(rows).error());
  ASSIGN_OR_RETURN(bool one, rows->next());
  if (!one) return fail(ErrorKind::kInternal, "the engine gave no count");
  std::map<FieldId, std::int64_t> counts;
  std::size_t position = 0;
  for (const auto& [id, column] : columns) counts[id] = rows->int64(position++);
  return counts;
}

}  // namespace lake::exporter
