#pragma once

// A table's columns at one version.
// Source: Iceberg table specification, "Schemas and Data Types".

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lakeproxy/iceberg/schema/type.h"

namespace lake::model {

struct Schema {
  std::int32_t schema_id = 0;
  std::vector<Field> fields;
  std::vector<FieldId> identifier_field_ids;

  friend bool operator==(const Schema&, const Schema&) = default;
  /// Same columns and identifiers; the id does not count.
  [[nodiscard]] bool same_columns(const Schema& other) const;
  /// The field with that id at any depth; null when there is none.
  [[nodiscard]] const Field* find(FieldId id) const;
  /// The top-level or nested field by dotted name ("a.b"); null when none.
  [[nodiscard]] const Field* find(std::string_view dotted_name) const;
  /// Highest field id at any depth; 0 for no fields.
  [[nodiscard]] FieldId max_field_id() const;
};

/// Calls `visit` for each field at any depth, parents before children.
void visit_fields(const std::vector<Field>& fields, const std::function<void(const Field&)>& visit);

/// Gives new ids from `next` on: all fields of a struct first, then those
/// nested in them, as Iceberg's own clients number a new table. Identifier
/// fields follow.
/// Source: Iceberg REST description, "CreateTableRequest": ids are reassigned.
[[nodiscard]] Schema with_fresh_ids(const Schema& schema, FieldId first = 1);

/// Checks names (unique per level, not empty), ids (unique, not negative) and
/// identifier fields (exist, required, primitive, not float or double).
/// Errors: kInvalid  names the field and the rule.
[[nodiscard]] base::Status validate(const Schema& schema);

}  // namespace lake::model
