#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lakeproxy/engine/equality/equality_match.h"
#include "lakeproxy/iceberg/value/single_value.h"
#include "lakeproxy/mapping/lake_text.h"

namespace lake::exporter {
namespace {

using base::Result;
using base::duckdb::Connection;
using model::DataFile;
using model::Literal;
using model::Type;
using model::TypeKind;

// Values of one delete column: in all keys, or in a file.
struct Extent {
  std::optional<Literal> least;
  std::optional<Literal> greatest;
  bool may_be_null = true;
  bool only_null = false;
};

std::optional<Literal> bound(const std::optional<std::string>& bytes, const Type& type) {
  // Their order in statistics is not the same with all writers.
  if (!bytes || type.kind() == TypeKind::kUuid) return std::nullopt;
  auto value = materialize::decode_single_value(*bytes, type);
  // What is not a bound, or not one that SQL can name, leaves the file unpruned.
  if (!value || !literal_sql(type, *value)) return std::nullopt;
  return std::move(*value);
}

Extent extent_in(const DataFile& file, const DeleteColumn& column) {
  auto found = file.metrics.find(column.back().id);
  if (found == file.metrics.end()) return {};
  const model::ColumnMetrics& metrics = found->second;
  Extent extent{.least = bound(metrics.lower_bound, column.back().type),
                .greatest = bound(metrics.upper_bound, column.back().type)};
  // Whether a null struct counts as a null of its fields is not the same with
  // all writers.
  if (column.size() > 1) return extent;
  extent.may_be_null = !metrics.null_count || *metrics.null_count != 0;
  extent.only_null = metrics.null_count && metrics.null_count == metrics.value_count;
  return extent;
}

// No value of one is one of the other.
bool apart(const Extent& keys, const Extent& file) {
  if (keys.may_be_null && file.may_be_null) return false;
  if (keys.only_null || file.only_null) return true;
  return (file.least && keys.greatest && *keys.greatest < *file.least) ||
         (file.greatest && keys.least && *file.greatest < *keys.least);
}

std::string text_of(const Type& type, const std::string& value) {
  bool binary = type.kind() == TypeKind::kBinary || type.kind() == TypeKind::kFixed;
  return fmt::format(fmt::runtime(binary ? "hex({})" : "CAST({} AS VARCHAR)"), value);
}

// Least, greatest and number of values of each column, and the number of keys.
Result<std::optional<std::vector<Extent>>> extents_of_keys(
    Connection& connection, const std::vector<DeleteColumn>& columns) {
  std::string list;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Type& type = columns[i].back().type;
    list += fmt::format("{}, {}, count(k{}), ", text_of(type, fmt::format("min(k{})", i)),
                        text_of(type, fmt::format("max(k{})", i)), i);
  }
  ASSIGN_OR_RETURN(auto rows, connection.execute("SELECT " + list + "count(*) FROM keys"));
  ASSIGN_OR_RETURN(bool one, rows.next());
  std::int64_t count = one ? rows.int64(3 * columns.size()) : 0;
  if (count == 0) return std::nullopt;
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::int64_t values = rows.int64(3 * i + 2);
    Extent extent{.may_be_null = values < count, .only_null = values == 0};
    if (values > 0) {
      extent.least = model::parse_lake_text(columns[i].back().type, rows.bytes(3 * i));
      extent.greatest = model::parse_lake_text(columns[i].back().type, rows.bytes(3 * i + 1));
    }
    extents.push_back(std::move(extent));
  }
  return extents;
}

// True of the keys whose column can be in a file of that extent.
Result<std::string> within(const Type& type, const Extent& extent, std::size_t i) {
  std::string values = fmt::format("k{} IS NOT NULL", i);
  if (extent.only_null) values = "false";
  if (extent.least) {
    ASSIGN_OR_RETURN(std::string least, literal_sql(type, *extent.least));
    values += fmt::format(" AND k{} >= {}", i, least);
  }
  if (extent.greatest) {
    ASSIGN_OR_RETURN(std::string greatest, literal_sql(type, *extent.greatest));
    values += fmt::format(" AND k{} <= {}", i, greatest);
  }
  if (!extent.may_be_null) return fmt::format("({})", values);
  return fmt::format("({} OR k{} IS NULL)", values, i);
}

Result<bool> has_key_within(Connection& connection, const std::vector<DeleteColumn>& columns,
                            const std::vector<Extent>& file) {
  std::string all;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ASSIGN_OR_RETURN(std::string one, within(columns[i].back().type, file[i], i));
    all += (i == 0 ? "" : " AND ") + one;
  }
  ASSIGN_OR_RETURN(auto rows, connection.execute("SELECT 1 FROM keys WHERE " + all + " LIMIT 1"));
  return rows.next();
}

}  // namespace

Result<std::vector<std::size_t>> may_match(base::duckdb::Engine& engine, const DeleteKeys& keys,
                                           const std::vector<const DataFile*>& files,
                                           std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  auto read =
      connection.execute("CREATE TEMP TABLE keys AS SELECT DISTINCT * FROM (" + keys.sql + ")");
  if (!read) return as_foreign(std::move(read).error());
  ASSIGN_OR_RETURN(auto of_keys, extents_of_keys(connection, keys.columns));
  std::vector<std::size_t> matching;
  if (!of_keys) return matching;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<Extent> of_file;
    bool possible = true;
    for (std::size_t k = 0; k < keys.columns.size(); ++k) {
      of_file.push_back(extent_in(*files[i], keys.columns[k]));
      possible = possible && !apart((*of_keys)[k], of_file.back());
    }
    if (!possible) continue;
    ASSIGN_OR_RETURN(bool has_key, has_key_within(connection, keys.columns, of_file));
    if (has_key) matching.push_back(i);
  }
  return matching;
}

}  // namespace lake::exporter
