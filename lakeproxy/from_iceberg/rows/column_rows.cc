#include "lakeproxy/from_iceberg/rows/column_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lakeproxy/mapping/default_text.h"
#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using base::pg::array_param;
using base::pg::param;

constexpr std::string_view kReserved = "_ducklake_";

// DuckLake numbers a column by its id, and does so again when it renames one.
// So do we, as long as the numbers of neighbours rise; else two of them could
// get one number, and each client its own order of the two.
std::int64_t next_order(std::int64_t wanted, std::int64_t& last) {
  last = std::max(wanted, last + 1);
  return last;
}

base::Status set_defaults(const model::Field& field, const model::Field* before, ColumnRow& row) {
  const bool is_new = before == nullptr;
  if (row.parent && (field.initial_default || field.write_default)) {
    return base::fail(base::ErrorKind::kUnsupported,
                      "column " + field.name + ": the lake has defaults for whole columns alone");
  }
  if (is_new && field.initial_default) {
    ASSIGN_OR_RETURN(row.initial_default, default_text(field, *field.initial_default));
  }
  if (field.write_default && (is_new || before->write_default != field.write_default)) {
    ASSIGN_OR_RETURN(row.default_value, default_text(field, *field.write_default));
  }
  if (!field.write_default && !is_new && before->write_default) row.default_value = kNoDefault;
  return {};
}

// DuckDB (1.5.5) does not find a table without columns, and cannot attach a lake
// in which a struct has no fields.
base::Status check_not_empty(const model::Schema& schema) {
  if (!schema.fields.empty()) return {};
  return base::fail(base::ErrorKind::kUnsupported,
                    "a schema without columns: a table of the lake has at least one");
}

base::Status check_not_empty(const model::Field& field) {
  if (field.type.kind() != model::TypeKind::kStruct || !field.type.children().empty()) return {};
  return base::fail(
      base::ErrorKind::kUnsupported,
      "column " + field.name + ": a struct without fields: one of the lake has at least one");
}

base::Status add_rows(const std::vector<model::Field>& fields, std::optional<model::FieldId> parent,
                      const model::Schema* before, std::vector<ColumnRow>& rows) {
  std::int64_t last = 0;
  for (const model::Field& field : fields) {
    RETURN_IF_ERROR(check_not_empty(field));
    auto lake = lake_type(field.type);
    if (!lake) return std::move(lake).error().with_context("column " + field.name);
    std::string type = std::move(*lake);
    rows.push_back(
        {field.id, next_order(field.id, last), field.name, type, !field.required, parent});
    RETURN_IF_ERROR(
        set_defaults(field, before != nullptr ? before->find(field.id) : nullptr, rows.back()));
    if (!field.type.is_primitive())
      RETURN_IF_ERROR(add_rows(field.type.children(), field.id, before, rows));
  }
  return {};
}

// Keeps the lake's order numbers where they already rise, so that adding a
// column at the end touches no other row.
void keep_orders(const std::map<model::FieldId, ColumnRow>& current,
                 std::vector<ColumnRow>& wanted) {
  std::map<std::optional<model::FieldId>, std::int64_t> last;
  for (ColumnRow& row : wanted) {
    auto held = current.find(row.id);
    row.order = next_order(held == current.end() ? row.id : held->second.order, last[row.parent]);
  }
}

// PostgreSQL's type for a small insert's value.
// Source: seen with DuckDB 1.5.5 on PostgreSQL.
std::optional<std::string> inlined_type(const std::string& type) {
  static const std::map<std::string, std::string> kTypes = {
      {"boolean", "boolean"},   {"int8", "smallint"},
      {"int16", "smallint"},    {"int32", "integer"},
      {"int64", "bigint"},      {"uint8", "integer"},
      {"uint16", "integer"},    {"uint32", "bigint"},
      {"float32", "real"},      {"float64", "double precision"},
      {"time", "time"},         {"timetz", "time with time zone"},
      {"interval", "interval"}, {"uuid", "uuid"},
      {"varchar", "bytea"},     {"blob", "bytea"},
      {"json", "bytea"},
  };
  if (type == "variant" || type == "geometry") return std::nullopt;
  if (type.starts_with("decimal")) return type;
  auto found = kTypes.find(type);
  return found == kTypes.end() ? "varchar" : found->second;
}

