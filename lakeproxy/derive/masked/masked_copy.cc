#include "lakeproxy/derive/masked/masked_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "base/duckdb/sql_text.h"
#include "lakeproxy/derive/masked/raw_value.h"
#include "lakeproxy/engine/parquet/engine_schema.h"
#include "lakeproxy/engine/parquet/foreign_parquet.h"

namespace lake::exporter {
namespace {

using base::ErrorKind;
using base::fail;
using base::duckdb::Connection;
using base::duckdb::quote_identifier;
using base::duckdb::quote_literal;

// Source: Iceberg table specification, "Reserved Field IDs".
constexpr model::FieldId kRowId = 2147483540;
constexpr model::FieldId kRowSequence = 2147483539;
constexpr std::string_view kRowIdName = "_row_id";
constexpr std::string_view kRowSequenceName = "_last_updated_sequence_number";

model::Field reserved(model::FieldId id, std::string_view name) {
  return {.id = id, .name = std::string(name), .type = model::Type(model::TypeKind::kLong)};
}

// Nothing of the engine's words is kept but their kind: the rest may show a value.
base::Error without_values(const base::Error& error) {
  switch (error.kind()) {
    case ErrorKind::kTooLarge:
    case ErrorKind::kTimeout:
    case ErrorKind::kCancelled: return fail(error.kind(), error.message());
    default: break;
  }
  const std::string_view words = error.detail();
  return fail(ErrorKind::kCorrupt,
              "a mask or row filter fails on a row, or the file cannot be read")
      .with_detail(std::string(words.substr(0, std::min<std::size_t>(words.find(':'), 64))));
}

base::Status note_deleted(Connection& connection, const std::vector<std::int64_t>& deleted) {
  RETURN_IF_ERROR(connection.execute("CREATE TEMP TABLE deleted (pos BIGINT)"));
  ASSIGN_OR_RETURN(auto appender, connection.append_to("deleted"));
  for (std::int64_t position : deleted) {
    const std::array<base::duckdb::Param, 1> row{position};
    RETURN_IF_ERROR(appender.append(row));
  }
  return appender.finish();
}

/// The two selects of the statement: raw values under the table's names, and what is left of them.
struct Selection {
  std::string raw;
  std::string masked;
  std::vector<model::Field> fields;

