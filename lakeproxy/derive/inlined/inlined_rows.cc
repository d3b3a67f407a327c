#include "lakeproxy/derive/inlined/inlined_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <map>
#include <utility>

#include "base/duckdb/nested_sql.h"
#include "base/duckdb/sql_text.h"
#include "lakeproxy/derive/inlined/nested_text.h"
#include "lakeproxy/derive/readable/readable_copy.h"
#include "lakeproxy/engine/files/scratch.h"
#include "lakeproxy/engine/parquet/engine_schema.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::Blob;
using base::duckdb::Connection;
using base::duckdb::map_key;
using base::duckdb::map_value;
using base::duckdb::Null;
using base::duckdb::Param;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;
using base::duckdb::rebuilt_list;
using base::duckdb::rebuilt_map;
using base::duckdb::rebuilt_struct;
using base::duckdb::struct_part;
using base::duckdb::StructPart;
using base::duckdb::Text;
using model::Field;
using model::TypeKind;

bool is_bytes(const Field& field) {
  return field.type.kind() == TypeKind::kBinary || field.type.kind() == TypeKind::kFixed;
}

bool is_floating(const Field& field) {
  return field.type.kind() == TypeKind::kFloat || field.type.kind() == TypeKind::kDouble;
}

// The engine's word for bad input, in the lake's words: what it was given
// came out of the lake's tables.
base::Error as_corrupt(base::Error error, const char* message) {
  if (error.kind() != ErrorKind::kInvalid) return error;
  return fail(ErrorKind::kCorrupt, message).with_detail(error.detail());
}

// The values as PostgreSQL gives them: text, and bytes for binary columns.
base::Status stage(Connection& connection, const materialize::InlinedGroup& group) {
  std::string columns;
  for (std::size_t i = 0; i < group.columns.size(); ++i) {
    if (i > 0) columns += ", ";
    columns += fmt::format("c{} {}", i, is_bytes(group.columns[i]) ? "BLOB" : "VARCHAR");
  }
  RETURN_IF_ERROR(connection.execute(fmt::format("CREATE TEMP TABLE staged ({})", columns)));
  ASSIGN_OR_RETURN(auto appender, connection.append_to("staged"));
  std::vector<std::string> nested(group.columns.size());
  for (const auto& row : group.rows) {
    if (row.values.size() != group.columns.size()) {
      return fail(ErrorKind::kCorrupt, "an inlined row does not have its table's columns");
    }
    std::vector<Param> params(row.values.size(), Null{});
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      if (!row.values[i]) continue;
      if (is_bytes(group.columns[i])) {
        params[i] = Blob{*row.values[i]};
      } else if (auto text = engine_struct_text(group.columns[i].type, *row.values[i])) {
        nested[i] = std::move(*text);
        params[i] = Text{nested[i]};
      } else {
        params[i] = Text{*row.values[i]};
      }
    }
    if (auto added = appender.append(params); !added) {
      return as_corrupt(std::move(added).error(), "an inlined value is not UTF-8");
    }
  }
  return appender.finish();
}

bool is_interval(const materialize::InlinedGroup& group, const Field& field) {
  auto held = group.lake_types.find(field.id);
  return held != group.lake_types.end() && held->second == "interval";
}

const model::CopiedColumn* change_of(const materialize::InlinedGroup& group, const Field& field) {
  auto found = std::ranges::find(group.changed, field.id, &model::CopiedColumn::id);
  return found == group.changed.end() ? nullptr : &*found;
}

// Whether clients see another value than the one of the lake's type.
bool is_converted(const materialize::InlinedGroup& group, const Field& field) {
  if (field.type.is_primitive()) return is_interval(group, field) || change_of(group, field);
  return std::ranges::any_of(field.type.children(),
                             [&](const Field& child) { return is_converted(group, child); });
}

std::string converted(const model::CopiedColumn* change, const std::string& type,
                      const std::string& value) {
  const bool is_text = change == nullptr || change->to.kind() == TypeKind::kString;
  if (is_text && (change == nullptr || change->from == "interval")) return interval_text(value);
  return fmt::format("CAST({} AS {})", value, type);
}

