#include "lakeproxy/to_iceberg/definition/old_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "lakeproxy/mapping/type_mapping.h"

namespace lake::ducklake {
namespace {

using model::Field;
using model::FieldId;
using model::SnapshotId;

// The default of an added column, where the older files would read NULL.
std::optional<OldFileRule> default_rule(const LakeColumn& first, std::optional<SnapshotId> until,
                                        ShownIn in) {
  if (!first.initial_default) return std::nullopt;
  if (in.format_version >= 3 && shape_of(first.type) == LakeTypeShape::kPrimitive) {
    auto type = iceberg_type(first.type, in);
    if (type && initial_default(first, *type)) return std::nullopt;
  }
  const char* way_out = until ? "expire the snapshots that have the column"
                              : "drop the column and expire the snapshots that have it, or "
                                "rewrite the older files and expire theirs";
  return OldFileRule{first.begin,
                     fmt::format("column '{}' was added with a default, and files written before "
                                 "that do not hold it: this needs format version 3, or {}",
                                 first.name, way_out),
                     first.id, until};
}

void add_type_rules(const std::vector<const LakeColumn*>& spans, ShownIn in,
                    std::vector<OldFileRule>& rules) {
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const LakeColumn& before = *spans[i - 1];
    const LakeColumn& after = *spans[i];
    if (before.type == after.type || shape_of(after.type) != LakeTypeShape::kPrimitive) continue;
    auto from = iceberg_type(before.type, in);
    auto to = iceberg_type(after.type, in);
    if (from && to && can_promote(*from, *to)) continue;
    rules.push_back({after.begin,
                     fmt::format("column '{}' changed from {} to {}, which Iceberg readers cannot "
                                 "follow in files written before that: rewrite the older files "
                                 "and expire their snapshots",
                                 after.name, before.type, after.type),
                     std::nullopt, spans.back()->end});
  }
}

OldFileRule geography_rule(const std::vector<const LakeColumn*>& spans, SnapshotId from) {
  return {
      .before = from,
      .message = fmt::format("column '{}' is a geography, and files that DuckDB writes say that "
                             "it is a geometry: let copies be made, or delete the rows that "
                             "DuckDB wrote and expire their snapshots",
                             spans.back()->name),
      .until = spans.back()->end,
      .is_of_duckdbs_files = true};
}

void take_geographies(const std::vector<Field>& fields, SnapshotId from, GeographySpans& found) {
  for (const Field& field : fields) {
    if (!field.type.is_primitive()) {
      take_geographies(field.type.children(), from, found);
    } else if (field.type.kind() == model::TypeKind::kGeography) {
      found[field.id].insert_or_assign(from, field.type);
    } else if (auto spans = found.find(field.id); spans != found.end()) {
      spans->second.insert_or_assign(from, std::nullopt);
    }
  }
}

}  // namespace

GeographySpans geographies_of(const model::LakeTable& table) {
  GeographySpans found;
  for (const auto& [from, schema_id] : table.schema_at) {
    const model::Schema* schema = table.metadata.find_schema(schema_id);
    if (schema != nullptr) take_geographies(schema->fields, from, found);
  }
  return found;
}

ColumnSpans spans_of(const LakeColumns& columns) {
  ColumnSpans rows;
  for (const LakeColumn& column : columns.columns) rows[column.id].push_back(&column);
  for (auto& [id, spans] : rows) std::ranges::sort(spans, {}, &LakeColumn::begin);
  return rows;
}

bool can_show(const LakeColumn& column, ShownIn in) {
  return shape_of(column.type) != LakeTypeShape::kPrimitive ||
         iceberg_type(column.type, in).has_value();
}

std::set<FieldId> gone_and_unshowable(const ColumnSpans& rows, ShownIn in) {
  std::set<FieldId> ids;
  for (const auto& [id, spans] : rows) {
    const bool lives = std::ranges::any_of(spans, [](const auto* span) { return !span->end; });
    const bool shown =
        std::ranges::all_of(spans, [&](const auto* span) { return can_show(*span, in); });
    if (!lives && !shown) ids.insert(id);
  }
  return ids;
}

// Of a column that is gone as well: older snapshots have it.
std::vector<OldFileRule> old_file_rules(const LakeColumns& columns,
                                        const GeographySpans& geographies) {
  const ColumnSpans rows = spans_of(columns);
  const std::set<FieldId> left_out = gone_and_unshowable(rows, columns.shown_in());
  std::vector<OldFileRule> rules;
  for (const auto& [id, spans] : rows) {
    if (left_out.contains(id)) continue;
    auto rule = default_rule(*spans.front(), spans.back()->end, columns.shown_in());
    if (rule) rules.push_back(std::move(*rule));
    add_type_rules(spans, columns.shown_in(), rules);
    auto geography = geographies.find(id);
    if (geography == geographies.end()) continue;
    rules.push_back(geography_rule(spans, geography->second.begin()->first));
  }
  return rules;
}

}  // namespace lake::ducklake