  void add(std::string_view expression, std::string_view result, const model::Field& field) {
    const std::string name = quote_identifier(field.name);
    if (!fields.empty()) {
      raw += ", ";
      masked += ", ";
    }
    raw += fmt::format("{} AS {}", expression, name);
    masked += fmt::format("{} AS {}", result, name);
    fields.push_back(field);
  }
};

/// SQL for a column of the copy: raw, over the file's columns; and what is left of that, over the
/// raw ones by the table's names.
struct ColumnSql {
  std::string raw;
  std::string masked;
};

base::Result<ColumnSql> column_sql(const MaskedColumn& column, const ParquetNode& root,
                                   const RowOrigin& origin) {
  const model::Field& field = column.field;
  auto held = std::ranges::find(root.children, field.id, &ParquetNode::field_id);
  const ParquetNode* node = held == root.children.end() ? nullptr : &*held;
  if (node == nullptr &&
      std::ranges::find(origin.path_columns, field.id) != origin.path_columns.end()) {
    return fail(ErrorKind::kUnsupported,
                fmt::format("column '{}': its values stand in the file's path alone", field.name));
  }
  auto raw = raw_value(field, node);
  if (!raw) {
    return std::move(raw).error().with_context(
        fmt::format("column '{}'", base::for_terminal(field.name)));
  }
  std::string masked = quote_identifier(field.name);
  if (column.mask) {
    ASSIGN_OR_RETURN(std::string type, engine_type(field.type));
    masked = fmt::format("CAST(({}) AS {})", *column.mask, type);
  }
  return ColumnSql{std::move(*raw), std::move(masked)};
}

// Where rows are left out, a row's place no longer says its id.
void add_lineage(const ParquetNode& root, const RowOrigin& origin, Selection& selection) {
  if (!origin.first_row_id) return;
  auto add = [&](model::FieldId id, std::string_view name, const std::string& otherwise) {
    const ParquetNode* own = find_reserved(root, id, name);
    const model::Field field = reserved(id, name);
    const std::string value = own == nullptr ? otherwise
                                             : fmt::format("coalesce(CAST({} AS BIGINT), {})",
                                                           quote_identifier(own->name), otherwise);
    selection.add(value, quote_identifier(name), field);
  };
  add(kRowId, kRowIdName, fmt::format("{} + file_row_number", *origin.first_row_id));
  add(kRowSequence, kRowSequenceName, fmt::format("{}", origin.sequence_number));
}

std::string where(const std::vector<std::string>& filters) {
  std::string all;
  for (const std::string& filter : filters) {
    all += all.empty() ? " WHERE (" : " AND (";
    all += filter + ")";
  }
  return all;
}

// The rows of a file that were not deleted; with `looked_at`, among so many of its first. The
// engine knows where a row group's numbers begin, so it touches none behind them.
base::Result<std::string> rows_left(Connection& connection, const std::string& path,
                                    const RowOrigin& origin,
                                    std::optional<std::int64_t> looked_at) {
  std::string rows =
      fmt::format("read_parquet({}, file_row_number = true, hive_partitioning = false) WHERE true",
                  quote_literal(path));
  if (looked_at) rows += fmt::format(" AND file_row_number < {}", *looked_at);
  if (origin.deleted.empty()) return rows;
  RETURN_IF_ERROR(note_deleted(connection, origin.deleted));
  return rows + " AND file_row_number NOT IN (SELECT pos FROM deleted)";
}

// The parts in the order in which the engine has numbered them.
base::Result<std::vector<WrittenPart>> written_parts(Connection& connection,
                                                     const std::string& folder) {
  ASSIGN_OR_RETURN(
      auto rows, connection.execute(fmt::format(
                     "SELECT file_name, CAST(num_rows AS BIGINT) FROM parquet_file_metadata({}) "
                     "ORDER BY CAST(regexp_extract(file_name, '([0-9]+)[.]parquet$', 1) AS BIGINT)",
                     quote_literal(folder + "/*.parquet"))));
  std::vector<WrittenPart> parts;
  for (;;) {
    ASSIGN_OR_RETURN(bool more, rows.next());
    if (!more) break;
    parts.push_back({std::string(rows.bytes(0)), rows.int64(1)});
  }
  if (parts.empty()) return fail(ErrorKind::kInternal, "the engine wrote no file");
  return parts;
}

// A value as text, cut. Over a column that is named so.
std::string cut_text(const std::string& name, std::size_t characters) {
  return fmt::format("CASE WHEN length({0}) > {1} THEN left({0}, {1}) || {2} ELSE {0} END", name,
                     characters, quote_literal(kCut));
}

}  // namespace

base::Result<std::vector<WrittenPart>> write_masked_copy(
    base::duckdb::Engine& engine, const std::string& from, const std::string& folder,
    const MaskRules& rules, const RowOrigin& origin, std::int64_t part_bytes,
    std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  ASSIGN_OR_RETURN(ParquetNode root, read_parquet_tree(connection, from));
  if (!has_field_ids(root)) {
    return fail(ErrorKind::kUnsupported,
                "the file has no field ids: compact the table, so that it is written anew");
  }
  Selection selection;
  for (const MaskedColumn& column : rules.columns) {
    ASSIGN_OR_RETURN(const ColumnSql sql, column_sql(column, root, origin));
    selection.add(sql.raw, sql.masked, column.field);
  }
  add_lineage(root, origin, selection);
  ASSIGN_OR_RETURN(std::string field_ids, engine_field_ids(selection.fields));
  ASSIGN_OR_RETURN(std::string rows, rows_left(connection, from, origin, std::nullopt));
  auto made = connection.execute(fmt::format(
      "COPY (SELECT {} FROM (SELECT {} FROM {}){}) TO {} (FORMAT parquet, COMPRESSION zstd, "
      "FIELD_IDS {}, FILE_SIZE_BYTES {}, FILENAME_PATTERN 'part_{{i}}')",
      selection.masked, selection.raw, rows, where(rules.filters), quote_literal(folder), field_ids,
      part_bytes));
  if (!made) return without_values(made.error());
  return written_parts(connection, folder);
}

base::Result<FirstRows> read_first_rows(base::duckdb::Engine& engine, const std::string& path,
                                        const ParquetNode& root, const MaskRules& rules,
                                        const RowOrigin& origin, const FirstRowsBounds& bounds,
                                        std::chrono::steady_clock::time_point deadline) {
  ASSIGN_OR_RETURN(auto connection, engine.connect());
  connection.set_deadline(deadline);
  FirstRows first;
  std::string raw;
  std::string values;
  std::string texts;
  for (const MaskedColumn& column : rules.columns) {
    auto sql = column_sql(column, root, origin);
    if (!sql && sql.error().kind() != ErrorKind::kUnsupported) return std::move(sql).error();
    // Filters read columns that are not shown, too.
    if (sql) raw += fmt::format("{} AS {}, ", sql->raw, quote_identifier(column.field.name));
    if (first.shown.size() == bounds.columns) continue;
    const std::string text = fmt::format("c{}", first.shown.size());
    first.shown.push_back(sql.has_value());
    values += fmt::format("CAST({} AS VARCHAR) AS {}, ", sql ? sql->masked : "NULL", text);
    texts += cut_text(text, bounds.characters) + ", ";
  }
  ASSIGN_OR_RETURN(std::string rows, rows_left(connection, path, origin, bounds.looked_at));
  auto found = connection.execute(
      fmt::format("SELECT {}0 FROM (SELECT {}0 FROM (SELECT {}0 FROM {}){}) LIMIT {}", texts,
                  values, raw, rows, where(rules.filters), bounds.rows + 1));
  if (!found) return without_values(found.error());
  for (;;) {
    auto more = found->next();
    if (!more) return without_values(more.error());
    first.is_all = !*more && !bounds.looked_at;
    if (!*more || first.rows.size() == bounds.rows) return first;
    auto& row = first.rows.emplace_back();
    for (std::size_t i = 0; i < first.shown.size(); ++i) {
      row.push_back(found->is_null(i) ? std::nullopt : std::optional<std::string>(found->bytes(i)));
    }
  }
}

}  // namespace lake::exporter
