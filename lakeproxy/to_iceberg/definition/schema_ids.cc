#include "lakeproxy/to_iceberg/definition/schema_ids.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "lakeproxy/to_iceberg/definition/old_files.h"
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

std::set<SnapshotId> boundaries(const LakeColumns& columns) {
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
  at.erase(at.begin(), at.lower_bound(created));
  return at;
}

Schema without_defaults_of(Schema schema) {
  schema.fields = without_defaults(std::move(schema.fields));
  return schema;
}

// Readers would take NULL for what the lake's older rows hold, and writers put it where the
// lake says another value.
bool lacks_default(const Schema& shown, const std::vector<Field>& lake) {
  return std::ranges::any_of(lake, [&](const Field& field) {
    const Field* known = shown.find(field.id);
    return known != nullptr && ((field.initial_default && !known->initial_default) ||
                                (field.write_default && !known->write_default));
  });
}

class Assignment {
 public:
  Assignment(const LakeColumns& columns, AssignedIds& ids)
      : columns_(columns), spans_(spans_of(columns)), ids_(ids) {
    // What was shown with such a column keeps it.
    if (ids.none()) left_out_ = gone_and_unshowable(spans_, columns.shown_in());
    for (const LakeColumnDoc& doc : columns.docs) documented_.insert(doc.column_id);
  }

  [[nodiscard]] base::Status step(SnapshotId at) {
    ASSIGN_OR_RETURN(std::vector<Field> fields, lake_fields(at));
    if (!fields.empty()) derive(at, std::move(fields));
    return {};
  }

  [[nodiscard]] base::Status check_newest() {
    const auto [at, id] = *ids_.schema_at.rbegin();
    ASSIGN_OR_RETURN(std::vector<Field> fields, lake_fields(at));
    const Schema& shown = ids_.schemas.at(id);
    if (fields.empty()) return {};
    const bool is_stale = !same_lake_columns(fields, shown.fields) ||
                          (columns_.format_version >= 3 && lacks_default(shown, fields));
    if (is_stale) derive(at, std::move(fields));
    return {};
  }

 private:
  // A living column is left out where its type cannot be shown, unless that is
  // its newest: then the table cannot be shown.
  [[nodiscard]] Result<std::vector<Field>> lake_fields(SnapshotId at) const {
    std::set<FieldId> left_out = left_out_;
    for (const auto& [id, spans] : spans_) {
      for (const LakeColumn* span : spans) {
        if (span->end && span->shown_at(at) && !can_show(*span, columns_.shown_in())) {
          left_out.insert(id);
        }
      }
    }
    return fields_at(columns_, at, left_out);
  }

  void derive(SnapshotId at, std::vector<Field> fields) {
    Schema schema{.fields = std::move(fields)};
    if (!ids_.schema_at.empty()) {
      const auto [then, id] = *ids_.schema_at.rbegin();
      const Schema& before = ids_.schemas.at(id);
      const std::set<FieldId> with_null = not_null_in_lake(columns_, then, before);
      for (Field& field : schema.fields) {
        if (with_null.contains(field.id)) field.required = false;
      }
      take_over_extras(schema, before, documented_);
    }
    ids_.schema_at[at] = find_or_add(std::move(schema));
  }

  std::int32_t find_or_add(Schema schema) {
    // The one that counted last, where several look alike.
    for (std::int32_t id : ids_.schema_at | std::views::values | std::views::reverse) {
      if (is_same(ids_.schemas.at(id), schema)) return id;
    }
    for (const auto& [id, known] : ids_.schemas) {
      if (is_same(known, schema)) return id;
    }
    schema.schema_id = highest_id(ids_.schemas) + 1;
    const std::int32_t id = schema.schema_id;
    ids_.schemas.emplace(id, std::move(schema));
    return id;
  }

  // Clients of version 2 see no defaults and give none: one alone makes no schema there.
  [[nodiscard]] bool is_same(const Schema& known, const Schema& schema) const {
    if (known.same_columns(schema)) return true;
    if (columns_.format_version >= 3) return false;
    const Schema plain = without_defaults_of(known);
    return plain == known && plain.same_columns(without_defaults_of(schema));
  }

