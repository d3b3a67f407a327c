#include "lakeproxy/iceberg/schema/schema.h"

#include <algorithm>

namespace lake::model {
namespace {

const Field* find_id(const std::vector<Field>& fields, FieldId id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
    if (const Field* found = find_id(field.type.children(), id)) return found;
  }
  return nullptr;
}

/// A name may hold dots of its own, so each field is tried against the whole
/// rest first and against its beginning second.
const Field* find_name(const std::vector<Field>& fields, std::string_view rest) {
  for (const Field& field : fields) {
    if (field.name == rest) return &field;
  }
  for (const Field& field : fields) {
    if (rest.size() <= field.name.size() + 1 || rest[field.name.size()] != '.') continue;
    if (!rest.starts_with(field.name)) continue;
    const auto inner = rest.substr(field.name.size() + 1);
    if (const Field* found = find_name(field.type.children(), inner)) return found;
  }
  return nullptr;
}

std::vector<FieldId> sorted(std::vector<FieldId> ids) {
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

bool Schema::same_columns(const Schema& other) const {
  return fields == other.fields &&
         sorted(identifier_field_ids) == sorted(other.identifier_field_ids);
}

const Field* Schema::find(FieldId id) const { return find_id(fields, id); }

const Field* Schema::find(std::string_view dotted_name) const {
  return find_name(fields, dotted_name);
}

FieldId Schema::max_field_id() const {
  FieldId highest = 0;
  visit_fields(fields, [&](const Field& field) { highest = std::max(highest, field.id); });
  return highest;
}

void visit_fields(const std::vector<Field>& fields,
                  const std::function<void(const Field&)>& visit) {
  for (const Field& field : fields) {
    visit(field);
    visit_fields(field.type.children(), visit);
  }
}

}  // namespace lake::model