// `value`, of the engine's type, as clients see it: its intervals as texts, and what an ALTER has
// changed since in the type of now.
base::Result<std::string> shown_value(const materialize::InlinedGroup& group, const Field& field,
                                      const std::string& value, int depth = 0) {
  if (!is_converted(group, field)) return value;
  if (field.type.is_primitive()) {
    const model::CopiedColumn* change = change_of(group, field);
    if (change == nullptr) return converted(nullptr, "", value);
    ASSIGN_OR_RETURN(const std::string type, engine_type(change->to));
    return converted(change, type, value);
  }
  const auto& children = field.type.children();
  const std::string item = fmt::format("e{}", depth);
  if (field.type.kind() == TypeKind::kList) {
    ASSIGN_OR_RETURN(std::string element, shown_value(group, children[0], item, depth + 1));
    return rebuilt_list(value, item, element);
  }
  if (field.type.kind() == TypeKind::kMap) {
    ASSIGN_OR_RETURN(std::string key, shown_value(group, children[0], map_key(item), depth + 1));
    ASSIGN_OR_RETURN(std::string held, shown_value(group, children[1], map_value(item), depth + 1));
    return rebuilt_map(value, item, key, held);
  }
  std::vector<StructPart> parts;
  for (const Field& child : children) {
    ASSIGN_OR_RETURN(std::string shown,
                     shown_value(group, child, struct_part(value, child.name), depth + 1));
    parts.push_back({.name = child.name, .value = std::move(shown)});
  }
  return rebuilt_struct(value, parts);
}

// The columns of the file, and the lake's types of those that are written in one.
struct Written {
  std::vector<Field> columns;
  model::LakeTypes lake_types;
};

Field as_shown(const materialize::InlinedGroup& group, Field field) {
  if (field.type.is_primitive()) {
    if (const model::CopiedColumn* change = change_of(group, field)) field.type = change->to;
    return field;
  }
  std::vector<Field> parts;
  for (const Field& child : field.type.children()) parts.push_back(as_shown(group, child));
  switch (field.type.kind()) {
    case TypeKind::kList:
      field.type = model::Type::list(parts[0].id, parts[0].type, parts[0].required);
      break;
    case TypeKind::kMap:
      field.type = model::Type::map(parts[0].id, parts[0].type, parts[1].id, parts[1].type,
                                    parts[1].required);
      break;
    default: field.type = model::Type::structure(std::move(parts)); break;
  }
  return field;
}

// A column may have the name of one that came later: clients go by the ids.
std::string free_name(const model::CopiedColumn& column, const std::vector<Field>& columns) {
  std::string name = column.name;
  while (std::ranges::any_of(
      columns, [&](const Field& field) { return boost::algorithm::iequals(field.name, name); })) {
    name += fmt::format("_{}", column.id);
  }
  return name;
}

Written written_of(const materialize::InlinedGroup& group) {
  Written written{.lake_types = group.lake_types};
  std::erase_if(written.lake_types, [](const auto& held) { return held.second == "interval"; });
  for (const auto& change : group.changed) written.lake_types.erase(change.id);
  for (const Field& field : group.columns) written.columns.push_back(as_shown(group, field));
  for (const auto& change : group.changed) {
    if (!change.constant) continue;
    written.columns.push_back(
        Field{.id = change.id, .name = free_name(change, written.columns), .type = change.to});
  }
  return written;
}

base::Result<std::string> constant_value(const model::CopiedColumn& change) {
  std::string value = quote_literal(*change.constant);
  if (change.from == "interval") value = fmt::format("CAST({} AS INTERVAL)", value);
  ASSIGN_OR_RETURN(const std::string type, engine_type(change.to));
  return converted(&change, type, value);
}