// The first three columns of an inlined table are DuckDB's own, as PostgreSQL is told them.
std::string_view own_columns(model::LakeFormat format) {
  return format >= model::LakeFormat::k1_1
             ? "_ducklake_row_id bigint, _ducklake_begin_snapshot bigint, _ducklake_end_snapshot "
               "bigint"
             : "row_id bigint, begin_snapshot bigint, end_snapshot bigint";
}

bool is_reserved(std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return name.size() >= kReserved.size() &&
         std::ranges::equal(name.substr(0, kReserved.size()), kReserved, {}, lower);
}

// Whether DuckDB keeps small inserts of a table with such a column in files. PostgreSQL would
// cut a longer name.
bool is_never_inlined(std::string_view name, model::LakeFormat format) {
  constexpr std::size_t kMaxIdentifier = 63;
  if (name.size() > kMaxIdentifier) return true;
  if (format >= model::LakeFormat::k1_1) return is_reserved(name);
  return name == "row_id" || name == "begin_snapshot" || name == "end_snapshot" ||
         name == "_ducklake_internal_row_id" || name == "_ducklake_internal_snapshot_id";
}

std::string quote(const std::string& name) {
  std::string quoted = "\"";
  for (char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

base::Result<std::vector<ColumnRow>> column_rows(const model::Schema& schema,
                                                 const model::Schema* before) {
  std::vector<ColumnRow> rows;
  RETURN_IF_ERROR(check_not_empty(schema));
  RETURN_IF_ERROR(add_rows(schema.fields, std::nullopt, before, rows));
  return rows;
}

bool same_shown_type(const std::string& held, const std::string& wanted) {
  if (held == wanted) return true;
  constexpr ShownIn kEveryType{3, ReadableCopies::kOn};
  auto shown = iceberg_type(held, kEveryType);
  if (!shown) return false;
  auto type = lake_type(*shown);
  return type && *type == wanted;
}

ColumnDiff diff_columns(const std::vector<ColumnRow>& current, std::vector<ColumnRow> wanted,
                        const model::Schema& before) {
  std::map<model::FieldId, ColumnRow> held;
  for (const ColumnRow& row : current) held.emplace(row.id, row);
  keep_orders(held, wanted);
  ColumnDiff diff;
  for (ColumnRow& row : wanted) {
    auto found = held.find(row.id);
    if (found == held.end()) {
      diff.begun.push_back(row);
      continue;
    }
    if (same_shown_type(found->second.type, row.type)) row.type = found->second.type;
    // DuckDB adds and renames fields of a struct as NOT NULL and stores NULL there.
    const model::Field* shown = before.find(row.id);
    const bool is_as_shown = shown != nullptr && shown->required != row.nulls_allowed;
    if (row.parent || is_as_shown) row.nulls_allowed = found->second.nulls_allowed;
    if (!(row == found->second)) {
      diff.ended.push_back(row.id);
      diff.begun.push_back(row);
    }
    held.erase(found);
  }
  diff.after = std::move(wanted);
  for (const auto& [id, row] : held) diff.ended.push_back(id);
  return diff;
}

base::pg::Query insert_columns(const SchemaSql& sql, std::int64_t table_id, std::int64_t begin,
                               const std::vector<ColumnRow>& rows) {
  std::vector<std::int64_t> ids, orders, nulls;
  std::vector<std::optional<std::string>> names, types, parents, initial, defaults;
  for (const ColumnRow& row : rows) {
    ids.push_back(row.id);
    orders.push_back(row.order);
    nulls.push_back(row.nulls_allowed ? 1 : 0);
    names.push_back(row.name);
    types.push_back(row.type);
    parents.push_back(row.parent ? std::optional(std::to_string(*row.parent)) : std::nullopt);
    initial.push_back(row.initial_default);
    defaults.push_back(row.default_value);
  }
  return {sql("INSERT INTO @ducklake_column (column_id, begin_snapshot, end_snapshot, table_id, "
              "column_order, column_name, column_type, initial_default, default_value, "
              "nulls_allowed, parent_column, default_value_type, default_value_dialect) "
              "SELECT id, $2, NULL, $1, ord, name, type, coalesce(init, o.initial_default), "
              "coalesce(def, o.default_value, 'NULL'), nulls = 1, parent::bigint, "
              "CASE WHEN def IS NOT NULL THEN 'literal' WHEN o.default_value_type IS NOT NULL THEN "
              "o.default_value_type WHEN type IN ('struct', 'list', 'map') THEN '' "
              "ELSE 'literal' END, coalesce(o.default_value_dialect, 'duckdb') "
              "FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], "
              "$8::text[], $9::text[], $10::text[]) AS c(id, ord, name, type, nulls, parent, init, "
              "def) "
              "LEFT JOIN @ducklake_column o ON o.table_id = $1 AND o.column_id = c.id AND "
              "o.end_snapshot = $2"),
          {param(table_id), param(begin), array_param(ids), array_param(orders), array_param(names),
           array_param(types), array_param(nulls), array_param(parents), array_param(initial),
           array_param(defaults)}};
}

base::pg::Query end_columns(const SchemaSql& sql, std::int64_t table_id, std::int64_t end,
                            const std::vector<std::int64_t>& columns) {
  return {sql("UPDATE @ducklake_column SET end_snapshot = $2 WHERE table_id = $1 AND "
              "end_snapshot IS NULL AND column_id = ANY($3::bigint[])"),
          {param(table_id), param(end), array_param(columns)}};
}

base::pg::Query end_tags_of_dropped(const SchemaSql& sql, std::int64_t table_id, std::int64_t end,
                                    const ColumnDiff& diff) {
  std::vector<std::int64_t> dropped;
  for (std::int64_t id : diff.ended) {
    if (std::ranges::none_of(diff.begun, [&](const ColumnRow& row) { return row.id == id; })) {
      dropped.push_back(id);
    }
  }
  return {sql("UPDATE @ducklake_column_tag SET end_snapshot = $2 WHERE table_id = $1 AND "
              "end_snapshot IS NULL AND column_id = ANY($3::bigint[])"),
          {param(table_id), param(end), array_param(dropped)}};
}

std::vector<ColumnRow> read_columns(const base::pg::Rows& rows) {
  std::vector<ColumnRow> columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<model::FieldId> parent;
    if (!rows.is_null(i, 5)) parent = static_cast<model::FieldId>(rows.int64(i, 5));
    columns.push_back({static_cast<model::FieldId>(rows.int64(i, 0)), rows.int64(i, 1),
                       std::string(rows.text(i, 2)), std::string(rows.text(i, 3)),
                       rows.opt_boolean(i, 4).value_or(true), parent});
  }
  return columns;
}

base::Status check_names(const std::vector<ColumnRow>& rows, const model::Schema* before,
                         model::LakeFormat format) {
  if (format < model::LakeFormat::k1_1) return {};
  for (const ColumnRow& row : rows) {
    if (row.parent || !is_reserved(row.name)) continue;
    const model::Field* held = before != nullptr ? before->find(row.id) : nullptr;
    if (held != nullptr && held->name == row.name) continue;
    return base::fail(
        base::ErrorKind::kInvalid,
        fmt::format("column {}: names that begin with {} are DuckLake's own", row.name, kReserved));
  }
  return {};
}

std::vector<base::pg::Query> make_inlined_table(const SchemaSql& sql, const LakeHead& head,
                                                std::int64_t table_id,
                                                const std::vector<ColumnRow>& rows) {
  const std::int64_t schema_version = head.schema_version + 1;
  std::string name = fmt::format("ducklake_inlined_data_{}_{}", table_id, schema_version);
  std::string columns(own_columns(head.format));
  for (const ColumnRow& row : rows) {
    auto type = inlined_type(row.type);
    if (!type) return {};
    if (row.parent) continue;
    if (is_never_inlined(row.name, head.format)) return {};
    columns += ", " + quote(row.name) + " " + *type;
  }
  // DDL takes no parameters. The name is made of numbers; column names are
  // quoted; a '@' in one must not be taken for the schema.
  base::pg::Statement create = sql("CREATE TABLE @");
  create.sql += name + " (" + columns + ")";
  return {{create, {}},
          {sql("INSERT INTO @ducklake_inlined_data_tables (table_id, table_name, schema_version) "
               "VALUES ($1, $2, $3)"),
           {param(table_id), param(name), param(schema_version)}}};
}

}  // namespace lake::ducklake
