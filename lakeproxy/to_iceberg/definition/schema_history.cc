#include "lakeproxy/to_iceberg/definition/schema_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "lakeproxy/mapping/type_mapping.h"
#include "lakeproxy/to_iceberg/definition/schema_extras.h"

namespace lake::ducklake {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;
using model::Field;
using model::FieldId;
using model::Schema;
using model::SnapshotId;

using RowsById = std::map<FieldId, std::vector<const LakeColumn*>>;

RowsById rows_by_id(const LakeColumns& columns) {
  RowsById rows;
  for (const LakeColumn& column : columns.columns) rows[column.id].push_back(&column);
  for (auto& [id, spans] : rows) std::ranges::sort(spans, {}, &LakeColumn::begin);
  return rows;
}

bool can_show(const LakeColumn& column, std::int32_t format_version) {
  return shape_of(column.type) != LakeTypeShape::kPrimitive ||
         iceberg_type(column.type, format_version).has_value();
}

// Columns that are gone and that had a type which cannot be shown.
std::set<FieldId> gone_and_unshowable(const RowsById& rows, std::int32_t format_version) {
  std::set<FieldId> ids;
  for (const auto& [id, spans] : rows) {
    const bool lives = std::ranges::any_of(spans, [](const auto* span) { return !span->end; });
    const bool shown = std::ranges::all_of(
        spans, [&](const auto* span) { return can_show(*span, format_version); });
    if (!lives && !shown) ids.insert(id);
  }
  return ids;
}

// The default of an added column, where the older files would read NULL.
std::optional<OldFileRule> default_rule(const LakeColumn& first, std::optional<SnapshotId> until,
                                        std::int32_t format_version) {
  if (!first.initial_default) return std::nullopt;
  if (format_version >= 3 && shape_of(first.type) == LakeTypeShape::kPrimitive) {
    auto type = iceberg_type(first.type, format_version);
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

void add_type_rules(const std::vector<const LakeColumn*>& spans, std::int32_t format_version,
                    std::vector<OldFileRule>& rules) {
  for (std::size_t i = 1; i < spans.size(); ++i) {
    const LakeColumn& before = *spans[i - 1];
    const LakeColumn& after = *spans[i];
    if (before.type == after.type || shape_of(after.type) != LakeTypeShape::kPrimitive) continue;
    auto from = iceberg_type(before.type, format_version);
    auto to = iceberg_type(after.type, format_version);
    if (from && to && can_promote(*from, *to)) continue;
    rules.push_back({after.begin,
                     fmt::format("column '{}' changed from {} to {}, which Iceberg readers cannot "
                                 "follow in files written before that: rewrite the older files "
                                 "and expire their snapshots",
                                 after.name, before.type, after.type),
                     std::nullopt, spans.back()->end});
  }
}

// Of a column that is gone as well: older snapshots have it.
std::vector<OldFileRule> old_file_rules(const RowsById& rows, std::int32_t format_version) {
  const std::set<FieldId> left_out = gone_and_unshowable(rows, format_version);
  std::vector<OldFileRule> rules;
  for (const auto& [id, spans] : rows) {
    if (left_out.contains(id)) continue;
    auto rule = default_rule(*spans.front(), spans.back()->end, format_version);
    if (rule) rules.push_back(std::move(*rule));
    add_type_rules(spans, format_version, rules);
  }
  return rules;
}

std::set<SnapshotId> boundaries(const LakeColumns& columns,
                                const std::vector<ClientSchema>& clients) {
  std::set<SnapshotId> at;
  SnapshotId created{INT64_MAX};
  for (const LakeColumn& column : columns.columns) {
    created = std::min(created, column.begin);
    at.insert(column.begin);
    if (column.end) at.insert(*column.end);
  }
  for (const LakeColumnDoc& doc : columns.docs) {
    at.insert(doc.begin);
    if (doc.end) at.insert(*doc.end);
  }
  for (const ClientSchema& client : clients) {
    if (client.is_current) at.insert(client.begin);
  }
  at.erase(at.begin(), at.lower_bound(created));
  return at;
}

// A client sets an old schema current again under a later snapshot: the row is
// also what stood there before.
bool same_lake_schema(const std::vector<Field>& lake, const std::vector<Field>& client) {
  return same_lake_columns(lake, client) &&
         std::ranges::equal(lake, client, {}, &Field::required, &Field::required);
}

// Walks the boundaries and gives out ids.
class Walk {
 public:
  Walk(const LakeColumns& columns, const RowsById& rows, std::vector<ClientSchema> clients)
      : columns_(columns),
        rows_(rows),
        clients_(std::move(clients)),
        left_out_(gone_and_unshowable(rows, columns.format_version)) {
    std::ranges::sort(clients_, {},
                      [](const ClientSchema& c) { return std::pair(c.begin, c.schema.schema_id); });
    for (const ClientSchema& client : clients_) taken_.insert(client.schema.schema_id);
    for (const LakeColumnDoc& doc : columns.docs) documented_.insert(doc.column_id);
  }

  [[nodiscard]] base::Status step(SnapshotId at) {
    ASSIGN_OR_RETURN(std::vector<Field> fields, lake_fields(at));
    bool settled = fields.empty();
    for (; next_client_ < clients_.size() && clients_[next_client_].begin <= at; ++next_client_) {
      const ClientSchema& client = clients_[next_client_];
      list(client.schema);
      if (client.is_current && same_lake_columns(fields, client.schema.fields)) {
        make_current(at, client.schema.schema_id);
        settled = true;
      }
    }
    if (!settled) derive(at, std::move(fields));
    return {};
  }

  /// Lists what clients added after the last boundary.
  [[nodiscard]] SchemaHistory finish() && {
    for (; next_client_ < clients_.size(); ++next_client_) {
      list(clients_[next_client_].schema);
    }
    return std::move(history_);
  }

 private:
  // A living column is left out where its type cannot be shown, unless that is
  // its newest: then the table cannot be shown.
  [[nodiscard]] Result<std::vector<Field>> lake_fields(SnapshotId at) const {
    std::set<FieldId> left_out = left_out_;
    for (const auto& [id, spans] : rows_) {
      for (const LakeColumn* span : spans) {
        if (span->end && span->shown_at(at) && !can_show(*span, columns_.format_version)) {
          left_out.insert(id);
        }
      }
    }
    return fields_at(columns_, at, left_out);
  }

  void derive(SnapshotId at, std::vector<Field> fields) {
    Schema schema{.fields = std::move(fields)};
    if (!history_.schema_at.empty()) {
      take_over_extras(schema, schema_of(history_.schema_at.rbegin()->second), documented_);
    }
    for (std::int32_t id : history_.schema_at | std::views::values | std::views::reverse) {
      if (schema_of(id).same_columns(schema)) return make_current(at, id);
    }
    for (const ClientSchema& client : clients_) {
      if (!same_lake_schema(schema.fields, client.schema.fields)) continue;
      list(client.schema);
      return make_current(at, client.schema.schema_id);
    }
    schema.schema_id = next_id();
    history_.schemas.push_back(schema);
    make_current(at, schema.schema_id);
  }

  void list(const Schema& schema) {
    if (std::ranges::find(history_.schemas, schema.schema_id, &Schema::schema_id) ==
        history_.schemas.end()) {
      history_.schemas.push_back(schema);
    }
  }

  [[nodiscard]] std::int32_t next_id() const {
    std::int32_t id = -1;
    for (const Schema& schema : history_.schemas) id = std::max(id, schema.schema_id);
    for (++id; taken_.contains(id); ++id) {
    }
    return id;
  }

  [[nodiscard]] const Schema& schema_of(std::int32_t id) const {
    return *std::ranges::find(history_.schemas, id, &Schema::schema_id);
  }

  void make_current(SnapshotId at, std::int32_t id) {
    history_.schema_at[at] = id;
    history_.current_schema_id = id;
  }

  const LakeColumns& columns_;
  const RowsById& rows_;
  std::vector<ClientSchema> clients_;
  std::set<FieldId> left_out_;
  std::set<FieldId> documented_;  // The lake says, or said, what these mean.
  std::set<std::int32_t> taken_;
  std::size_t next_client_ = 0;
  SchemaHistory history_;
};

}  // namespace

Result<SchemaHistory> schema_history(const LakeColumns& columns,
                                     std::vector<ClientSchema> client_schemas) {
  const RowsById rows = rows_by_id(columns);
  const std::set<SnapshotId> at = boundaries(columns, client_schemas);
  Walk walk(columns, rows, std::move(client_schemas));
  for (SnapshotId boundary : at) RETURN_IF_ERROR(walk.step(boundary));
  SchemaHistory history = std::move(walk).finish();
  if (history.schema_at.empty()) return fail(ErrorKind::kCorrupt, "the table has no columns");
  for (const LakeColumn& column : columns.columns) {
    history.last_column_id = std::max(history.last_column_id, column.id);
  }
  for (const Schema& schema : history.schemas) {
    history.last_column_id = std::max(history.last_column_id, schema.max_field_id());
  }
  history.old_file_rules = old_file_rules(rows, columns.format_version);
  return history;
}

}  // namespace lake::ducklake