  const LakeColumns& columns_;
  const ColumnSpans spans_;
  AssignedIds& ids_;
  std::set<FieldId> left_out_;
  std::set<FieldId> documented_;  // The lake says, or said, what these mean.
};

Field plain(Field field) {
  field.initial_default.reset();
  field.write_default.reset();
  const std::vector<Field>* parts = field.type.is_primitive() ? nullptr : &field.type.children();
  if (parts == nullptr) return field;
  if (field.type.kind() == model::TypeKind::kStruct) {
    field.type = model::Type::structure(without_defaults(*parts));
  } else if (field.type.kind() == model::TypeKind::kList) {
    const Field element = plain(parts->at(0));
    field.type = model::Type::list(element.id, element.type, element.required);
  } else {
    const Field key = plain(parts->at(0));
    const Field value = plain(parts->at(1));
    field.type = model::Type::map(key.id, key.type, value.id, value.type, value.required);
  }
  return field;
}

Field optional_where(Field field, const auto& holds_null) {
  if (holds_null(field.id)) field.required = false;
  if (field.type.is_primitive()) return field;
  std::vector<Field> parts = field.type.children();
  for (Field& part : parts) part = optional_where(std::move(part), holds_null);
  switch (field.type.kind()) {
    case model::TypeKind::kStruct: field.type = model::Type::structure(std::move(parts)); break;
    case model::TypeKind::kList:
      field.type = model::Type::list(parts[0].id, parts[0].type, parts[0].required);
      break;
    default:
      field.type = model::Type::map(parts[0].id, parts[0].type, parts[1].id, parts[1].type,
                                    parts[1].required);
  }
  return field;
}

}  // namespace

base::Status assign_schemas(const LakeColumns& columns, AssignedIds& ids) {
  std::set<SnapshotId> at = boundaries(columns);
  if (!ids.none()) at.erase(at.begin(), at.upper_bound(ids.schema_at.rbegin()->first));
  Assignment assignment(columns, ids);
  if (!ids.none()) RETURN_IF_ERROR(assignment.check_newest());
  for (SnapshotId boundary : at) RETURN_IF_ERROR(assignment.step(boundary));
  if (ids.none()) return fail(ErrorKind::kCorrupt, "the table has no columns");
  return {};
}

void allow_nulls(const ColumnsWithNull& found, AssignedIds& ids) {
  for (const auto& [column, from] : found) {
    auto after = ids.schema_at.upper_bound(from);
    if (after != ids.schema_at.begin()) ids.schema_at.emplace(from, std::prev(after)->second);
  }
  for (auto& [at, id] : ids.schema_at) {
    Schema schema = ids.schemas.at(id);
    auto holds_null = [&, at = at](FieldId field) {
      auto held = found.find(field);
      return held != found.end() && at >= held->second;
    };
    for (Field& field : schema.fields) field = optional_where(std::move(field), holds_null);
    std::erase_if(schema.identifier_field_ids, holds_null);
    if (schema == ids.schemas.at(id)) continue;
    auto same = std::ranges::find_if(
        ids.schemas, [&](const auto& known) { return known.second.same_columns(schema); });
    if (same == ids.schemas.end()) {
      schema.schema_id = highest_id(ids.schemas) + 1;
      same = ids.schemas.emplace(schema.schema_id, std::move(schema)).first;
    }
    id = same->first;
  }
}

std::set<FieldId> not_null_in_lake(const LakeColumns& columns, SnapshotId at, const Schema& shown) {
  std::set<FieldId> found;
  for (const LakeColumn& column : columns.columns) {
    if (column.nulls_allowed || column.parent || !column.shown_at(at)) continue;
    const Field* field = shown.find(column.id);
    if (field != nullptr && !field->required) found.insert(column.id);
  }
  return found;
}

std::vector<Field> without_defaults(std::vector<Field> fields) {
  for (Field& field : fields) field = plain(std::move(field));
  return fields;
}

}  // namespace lake::ducklake
