#include <fmt/format.h>

#include <unordered_map>

#include "lakeproxy/iceberg/update/metadata_change.h"

namespace lake::model {
namespace {

using base::ErrorKind;
using base::fail;

/// Parent of the fields at the top, which is no field.
constexpr FieldId kRoot = 0;

struct Place {
  const Field* field = nullptr;
  FieldId parent = kRoot;
};
using Places = std::unordered_map<FieldId, Place>;

void collect(const std::vector<Field>& fields, FieldId parent, Places& places) {
  for (const Field& field : fields) {
    places.try_emplace(field.id, Place{&field, parent});
    collect(field.type.children(), field.id, places);
  }
}

base::Error broken(const Field& field, std::string_view rule) {
  return fail(ErrorKind::kInvalid,
              fmt::format("column {} (id {}): {}", field.name, field.id, rule));
}

struct AsWide {
  Literal operator()(std::int32_t value) const { return std::int64_t{value}; }
  Literal operator()(float value) const { return double{value}; }
  template <class T>
  Literal operator()(const T& value) const {
    return value;
  }
};

/// A promoted type holds the same value in a wider alternative.
bool same_default(const std::optional<Literal>& a, const std::optional<Literal>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::visit(AsWide{}, *a) == std::visit(AsWide{}, *b);
}

class Evolution {
 public:
  Evolution(const TableMetadata& table, const Schema* current) : table_(table) {
    if (current != nullptr) collect(current->fields, kRoot, current_);
    for (const Schema& schema : table.schemas) collect(schema.fields, kRoot, ever_);
  }

  [[nodiscard]] base::Status check(const Place& next) const {
    const auto now = current_.find(next.field->id);
    return now == current_.end() ? check_new(next) : check_kept(now->second, next);
  }

 private:
  [[nodiscard]] static base::Status check_kept(const Place& now, const Place& next) {
    const Field& field = *next.field;
    if (now.parent != next.parent) return broken(field, "must not move to another struct");
    if (!can_promote(now.field->type, field.type)) {
      return broken(field, fmt::format("cannot change from {} to {}", now.field->type.to_string(),
                                       field.type.to_string()));
    }
    if (field.required && !now.field->required) {
      return broken(field, "cannot become required, old rows may hold null");
    }
    if (!same_default(now.field->initial_default, field.initial_default)) {
      return broken(field, "initial-default must not change");
    }
    return {};
  }

  [[nodiscard]] base::Status check_new(const Place& next) const {
    const Field& field = *next.field;
    if (field.id <= table_.last_column_id) {
      const auto before = ever_.find(field.id);
      if (before == ever_.end() || !can_promote(before->second.field->type, field.type)) {
        return broken(field, fmt::format("id was given away before, new columns start at {}",
                                         std::int64_t{table_.last_column_id} + 1));
      }
    }
    const auto parent = current_.find(next.parent);
    const bool in_new_parent = next.parent != kRoot && parent == current_.end();
    if (in_new_parent) return {};
    if (next.parent != kRoot && parent->second.field->type.kind() != TypeKind::kStruct) {
      return broken(field, "an element, key or value keeps its id");
    }
    if (field.required && !field.initial_default) {
      return broken(field, "a new required column needs an initial-default");
    }
    return {};
  }

  const TableMetadata& table_;
  Places current_;
  Places ever_;  ///< Each id as the oldest schema has it.
};

base::Status check_field_format(const Field& field, std::int32_t version) {
  const TypeKind kind = field.type.kind();
  if (version < 3 && is_version_3_type(kind)) {
    return broken(field, fmt::format("type {} needs format version 3", field.type.to_string()));
  }
  if (version < 3 && field.initial_default) {
    return broken(field, "a non-null initial-default needs format version 3");
  }
  if (kind == TypeKind::kUnknown && field.required) {
    return broken(field, "type unknown must be optional");
  }
  return {};
}

}  // namespace

bool can_promote(const Type& from, const Type& to) {
  if (!from.is_primitive()) return from.kind() == to.kind();
  if (from == to) return true;
  switch (from.kind()) {
    case TypeKind::kInt: return to.kind() == TypeKind::kLong;
    case TypeKind::kFloat: return to.kind() == TypeKind::kDouble;
    case TypeKind::kDecimal:
      return to.kind() == TypeKind::kDecimal && to.scale() == from.scale() &&
             to.precision() >= from.precision();
    default: return false;
  }
}

base::Status check_format(const Schema& schema, std::int32_t version) {
  base::Status status;
  visit_fields(schema.fields, [&](const Field& field) {
    if (status) status = check_field_format(field, version);
  });
  return status;
}

base::Status check_evolution(const TableMetadata& table, const Schema& next) {
  const Evolution evolution(table, table.find_schema(table.current_schema_id));
  Places places;
  collect(next.fields, kRoot, places);
  base::Status status;
  // Parents come before children, so the outermost broken field is named.
  visit_fields(next.fields, [&](const Field& field) {
    if (status) status = evolution.check(places.at(field.id));
  });
  return status;
}

}  // namespace lake::model
