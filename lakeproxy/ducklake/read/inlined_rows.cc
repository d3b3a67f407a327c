#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "base/json/json.h"
#include "lakeproxy/ducklake/read/change_rows.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using base::pg::Rows;
using model::SnapshotId;
using model::TypeKind;
using Values = std::vector<std::optional<std::string>>;

base::Error bad_rows(std::int64_t schema_version) {
  return fail(
      ErrorKind::kCorrupt,
      fmt::format("rows inlined at schema version {} do not fit their columns", schema_version));
}

// The snapshot from which on the table had its columns of that version.
std::optional<SnapshotId> begin_of(std::int64_t schema_version, const Rows& versions) {
  std::optional<SnapshotId> begin;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (versions.int64(i, 0) <= schema_version) begin = SnapshotId(versions.int64(i, 1));
  }
  return begin;
}

// One table of PostgreSQL: its columns there, and which of them are shown.
struct Layout {
  std::vector<const model::Field*> held;  ///< Null for a column that is not shown.
  model::LakeTypes lake_types;
};

Result<Layout> layout_of(std::int64_t version, const Rows& versions,
                         const std::vector<LakeColumn>& columns, const model::LakeTable& table) {
  auto at = begin_of(version, versions);
  if (!at) return bad_rows(version);
  auto next = table.schema_at.upper_bound(*at);
  if (next == table.schema_at.begin()) return bad_rows(version);
  const model::Schema* schema = table.metadata.find_schema(std::prev(next)->second);
  if (schema == nullptr) return bad_rows(version);
  std::vector<const LakeColumn*> shown;
  for (const LakeColumn& column : columns) {
    if (!column.parent && column.shown_at(*at)) shown.push_back(&column);
  }
  std::ranges::sort(shown, {}, [](const LakeColumn* c) { return std::pair(c->order, c->id); });
  Layout layout{.lake_types = lake_types_at(columns, *at)};
  for (const LakeColumn* column : shown) layout.held.push_back(schema->find(column->id));
  return layout;
}

// DuckDB spells these two numbers otherwise than PostgreSQL.
std::string duckdb_text(std::string text, TypeKind kind) {
  if (kind != TypeKind::kFloat && kind != TypeKind::kDouble) return text;
  if (text == "NaN") return "nan";
  if (text == "Infinity") return "inf";
  if (text == "-Infinity") return "-inf";
  return text;
}

std::optional<std::string> bytes_of(const base::json::Value& value) {
  const base::json::Value* hex =
      value.is_object() ? value.as_object().if_contains("bytes") : nullptr;
  if (hex == nullptr || !hex->is_string()) return std::nullopt;
  return base::from_hex(std::string_view(hex->as_string()));
}

Result<Values> values_of(std::string_view text, const Layout& layout, std::int64_t version) {
  ASSIGN_OR_RETURN(auto json, base::json::parse(text));
  if (!json.is_array() || json.as_array().size() != layout.held.size()) return bad_rows(version);
  Values values;
  for (std::size_t i = 0; i < layout.held.size(); ++i) {
    if (layout.held[i] == nullptr) continue;
    const base::json::Value& value = json.as_array()[i];
    if (value.is_null()) {
      values.emplace_back();
    } else if (value.is_string()) {
      values.emplace_back(duckdb_text(std::string(value.as_string()), layout.held[i]->type.kind()));
    } else if (auto bytes = bytes_of(value)) {
      values.emplace_back(std::move(*bytes));
    } else {
      return bad_rows(version);
    }
  }
  return values;
}

// Of each group of rows that began together: the last snapshot that shows one of them.
std::map<SnapshotId, SnapshotId> last_shown(const model::LakeInlinedTable& inlined,
                                            SnapshotId newest) {
  std::map<SnapshotId, SnapshotId> last;
  for (const auto& row : inlined.rows) {
    const SnapshotId until = row.end ? SnapshotId(row.end->value - 1) : newest;
    auto [at, is_new] = last.try_emplace(row.begin, until);
    if (!is_new) at->second = std::max(at->second, until);
  }
  for (auto& [begin, until] : last) until = std::max(begin, std::min(until, newest));
  return last;
}

}  // namespace

Result<std::vector<model::LakeInlinedTable>> read_inlined_rows(
    const Rows& rows, const Rows& schema_versions, const LakeColumns& columns,
    const CopyRules& rules, SnapshotId newest, const model::LakeTable& table) {
  std::vector<model::LakeInlinedTable> tables;
  Layout layout;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t version = rows.int64(i, 0);
    if (tables.empty() || tables.back().schema_version != version) {
      ASSIGN_OR_RETURN(layout, layout_of(version, schema_versions, columns.columns, table));
      tables.push_back({.schema_version = version, .lake_types = layout.lake_types});
      for (const model::Field* field : layout.held) {
        if (field != nullptr) tables.back().columns.push_back(*field);
      }
    }
    model::LakeInlinedRow row{.row_id = rows.int64(i, 1), .begin = SnapshotId(rows.int64(i, 2))};
    if (!rows.is_null(i, 3)) row.end = SnapshotId(rows.int64(i, 3));
    ASSIGN_OR_RETURN(row.values, values_of(rows.text(i, 4), layout, version));
    tables.back().rows.push_back(std::move(row));
  }
  for (model::LakeInlinedTable& inlined : tables) {
    const SnapshotId inserted_at = *begin_of(inlined.schema_version, schema_versions);
    for (const auto& [begin, last] : last_shown(inlined, newest)) {
      auto changed = rules.changed_in_rows(inserted_at, last);
      if (changed) inlined.changed.emplace(begin, std::move(*changed));
    }
  }
  return tables;
}

}  // namespace lake::ducklake