// An empty table first: an error here is the columns', a later one a value's.
base::Status make_typed(Connection& connection, const materialize::InlinedGroup& group,
                        const Written& written) {
  const std::vector<Field>& columns = written.columns;
  std::string definitions;
  std::string values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    auto type = engine_type(columns[i], written.lake_types);
    if (!type) {
      return std::move(type).error().with_context(fmt::format("column '{}'", columns[i].name));
    }
    if (i > 0) definitions += ", ";
    if (i > 0 && i < group.columns.size()) values += ", ";
    definitions += quote_identifier(columns[i].name) + ' ' + *type;
    if (i >= group.columns.size()) continue;
    const Field& held = group.columns[i];
    ASSIGN_OR_RETURN(const std::string held_type, engine_type(held, group.lake_types));
    std::string text = fmt::format("c{}", i);
    // PostgreSQL writes "-1 mons +1 day", and the engine reads no plus sign.
    if (is_interval(group, held)) text = fmt::format("replace({}, '+', '')", text);
    ASSIGN_OR_RETURN(std::string shown,
                     shown_value(group, held, fmt::format("CAST({} AS {})", text, held_type)));
    values += shown;
  }
  for (const auto& change : group.changed) {
    if (!change.constant) continue;
    ASSIGN_OR_RETURN(std::string value, constant_value(change));
    values += ", " + value;
  }
  auto made = connection.execute(fmt::format("CREATE TEMP TABLE typed ({})", definitions));
  if (!made && made.error().kind() == ErrorKind::kInvalid) {
    return fail(ErrorKind::kUnsupported, "the engine cannot have columns of these names")
        .with_detail(made.error().detail());
  }
  RETURN_IF_ERROR(std::move(made));
  auto filled = connection.execute(fmt::format("INSERT INTO typed SELECT {} FROM staged", values));
  if (!filled) {
    return as_corrupt(std::move(filled).error(),
                      "an inlined value is not one of its column's type");
  }
  RETURN_IF_ERROR(connection.execute("DROP TABLE staged"));
  return {};
}

// How a value of the lake's type compares once a client reads it from the file.
enum class Extremes : std::uint8_t {
  kOfValues,
  kOfDoubles,  // Of numbers that are written as doubles.
  kNone,       // Of times whose order is another in UTC.
};

Extremes extremes_of(const Written& written, const Field& field) {
  auto held = written.lake_types.find(field.id);
  if (held == written.lake_types.end()) return Extremes::kOfValues;
  if (held->second == "int128" || held->second == "uint128") return Extremes::kOfDoubles;
  return held->second == "timetz" ? Extremes::kNone : Extremes::kOfValues;
}

// Smallest and largest value of `name` as DuckLake writes them, as text.
std::string extreme(std::string_view function, const Field& field, const std::string& name,
                    Extremes extremes) {
  if (extremes == Extremes::kNone) return "CAST(NULL AS VARCHAR)";
  if (extremes == Extremes::kOfDoubles) {
    return fmt::format("CAST(CAST({}({}) AS DOUBLE) AS VARCHAR)", function, name);
  }
  if (is_bytes(field)) return fmt::format("hex({}({}))", function, name);
  if (!is_floating(field)) return fmt::format("CAST({}({}) AS VARCHAR)", function, name);
  return fmt::format("CAST({0}({1}) FILTER (WHERE NOT isnan({1})) AS VARCHAR)", function, name);
}

// Five expressions for each column: values, nulls, NaNs, extremes.
constexpr std::size_t kExpressions = 5;

std::string stats_expressions(const Field& field, Extremes extremes) {
  std::string name = quote_identifier(field.name);
  const bool has_nans = is_floating(field) && extremes == Extremes::kOfValues;
  std::string nans =
      has_nans ? fmt::format("count({0}) FILTER (WHERE isnan({0}))", name) : "CAST(0 AS BIGINT)";
  return fmt::format("count({0}), count(*) - count({0}), {1}, {2}, {3}", name, nans,
                     extreme("min", field, name, extremes), extreme("max", field, name, extremes));
}

model::LakeColumnStats read_stats(const base::duckdb::Rows& row, std::size_t first,
                                  const Field& field) {
  model::LakeColumnStats stats{.column_id = field.id};
  stats.value_count = row.int64(first);
  stats.null_count = row.int64(first + 1);
  if (is_floating(field)) {
    stats.nan_count = row.int64(first + 2);
    stats.contains_nan = *stats.nan_count > 0;
  }
  if (!row.is_null(first + 3)) stats.min_value = std::string(row.bytes(first + 3));
  if (!row.is_null(first + 4)) stats.max_value = std::string(row.bytes(first + 4));
  return stats;
}

// Compressed bytes by the leaf's place in the file.
base::Result<std::map<std::int64_t, std::int64_t>> leaf_sizes(Connection& connection,
                                                              const std::string& path) {
  ASSIGN_OR_RETURN(auto rows,
                   connection.execute(fmt::format("SELECT CAST(column_id AS BIGINT), "
                                                  "CAST(sum(total_compressed_size) AS BIGINT) "
                                                  "FROM parquet_metadata({}) GROUP BY 1",
                                                  quote_literal(path))));
  std::map<std::int64_t, std::int64_t> sizes;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows.next());
    if (!more) return sizes;
    sizes[rows.int64(0)] = rows.int64(1);
  }
}

std::int64_t count_leaves(const model::Type& type) {
  if (type.is_primitive()) return 1;
  std::int64_t count = 0;
  for (const auto& child : type.children()) count += count_leaves(child.type);
  return count;
}

base::Result<std::vector<model::LakeColumnStats>> all_stats(Connection& connection,
                                                            const Written& written,
                                                            const std::string& path) {
  const std::vector<Field>& columns = written.columns;
  std::string expressions;
  for (const Field& field : columns) {
    if (!field.type.is_primitive()) continue;
    if (!expressions.empty()) expressions += ", ";
    expressions += stats_expressions(field, extremes_of(written, field));
  }
  if (expressions.empty()) return std::vector<model::LakeColumnStats>{};
  ASSIGN_OR_RETURN(auto sizes, leaf_sizes(connection, path));
  ASSIGN_OR_RETURN(auto row, connection.execute(fmt::format("SELECT {} FROM typed", expressions)));
  ASSIGN_OR_RETURN(bool one, row.next());
  if (!one) return fail(ErrorKind::kInternal, "the engine gave no statistics");
  std::vector<model::LakeColumnStats> stats;
  std::int64_t leaf = 0;
  for (const Field& field : columns) {
    if (field.type.is_primitive()) {
      stats.push_back(read_stats(row, stats.size() * kExpressions, field));
      if (auto size = sizes.find(leaf); size != sizes.end()) {
        stats.back().column_size_bytes = size->second;
      }
    }
    leaf += count_leaves(field.type);
  }
  return stats;
}

}  // namespace

base::Result<InlinedFile> write_inlined_rows(base::duckdb::Engine& engine,
                                             const materialize::InlinedGroup& group,
                                             std::chrono::steady_clock::time_point deadline) {
  if (group.columns.empty()) {
    return fail(ErrorKind::kUnsupported, "rows without columns cannot be written as Parquet");
  }
  const Written written = written_of(group);
  ASSIGN_OR_RETURN(std::string field_ids, engine_field_ids(written.columns));
  ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::make(engine.scratch_dir()));
  ASSIGN_OR_RETURN(Connection connection, engine.connect());
  connection.set_deadline(deadline);
  RETURN_IF_ERROR(stage(connection, group));
  RETURN_IF_ERROR(make_typed(connection, group, written));
  std::string path = scratch.file("rows.parquet");
  RETURN_IF_ERROR(connection.execute(
      fmt::format("COPY typed TO {} (FORMAT parquet, COMPRESSION zstd, FIELD_IDS {})",
                  quote_literal(path), field_ids)));
  InlinedFile file;
  ASSIGN_OR_RETURN(file.stats, all_stats(connection, written, path));
  ASSIGN_OR_RETURN(file.bytes, read_file(path));
  file.record_count = static_cast<std::int64_t>(group.rows.size());
  return file;
}

}  // namespace lake::exporter
